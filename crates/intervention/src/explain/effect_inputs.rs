//! What of the trial that is explained its causes' laws need.

use assay_run_folder::TrialRecord;

use super::predicted_effect::Expect;
use assay_judge::{Cap, caps_of};
use assay_judge::{TICK_S, TURN_OF_BFQ_S};
use assay_verdict::wording::{count, percent};
use assay_verdict::{PromiseJudgement, Verdict};

/// One turn of the server as a part of what the lightest group is promised in all repeats.
fn turn(trial: &TrialRecord, judged: &PromiseJudgement) -> f64 {
    let turn_s = match judged.measure.as_str() {
        "cpu.time" => TICK_S,
        _ => TURN_OF_BFQ_S,
    };
    let least = judged.groups.iter().map(|group| group.expected_share).fold(1.0, f64::min);
    turn_s / (trial.at_most_s * trial.repeats.len().max(1) as f64 * least)
}

/// A trial as laws see it.
pub(super) struct EffectInputs {
    measure: String,
    scheduler: Option<String>,
    /// Requests in the scheduler's pool.
    pool: Option<f64>,
    /// Requests that all workloads keep outstanding.
    wanted: Option<f64>,
    groups: usize,
    caps: Vec<Cap>,
    /// Whether any measured workload asks at random.
    random: bool,
    /// One turn of the server as a part of what the lightest group is promised.
    turn: f64,
    within: f64,
    is_broken: bool,
}

impl EffectInputs {
    /// Of a trial and its promise as judged.
    pub(super) fn of(trial: &TrialRecord, judged: &PromiseJudgement) -> Self {
        let reading = trial.repeats.first().and_then(|repeat| repeat.queues.first());
        let pool: Option<f64> = reading
            .and_then(|reading| reading.at_start.get("nr_requests"))
            .and_then(|text| text.trim().parse().ok());
        let shares = judged.groups.iter().map(|group| (group.name.as_str(), group.expected_share));
        let workloads = || trial.groups.iter().flat_map(|group| &group.workloads);
        let wanted = workloads().map(|workload| workload.io.outstanding.map(f64::from)).sum();
        Self {
            measure: judged.measure.clone(),
            scheduler: reading.map(|reading| reading.scheduler_at_start.clone()),
            pool,
            wanted,
            groups: judged.groups.len(),
            caps: pool.map(|pool| caps_of(trial, shares, pool)).unwrap_or_default(),
            random: workloads().any(|workload| !workload.io.sequential),
            turn: turn(trial, judged),
            within: judged.within,
            is_broken: judged.verdict == Verdict::Broken,
        }
    }

    fn under(&self, scheduler: &str) -> bool {
        self.scheduler.as_deref() == Some(scheduler)
    }

    /// Why this cause cannot be it, whatever is tried; `None` where it can.
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
            return Some("no broken promise rests on it".to_owned());
        }
        if code == "C-SHORT-RUN" && self.turn <= self.within {
            return Some(format!(
                "a turn is {} of what the lightest group is promised",
                percent(self.turn)
            ));
        }
        let of_bfq = matches!(
            code,
            "C-TAG-CAP" | "C-INJECTION" | "C-LOW-LATENCY" | "C-SLICE-IDLE" | "C-SEEKY"
        );
        if of_bfq && !self.under("bfq") {
            return Some("bfq does not schedule the disk".to_owned());
        }
        let of_cfq = matches!(
            code,
            "C-CFQ-REENTRY" | "C-CFQ-SLICE-FLOOR" | "C-CFQ-DELAY" | "C-CFQ-VFRACTION"
        );
        if of_cfq && !self.under("cfq") {
            return Some("cfq does not schedule the disk".to_owned());
        }
        let (pool, wanted) = (self.pool?, self.wanted?);
        match code {
            "C-REQUEST-POOL" if wanted < 0.9 * pool => {
                Some(format!("{wanted} requests are wanted of a pool of {pool}"))
            }
            "C-DEVICE-QUEUE" if wanted > 0.5 * pool => Some(format!(
                "{wanted} requests are wanted, more than the device takes at once by its pool of \
                 {pool}"
            )),
            "C-TAG-CAP" if !self.caps.iter().any(Cap::binds) && self.groups <= 32 => {
                Some(format!("no group wants more than its part of {pool} requests"))
            }
            "C-SEEKY" if !self.random => Some("no workload asks at random".to_owned()),
            _ => None,
        }
    }

    /// N* = P / d: all groups together want no more than there is, or they do.
    pub(super) fn pool_law(&self, name: &str, times: f64) -> Option<(Expect, String)> {
        let (pool, wanted) = (self.pool?, self.wanted?);
        let (pool, wanted) =
            if name == "requests" { (pool * times, wanted) } else { (pool, wanted * times) };
        let depth = wanted / self.groups.max(1) as f64;
        let law = format!(
            "N* = P / d = {pool:.0} / {depth:.0} = {:.1}, and there are {}",
            pool / depth,
            count(self.groups, "group")
        );
        Some((if wanted <= pool { Expect::Vanishes } else { Expect::STAYS }, law))
    }

    /// N* = P w_min / (d w_mean): every group's part of the pool holds what it wants, or not.
    pub(super) fn cap_law(&self, name: &str, times: f64) -> Option<(Expect, String)> {
        let tightest =
            self.caps.iter().max_by(|a, b| (a.wanted / a.cap).total_cmp(&(b.wanted / b.cap)))?;
        let scaled = |cap: &Cap| match name {
            "requests" => (cap.wanted, cap.cap * times),
            _ => ((cap.wanted * times).floor().max(1.0), cap.cap),
        };
        let (wanted, cap) = scaled(tightest);
        let law = format!(
            "N* = P w_min / (d w_mean): the group with the least part wants {wanted:.0} and may have \
             {cap:.0}"
        );
        let binds = |cap: &Cap| {
            let (wanted, cap) = scaled(cap);
            wanted > cap
        };
        let expect = match self.caps.iter().any(binds) {
            false => Expect::Vanishes,
            true => Expect::Times { low: 0.0, high: super::predicted_effect::ABOUT },
        };
        Some((expect, law))
    }
}
