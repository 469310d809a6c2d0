//! Predicts shares of a disk.

use assay_run_folder::PromiseRecord;
use assay_stats::water_fill::water_fill;
use assay_verdict::{GroupPrediction, PromisePrediction, Verdict};

use super::not_available;
use crate::bfq::{self, normalized};
use crate::from_plan::PlannedTrial;
use crate::scenario::{Device, Member, Scenario, Scheduler};

/// The judge's validity check in short: a promise about a disk is void below this (docs/judging.md).
const LEAST_IDLE: f64 = 0.05;

/// What the formulas give for a trial.
pub(super) struct Answer<'t> {
    planned: &'t PlannedTrial,
    /// Shares of bytes; `None` where no formula applies.
    shares: Option<Vec<f64>>,
    speed: Speed,
}

/// What the disk serves, as far as it is calibrated or configured.
#[derive(Default)]
struct Speed {
    iops: Option<f64>,
    /// The idle part of the CPUs.
    idle: Option<f64>,
}

impl<'t> Answer<'t> {
    pub(super) fn new(planned: &'t PlannedTrial) -> Self {
        let scenario = &planned.scenario;
        let shares = match (planned.obeyed_by.as_deref(), scenario.scheduler) {
            (Some("iocost"), _) => Some(by_iocost(scenario)),
            (_, Scheduler::Bfq { .. }) => bfq::shares(scenario),
            (_, Scheduler::Fifo) => Some(by_requests(scenario)),
        };
        let speed = shares.as_ref().map_or_else(Speed::default, |of| Speed::new(scenario, of));
        Self { planned, shares, speed }
    }

    pub(super) fn promise(&self, promise: &PromiseRecord) -> PromisePrediction {
        let expected = match self.expected(promise) {
            Ok(expected) => expected,
            Err(why) => return not_available(promise, why),
        };
        let shares = self.shares_of(&promise.measure);
        let groups: Vec<GroupPrediction> = shares.as_ref().map_or_else(Vec::new, |shares| {
            let each = self.planned.names.iter().zip(&expected).zip(shares);
            each.map(|((name, owed), share)| group(name, *owed, *share)).collect()
        });
        let (verdict, reason) = self.verdict(promise, &groups);
        let members = &self.planned.scenario.members;
        let of_request = match promise.measure.as_str() {
            "io.bytes" => shares.map(|shares| mean_bytes(members, &shares)),
            _ => Some(1.0),
        };
        PromisePrediction {
            measure: promise.measure.clone(),
            within: promise.within,
            not_available: None,
            verdict: Some(verdict),
            reason,
            worst_error: groups.iter().map(|group| error(group).abs()).max_by(f64::total_cmp),
            total_rate: self.speed.iops.zip(of_request).map(|(iops, size)| iops * size),
            idle: self.speed.idle,
            queue: None,
            groups,
        }
    }

    /// Whether some group misses its share by more than the margin, whatever else makes the promise void.
    pub(super) fn breaks(&self, promise: &PromiseRecord) -> bool {
        let Ok(expected) = self.expected(promise) else { return false };
        self.shares_of(&promise.measure).is_none_or(|shares| {
            shares
                .iter()
                .zip(&expected)
                .any(|(share, owed)| (share / owed - 1.0).abs() > promise.within)
        })
    }

    fn expected(&self, promise: &PromiseRecord) -> Result<Vec<f64>, String> {
        let scenario = &self.planned.scenario;
        match promise.is.divided_by() {
            Some(knob) if self.planned.obeyed_by.is_none() => {
                Err(format!("no group has `{knob}` on this host"))
            }
            Some(_) => Ok(scenario.expected()),
            None if promise.is.kind().divides() => {
                Ok(vec![1.0 / scenario.members.len() as f64; scenario.members.len()])
            }
            None => Err("of a disk only shares are in the model".to_owned()),
        }
    }

    fn shares_of(&self, measure: &str) -> Option<Vec<f64>> {
        let shares = self.shares.as_ref()?;
        match measure {
            "io.bytes" => Some(shares.clone()),
            _ => Some(of_requests(&self.planned.scenario.members, shares)),
        }
    }

