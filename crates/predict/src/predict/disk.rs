//! Predicts shares of a disk.

use assay_run_folder::{PromiseRecord, RelationRecord};
use assay_verdict::{GroupPrediction, PromisePrediction, Verdict};

use super::not_available;
use crate::from_plan::PlannedTrial;
use crate::scenario::{Device, Scenario, Scheduler};
use crate::shares::max_min;
use crate::sim::{Effort, Simulated, simulate};

/// The judge's validity checks in short: a promise about a disk is void below these limits (docs/judging.md).
const LEAST_IDLE: f64 = 0.05;
const LEAST_QUEUE: f64 = 0.5;

/// Standard errors by which chance may shift a share in one run.
const CHANCE: f64 = 2.0;

/// The simulated result of a trial.
pub(super) struct Answer(Simulated);

impl Answer {
    pub(super) fn new(planned: &PlannedTrial, seed: u64) -> Self {
        match planned.obeyed_by.as_deref() {
            Some("iocost") => Self(by_model(planned)),
            _ => Self(simulate(&planned.scenario, Effort::for_scenario(&planned.scenario), seed)),
        }
    }

    pub(super) fn promise(
        &self,
        planned: &PlannedTrial,
        promise: &PromiseRecord,
    ) -> PromisePrediction {
        let scenario = &planned.scenario;
        if let (RelationRecord::Proportional(knob), None) = (&promise.is, &planned.obeyed_by) {
            return not_available(promise, format!("no group has `{knob}` on this host"));
        }
        let expected = match &promise.is {
            RelationRecord::Proportional(_) => scenario.expected(),
            RelationRecord::Equal => {
                vec![1.0 / scenario.members.len() as f64; scenario.members.len()]
            }
            _ => {
                return not_available(promise, "of a disk only shares are in the model".to_owned());
            }
        };
        let of_bytes = promise.measure == "io.bytes";
        let shares = if of_bytes { &self.0.shares } else { &self.0.shares_of_requests };
        let groups = self.groups(planned, &expected, shares);
        let errors = shares.iter().zip(&expected).map(|(share, owed)| (share / owed - 1.0).abs());
        let (verdict, reason) = self.verdict(planned, promise, &groups);
        PromisePrediction {
            measure: promise.measure.clone(),
            within: promise.within,
            not_available: None,
            verdict: Some(verdict),
            reason,
            worst_error: errors.max_by(f64::total_cmp),
            total_rate: Some(if of_bytes { self.0.bytes_s } else { self.0.iops }),
            idle: Some(self.0.idle),
            queue: Some(self.0.queue),
            groups,
        }
    }

    fn groups(
        &self,
        planned: &PlannedTrial,
        expected: &[f64],
        shares: &[f64],
    ) -> Vec<GroupPrediction> {
        let each = planned.names.iter().zip(expected).zip(shares).zip(&self.0.scatter);
        each.map(|(((name, owed), share), scatter)| {
            let range = (CHANCE * scatter).exp();
            GroupPrediction {
                name: name.clone(),
                expected_share: *owed,
                share: *share,
                low: share / range,
                high: (share * range).is_finite().then_some(share * range),
            }
        })
        .collect()
    }

    fn verdict(
        &self,
        planned: &PlannedTrial,
        promise: &PromiseRecord,
        groups: &[GroupPrediction],
    ) -> (Verdict, String) {
        if let Some(why) = self.void(planned) {
            return (Verdict::Void, why);
        }
        let worst = groups.iter().max_by(|a, b| error(a).abs().total_cmp(&error(b).abs()));
        let Some(worst) = worst else { return (Verdict::Void, "no group is measured".to_owned()) };
        let text = format!(
            "`{}` gets {:.2} % where it is owed {:.2} %",
            worst.name,
            worst.share * 100.0,
            worst.expected_share * 100.0
        );
        let (above, below) = (1.0 + promise.within, 1.0 - promise.within);
        let is_outside = |group: &GroupPrediction| {
            group.low > group.expected_share * above
                || group.high.is_some_and(|high| high < group.expected_share * below)
        };
        let is_inside = |group: &GroupPrediction| {
            group.low >= group.expected_share * below
                && group.high.is_some_and(|high| high <= group.expected_share * above)
        };
        if groups.iter().any(is_outside) {
            (Verdict::Broken, text)
        } else if groups.iter().all(is_inside) {
            (Verdict::Kept, text)
        } else {
            (Verdict::Undecided, format!("{text}, and chance decides on which side of the margin"))
        }
    }

    /// The reason why the run would be void, if so.
    fn void(&self, planned: &PlannedTrial) -> Option<String> {
        let scenario = &planned.scenario;
        if planned.obeyed_by.as_deref() == Some("bfq") && scenario.scheduler == Scheduler::Fifo {
            return Some("C-SCHEDULER: the scheduler does not obey the weights".to_owned());
        }
        if self.0.idle < LEAST_IDLE {
            return Some(format!(
                "C-CPU: the CPUs are idle {:.1} % of the time, and the disk is not the limit",
                self.0.idle * 100.0
            ));
        }
        let waiting = backlog(scenario);
        (planned.obeyed_by.as_deref() != Some("iocost") && self.0.queue < LEAST_QUEUE * waiting)
            .then(|| {
                format!(
                    "C-NOT-BACKLOGGED: a mean queue of {:.1} requests where {waiting:.0} could wait",
                    self.0.queue
                )
            })
    }
}

fn error(group: &GroupPrediction) -> f64 {
    group.share / group.expected_share - 1.0
}

/// Requests that could be queued at once; sequential workloads count as one each.
fn backlog(scenario: &Scenario) -> f64 {
    let waiting = scenario.members.iter().map(|member| match member.sequential {
        true => 1.0,
        false => f64::from(member.depth),
    });
    waiting.sum::<f64>().min(f64::from(scenario.pool))
}

/// The formula of iocost: each group gets its part of the configured speed by weight, and others get what one
/// cannot use (donation, block/blk-iocost.c since 5.10, f1de2439ec43).
fn by_model(planned: &PlannedTrial) -> Simulated {
    let scenario = &planned.scenario;
    let (servers, service) = match scenario.device {
        Device::Servers { servers, service_s, .. } => (f64::from(servers), service_s),
        Device::Loop { .. } => {
            (scenario.cpus, scenario.members.first().map_or(1e-5, |m| m.serve_s))
        }
    };
    let whole = planned.configured_iops.unwrap_or(servers / service.max(1e-9));
    let siblings: Vec<(f64, f64)> = scenario
        .members
        .iter()
        .map(|own| (own.weight, f64::from(own.depth) / (service + own.submit_s).max(1e-9)))
        .collect();
    let rates = max_min(whole, &siblings);
    let iops: f64 = rates.iter().sum();
    let bytes = rates.iter().zip(&scenario.members).map(|(rate, own)| rate * own.bytes as f64);
    let bytes: Vec<f64> = bytes.collect();
    let bytes_s: f64 = bytes.iter().sum();
    let cpu: f64 = rates.iter().zip(&scenario.members).map(|(rate, own)| rate * own.submit_s).sum();
    Simulated {
        shares: bytes.iter().map(|bytes| bytes / bytes_s).collect(),
        shares_of_requests: rates.iter().map(|rate| rate / iops).collect(),
        scatter: vec![0.0; rates.len()],
        iops,
        bytes_s,
        idle: (1.0 - cpu / scenario.cpus).max(0.0),
        queue: scenario.members.iter().map(|own| f64::from(own.depth)).sum(),
        in_device: iops * service,
        simulated_s: scenario.seconds,
        served: 0,
    }
}
