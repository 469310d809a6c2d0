//! Predicts shares of CPU time: weights among threads that each fit on one CPU, and quotas.

use assay_facts::{Available, HostFacts};
use assay_knob::{WEIGHT_MODE, WeightMode};
use assay_plan::{GroupPlan, Trial};
use assay_run_folder::{PromiseRecord, Reference};
use assay_stats::water_fill::water_fill;
use assay_terms::Side;
use assay_verdict::{GroupPrediction, PromisePrediction, Verdict};

use super::not_available;

/// The default weight of a group.
const USUAL_WEIGHT: f64 = 100.0;

/// A limit that no group comes closer to than this is not tested (docs/judging.md).
const NEAR: f64 = 0.9;

/// Demand and limits of one group.
struct Demand {
    name: String,
    weight: f64,
    /// How many times its weight counts.
    times: f64,
    threads: f64,
    quota: f64,
}

pub(super) fn promise(
    trial: &Trial,
    facts: &HostFacts,
    promise: &PromiseRecord,
) -> PromisePrediction {
    let prediction = demands(trial, facts).and_then(|demands| {
        let cpus = facts.cpus.allowed.len().max(1) as f64;
        let kind = promise.is.kind();
        let is_quota = kind.side() == Side::Above && promise.is.to() == Reference::Knob("cpu.max");
        match () {
            () if kind.divides() => Ok(shares(&demands, cpus, promise)),
            () if is_quota => Ok(quotas(&demands, cpus, promise)),
            () => Err("of CPU time only shares and quotas are in the model".to_owned()),
        }
    });
    prediction.unwrap_or_else(|why| not_available(promise, why))
}

/// The law by which the kernel will divide: the trial sets it, or the host has it.
fn mode(trial: &Trial, facts: &HostFacts) -> WeightMode {
    let set = trial.settings.iter().find(|plan| plan.record.setting == WEIGHT_MODE);
    let set = set.map(|plan| Available::Value(plan.record.written.clone()));
    WeightMode::of_host(Some(set.as_ref().unwrap_or(&facts.weight_mode)), &facts.kernel).0
}

fn demands(trial: &Trial, facts: &HostFacts) -> Result<Vec<Demand>, String> {
    let groups = trial.groups.iter().filter(|group| !group.workloads.is_empty());
    if !trial.placements.is_empty() {
        return Err("workloads with a placement are not in the model".to_owned());
    }
    let (mode, cpus) = (mode(trial, facts), facts.cpus.online.len() as f64);
    groups.map(|group| demand(group, mode, cpus)).collect()
}

fn demand(group: &GroupPlan, mode: WeightMode, cpus: f64) -> Result<Demand, String> {
    if group.name.contains('/') || !group.measured {
        return Err("groups inside groups, and background loads, are not in the model".to_owned());
    }
    let knob_value = |name: &str| {
        let knob = group.knobs.iter().find(|knob| knob.record.knob == name);
        knob.map(|knob| knob.record.asked.clone())
    };
    if knob_value("cpuset.cpus").is_some() {
        return Err("groups that are bound to CPUs are not in the model".to_owned());
    }
    let threads: Option<u32> = group.workloads.iter().map(|workload| workload.threads).sum();
    let threads =
        threads.ok_or_else(|| format!("the number of threads of `{}` is unknown", group.name))?;
    let weight = match knob_value("cpu.weight") {
        None => USUAL_WEIGHT,
        Some(text) => {
            text.trim().parse().map_err(|_| format!("the weight `{text}` is not a number"))?
        }
    };
    let quota = match knob_value("cpu.max") {
        None => f64::INFINITY,
        Some(text) => quota(&text).ok_or_else(|| format!("invalid quota `{text}`"))?,
    };
    let threads = f64::from(threads);
    let times = mode.factor(threads, cpus);
    Ok(Demand { name: group.name.clone(), weight, times, threads, quota })
}

/// CPUs that a quota allows: `max`, `QUOTA`, `QUOTA PERIOD`, or a percentage of one CPU.
fn quota(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(percent) = text.strip_suffix('%') {
        return percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0);
    }
    let mut words = text.split_whitespace();
    let quota = words.next()?;
    if quota == "max" {
        return Some(f64::INFINITY);
    }
    let period = words.next().map_or(Ok(100_000.0), str::parse::<f64>).ok()?;
    Some(quota.parse::<f64>().ok()? / period)
}