    fn verdict(&self, promise: &PromiseRecord, groups: &[GroupPrediction]) -> (Verdict, String) {
        if let Some(why) = self.void() {
            return (Verdict::Void, why);
        }
        let worst = groups.iter().max_by(|a, b| error(a).abs().total_cmp(&error(b).abs()));
        let Some(worst) = worst else {
            let why = "groups want more requests than BFQ's caps of the pool allow: they miss their shares, and no \
                       formula says by how much";
            return (Verdict::Broken, why.to_owned());
        };
        let share = format!(
            "`{}` gets {:.2} % where it is owed {:.2} %",
            worst.name,
            worst.share * 100.0,
            worst.expected_share * 100.0
        );
        match error(worst).abs() <= promise.within {
            true => (Verdict::Kept, share),
            false => (Verdict::Broken, share),
        }
    }

    /// The reason why the run would be void, if so.
    fn void(&self) -> Option<String> {
        if self.planned.obeyed_by.as_deref() == Some("bfq")
            && self.planned.scenario.scheduler == Scheduler::Fifo
        {
            return Some("C-SCHEDULER: the scheduler does not obey the weights".to_owned());
        }
        let idle = self.speed.idle.filter(|idle| *idle < LEAST_IDLE)?;
        Some(format!(
            "C-CPU: the CPUs are idle {:.1} % of the time, and the disk is not the limit",
            idle * 100.0
        ))
    }
}

impl Speed {
    fn new(scenario: &Scenario, shares: &[f64]) -> Self {
        let of_requests = of_requests(&scenario.members, shares);
        let each = scenario.members.iter().zip(&of_requests);
        let costs: Option<Vec<(f64, f64)>> = each
            .map(|(member, part)| {
                let (request_s, cpu_s) = member.cost?.of(member.bytes);
                Some((request_s * part, cpu_s * part))
            })
            .collect();
        let configured = match scenario.device {
            Device::NullBlk { iops, .. } => iops.map(f64::from),
            Device::Loop | Device::Block => None,
        };
        let Some(costs) = costs else { return Self { iops: configured, idle: None } };
        let request_s: f64 = costs.iter().map(|(request_s, _)| request_s).sum();
        let cpu_s: f64 = costs.iter().map(|(_, cpu_s)| cpu_s).sum();
        let iops = configured.unwrap_or_else(|| 1.0 / request_s.max(1e-9));
        Self { iops: Some(iops), idle: Some((1.0 - iops * cpu_s / scenario.cpus).max(0.0)) }
    }
}

fn group(name: &str, expected_share: f64, share: f64) -> GroupPrediction {
    GroupPrediction { name: name.to_owned(), expected_share, share, low: share, high: Some(share) }
}

fn error(group: &GroupPrediction) -> f64 {
    group.share / group.expected_share - 1.0
}

/// Shares of requests, from those of bytes.
fn of_requests(members: &[Member], shares: &[f64]) -> Vec<f64> {
    let requests: Vec<f64> =
        members.iter().zip(shares).map(|(member, share)| share / member.bytes as f64).collect();
    normalized(&requests)
}

/// Bytes of a request, the mean over what is served.
fn mean_bytes(members: &[Member], shares: &[f64]) -> f64 {
    let requests = of_requests(members, shares);
    members.iter().zip(requests).map(|(member, part)| member.bytes as f64 * part).sum()
}

/// First come, first served: shares follow the requests outstanding.
fn by_requests(scenario: &Scenario) -> Vec<f64> {
    let bytes = |member: &Member| f64::from(member.depth) * member.bytes as f64;
    normalized(&scenario.members.iter().map(bytes).collect::<Vec<_>>())
}

/// The formula of iocost: each group gets its part of the configured speed by weight, and others get what one
/// cannot use (donation, block/blk-iocost.c since 5.10, f1de2439ec43).
fn by_iocost(scenario: &Scenario) -> Vec<f64> {
    let Device::NullBlk { depth, iops: Some(iops) } = scenario.device else {
        return scenario.expected();
    };
    let whole = f64::from(iops);
    // A request is served in depth / iops seconds.
    let most = |member: &Member| f64::from(member.depth) * whole / f64::from(depth.max(1));
    let siblings: Vec<(f64, f64)> =
        scenario.members.iter().map(|own| (own.weight, most(own))).collect();
    let rates = water_fill(whole, &siblings);
    let bytes = rates.iter().zip(&scenario.members).map(|(rate, own)| rate * own.bytes as f64);
    normalized(&bytes.collect::<Vec<_>>())
}
