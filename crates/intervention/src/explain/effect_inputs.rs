//! Trial properties used to predict each cause's effect.

use assay_judge::Expect;
use assay_judge::{BFQ_SLICE_S, Cap, TICK_S, group_caps};
use assay_run_folder::TrialRecord;
use assay_verdict::wording::{count, percent};
use assay_verdict::{PromiseJudgement, Verdict};

/// A group that keeps so many times its part or more is held back for certain (before 6.17 one over its part still gets a place in
/// each word of the pool's bitmap), and an error so many times the margin does not end within it for another reason.
const SURELY: f64 = 2.0;

/// One service slice relative to what the lightest group is promised in all repeats.
fn slice(trial: &TrialRecord, judged: &PromiseJudgement) -> f64 {
    let slice_s = match judged.measure.as_str() {
        "cpu.time" => TICK_S,
        _ => BFQ_SLICE_S,
    };
    let least = judged.groups.iter().map(|group| group.expected_share).fold(1.0, f64::min);
    slice_s / (trial.at_most_s * trial.repeats.len().max(1) as f64 * least)
}

/// The trial properties.
pub(super) struct EffectInputs {
    measure: String,
    scheduler: Option<String>,
    /// Requests in the scheduler's pool.
    pool: Option<f64>,
    /// Requests that all workloads together keep outstanding.
    demand: Option<f64>,
    groups: usize,
    caps: Vec<Cap>,
    /// Whether any measured workload does random I/O.
    random: bool,
    /// One service slice relative to what the lightest group is promised.
    slice: f64,
    within: f64,
    /// The largest error of the unchanged trial.
    error: f64,
    is_broken: bool,
}

impl EffectInputs {
    pub(super) fn new(trial: &TrialRecord, judged: &PromiseJudgement) -> Self {
        let queue = trial.repeats.first().and_then(|repeat| repeat.queues.first());
        let pool: Option<f64> = queue
            .and_then(|queue| queue.at_start.get("nr_requests"))
            .and_then(|text| text.trim().parse().ok());
        let shares = judged.groups.iter().map(|group| (group.name.as_str(), group.expected_share));
        let workloads = || trial.groups.iter().flat_map(|group| &group.workloads);
        let demand = workloads().map(|workload| workload.io.outstanding.map(f64::from)).sum();
        Self {
            measure: judged.measure.clone(),
            scheduler: queue.map(|queue| queue.scheduler_at_start.clone()),
            pool,
            demand,
            groups: judged.groups.len(),
            caps: pool.map(|pool| group_caps(trial, shares, pool)).unwrap_or_default(),
            random: workloads().any(|workload| !workload.io.sequential),
            slice: slice(trial, judged),
            within: judged.within,
            error: judged.worst_error.map_or(0.0, |error| error.value),
            is_broken: judged.verdict == Verdict::Broken,
        }
    }

    fn uses_scheduler(&self, scheduler: &str) -> bool {
        self.scheduler.as_deref() == Some(scheduler)
    }

    /// Why this cause is excluded, whatever is tried; `None` where it is possible.
    pub(super) fn excludes(&self, code: &str) -> Option<String> {
        let of_cpu = matches!(code, "C-CPU-IMBALANCE" | "C-QUOTA-BURST" | "C-INFEASIBLE");
        if of_cpu && self.measure != "cpu.time" {
            return Some("the promise is not about CPU time".to_owned());
        }
        let of_disk = matches!(code, "C-CPU" | "C-SCHEDULER" | "C-SCHEDULER-CEILING");
        if of_disk && self.measure == "cpu.time" {
            return Some("the promise is about CPU time".to_owned());
        }
        if code == "C-SHORT-RUN" && self.is_broken {
            return Some("it breaks no promise".to_owned());
        }
        if code == "C-SHORT-RUN" && self.slice <= self.within {
            return Some(format!(
                "one service slice is {} of what the lightest group is promised",
                percent(self.slice)
            ));
        }
        let of_bfq = matches!(
            code,
            "C-TAG-CAP" | "C-INJECTION" | "C-LOW-LATENCY" | "C-SLICE-IDLE" | "C-SEEKY"
        );
        if of_bfq && !self.uses_scheduler("bfq") {
            return Some("bfq does not schedule the disk".to_owned());
        }
        let (pool, demand) = (self.pool?, self.demand?);
        match code {
            "C-REQUEST-POOL" if demand < 0.9 * pool => {
                Some(format!("{demand} requests outstanding for a pool of {pool}"))
            }
            "C-DEVICE-QUEUE" if demand > 0.5 * pool => Some(format!(
                "{demand} requests outstanding exceed the device's queue depth, by its pool of {pool}"
            )),
            "C-TAG-CAP" if !self.caps.iter().any(Cap::binds) && self.groups <= 32 => {
                Some(format!("no group keeps more outstanding than its part of {pool} requests"))
            }
            "C-SEEKY" if !self.random => Some("no workload does random I/O".to_owned()),
            _ => None,
        }
    }

    /// N* = P / d: whether all groups together stay within the pool.
    pub(super) fn pool_effect(&self, name: &str, times: f64) -> Option<(Expect, String)> {
        let (pool, demand) = (self.pool?, self.demand?);
        let (pool, demand) =
            if name == "requests" { (pool * times, demand) } else { (pool, demand * times) };
        let depth = demand / self.groups.max(1) as f64;
        let why = format!(
            "N* = P / d = {pool:.0} / {depth:.0} = {:.1}, for {}",
            pool / depth,
            count(self.groups, "group")
        );
        Some((if demand <= pool { Expect::Vanishes } else { Expect::STAYS }, why))
    }

    /// N* = P w_min / (d w_mean): whether every group's part of the pool holds its requests. Which groups lose follows from
    /// the caps, not how much; and a group that is held back loses only to one that is not.
    pub(super) fn cap_effect(&self, name: &str, times: f64) -> Option<(Expect, String)> {
        let scaled = |cap: &Cap| match name {
            "requests" => cap.of_pool(times),
            _ => cap.with_demand((cap.demand * times).floor().max(1.0)),
        };
        let all = || self.caps.iter().map(scaled);
        // One request passes at a depth of one, however small the part.
        let exceeded = |group: &Cap| group.demand / group.cap.max(1.0);
        let tightest = all().max_by(|a, b| exceeded(a).total_cmp(&exceeded(b)))?;
        let any_free = all().any(|group| exceeded(&group) <= 1.0);
        let expect = match exceeded(&tightest) {
            _ if all().all(|group| group.has_spare_place()) => Expect::Vanishes,
            times if times >= SURELY && any_free && self.error >= SURELY * self.within => {
                Expect::Remains
            }
            // Near the limit (docs/findings/bfq-cap.md) or the margin, or all held back alike.
            _ => return None,
        };
        let Cap { demand, cap, .. } = tightest;
        let why = format!(
            "N* = P w_min / (d w_mean): the group that is held back most keeps {demand:.0} \
             outstanding, its part is {cap:.0}"
        );
        Some((expect, why))
    }
}