/// CPU rate of each group.
fn rates(demands: &[Demand], cpus: f64) -> Vec<f64> {
    let siblings: Vec<(f64, f64)> = demands
        .iter()
        .map(|demand| (demand.weight * demand.times, demand.threads.min(cpus).min(demand.quota)))
        .collect();
    water_fill(cpus, &siblings)
}

fn shares(demands: &[Demand], cpus: f64, promise: &PromiseRecord) -> PromisePrediction {
    let rates = rates(demands, cpus);
    let all: f64 = rates.iter().sum();
    let weight = |demand: &Demand| promise.is.divided_by().map_or(1.0, |_| demand.weight);
    // Only what threads can use is promised (docs/judging.md), so only quotas reduce a share.
    let can: Vec<(f64, f64)> =
        demands.iter().map(|demand| (weight(demand), demand.threads.min(cpus))).collect();
    let owed = water_fill(cpus, &can);
    let whole: f64 = owed.iter().sum();
    let threads: f64 = demands.iter().map(|demand| demand.threads).sum();
    let groups: Vec<GroupPrediction> = demands
        .iter()
        .zip(rates.iter().zip(&owed))
        .map(|(demand, (rate, owed))| exact(&demand.name, owed / whole, rate / all))
        .collect();
    let worst = worst(&groups);
    let (verdict, reason) = if threads <= cpus {
        let why = format!("C-CPU-UNCONTENDED: {threads} threads on {cpus} CPUs do not compete");
        (Verdict::Void, why)
    } else if worst <= promise.within {
        let condition =
            if cpus > 1.0 { ", while the threads are spread evenly over the CPUs" } else { "" };
        (Verdict::Kept, format!("weights divide what threads can use{condition}"))
    } else {
        let by_threads = demands.iter().any(|demand| demand.times != demands[0].times);
        let why = if by_threads {
            "C-WEIGHT-MODE: the kernel counts each weight by the group's threads"
        } else {
            "a quota keeps some group from its share"
        };
        (Verdict::Broken, why.to_owned())
    };
    document(promise, groups, Some(worst), all, verdict, reason)
}

fn quotas(demands: &[Demand], cpus: f64, promise: &PromiseRecord) -> PromisePrediction {
    let rates = rates(demands, cpus);
    let all: f64 = rates.iter().sum();
    let never: Vec<&Demand> = demands
        .iter()
        .zip(&rates)
        .filter(|(demand, rate)| **rate < NEAR * demand.quota)
        .map(|(demand, _)| demand)
        .collect();
    let groups = demands
        .iter()
        .zip(&rates)
        .map(|(demand, rate)| exact(&demand.name, rate / all, rate / all))
        .collect();
    let (verdict, reason) = match never.first() {
        Some(demand) => (
            Verdict::Void,
            format!(
                "C-NEVER-BOUND: `{}` does not come near its quota of {} CPUs",
                demand.name, demand.quota
            ),
        ),
        None => (Verdict::Kept, "every group uses its quota and no more".to_owned()),
    };
    document(promise, groups, None, all, verdict, reason)
}

fn exact(name: &str, expected_share: f64, share: f64) -> GroupPrediction {
    GroupPrediction { name: name.to_owned(), expected_share, share, low: share, high: Some(share) }
}

fn worst(groups: &[GroupPrediction]) -> f64 {
    groups.iter().map(|one| (one.share / one.expected_share - 1.0).abs()).fold(0.0, f64::max)
}

fn document(
    promise: &PromiseRecord,
    groups: Vec<GroupPrediction>,
    worst_error: Option<f64>,
    total: f64,
    verdict: Verdict,
    reason: String,
) -> PromisePrediction {
    PromisePrediction {
        measure: promise.measure.clone(),
        within: promise.within,
        not_available: None,
        verdict: Some(verdict),
        reason,
        worst_error,
        total_rate: Some(total),
        idle: None,
        queue: None,
        groups,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_read_as_the_kernel_and_studies_write_them() {
        assert_eq!(quota("max 100000"), Some(f64::INFINITY));
        assert_eq!(quota("50000 100000"), Some(0.5));
        assert_eq!(quota("20000"), Some(0.2));
        assert_eq!(quota("150 %"), Some(1.5));
        assert_eq!(quota("much"), None);
    }
}
