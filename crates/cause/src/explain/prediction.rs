//! Predicted effect of each change under each cause, before the change is tried, and whether it came true.
//!
//! Each cause predicts the number of groups at which shares break (N* = P / d for an exhausted
//! pool, P w_min / (d w_mean) for BFQ's caps, a quarter of the error for a run four times as long).
//! For one trial it follows whether the error vanishes, falls, or stays. A cause also predicts that
//! changes unrelated to it leave the error where it is: that separates causes which the same change
//! would cure.

use assay_judge::laws::{BFQ_SLICE_S, Cap, TICK_S, group_caps};
use assay_judge::verdict::wording::{count, percent};
use assay_judge::verdict::{Interval, PromiseJudgement, ProofState, Verdict};
use assay_record::run_folder::TrialRecord;
use serde::{Deserialize, Serialize};

use super::Arm;
use super::rounds::Rounds;
use crate::cause_docs::cause_entry;
use crate::causes::Expect;

/// Prediction of one cause for one change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Name of the intervention.
    pub arm: String,
    /// Code of the cause.
    pub cause: String,
    /// Expected effect on the error.
    pub expect: Expect,
    /// The reason, with the figures of the trial.
    #[serde(rename = "law")]
    pub why: String,
}

/// Predictions of each tested cause for each arm, recorded before the arms run. `trial` is the trial to be explained,
/// `judged` its promise; the first arm is the unchanged trial.
#[must_use]
pub fn predict(trial: &TrialRecord, judged: &PromiseJudgement, arms: &[Arm]) -> Vec<Prediction> {
    let inputs = Inputs::new(trial, judged);
    let mut codes: Vec<&String> = Vec::new();
    for code in arms.iter().flat_map(|arm| &arm.tests) {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let of_arm = |arm: &Arm| {
        let one = |code: &&String| {
            let (expect, why) = predict_one(&inputs, code, arm)?;
            Some(Prediction { arm: arm.name.clone(), cause: (*code).clone(), expect, why })
        };
        codes.iter().filter_map(one).collect::<Vec<_>>()
    };
    arms.iter().skip(1).filter(|arm| arm.trial.is_ok()).flat_map(of_arm).collect()
}

/// Why a cause cannot explain this promise of a trial, whatever is tried; `None` where it can.
#[must_use]
pub fn excluded(code: &str, trial: &TrialRecord, judged: &PromiseJudgement) -> Option<String> {
    let mut proofs = judged.proofs.iter();
    let by_events = proofs.find(|proof| proof.code == code && proof.state == ProofState::Excluded);
    by_events
        .map(|proof| proof.evidence.clone())
        .or_else(|| Inputs::new(trial, judged).excludes(code))
}

/// Prediction of one cause for one change; `None` where it predicts nothing. Most are in the entry of the
/// cause; here are those that depend on the trial, and what holds for every cause.
fn predict_one(inputs: &Inputs, code: &str, arm: &Arm) -> Option<(Expect, String)> {
    let (name, times) = (arm.name.as_str(), arm.times);
    match (code, name) {
        ("C-REQUEST-POOL", "requests" | "iodepth") => inputs.pool_effect(name, times),
        ("C-TAG-CAP", "requests" | "iodepth") => inputs.cap_effect(name, times),
        // It is made so.
        ("C-TAG-CAP" | "C-REQUEST-POOL", "room") => {
            let why = "every group's part of the larger pool holds what it then keeps outstanding";
            Some((Expect::Vanishes, why.to_owned()))
        }
        ("C-SHORT-RUN" | "C-LATE-START", "longer") => {
            let why = format!("the error is q / (T share), and T is {times} times as long");
            // Between the square root (slices add up at random) and proportional (a single one is
            // cut off).
            Some((Expect::Times { low: 0.0, high: 1.2 / times.sqrt() }, why))
        }
        (_, "repeat") => Some((Expect::Vanishes, "a single event does not recur".to_owned())),
        _ => {
            let effects = cause_entry(code)?.effects.iter();
            let effect = effects.into_iter().find(|effect| effect.of.contains(&name))?;
            Some((effect.expect, effect.why.to_owned()))
        }
    }
}

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
struct Inputs {
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

impl Inputs {
    fn new(trial: &TrialRecord, judged: &PromiseJudgement) -> Self {
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

    /// Why this cause is excluded, whatever is tried; `None` where it is possible.
    fn excludes(&self, code: &str) -> Option<String> {
        let entry = cause_entry(code)?;
        if entry.is_of_cpu() && self.measure != "cpu.time" {
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
        if entry.needs_bfq() && self.scheduler.as_deref() != Some("bfq") {
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
    fn pool_effect(&self, name: &str, times: f64) -> Option<(Expect, String)> {
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
    fn cap_effect(&self, name: &str, times: f64) -> Option<(Expect, String)> {
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
            // Near the limit (docs/findings/bfq-cap) or the margin, or all held back alike.
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

/// One prediction after the change was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoredPrediction {
    /// The code of the cause.
    pub cause: String,
    /// The reason for the prediction.
    #[serde(rename = "law")]
    pub why: String,
    /// The prediction in words.
    pub says: String,
    /// Smallest error allowed by the prediction.
    pub low: f64,
    /// Largest error allowed by the prediction.
    pub high: f64,
    /// Measured error under the change: over all rounds where it should vanish, round by round
    /// where it should stay above the margin or become a multiple of the unchanged error.
    pub measured: Option<Interval>,
    /// Whether the prediction was right, by the rounds within the margin too where it is about the margin; `None` where the measured interval does not decide.
    pub right: Option<bool>,
}

impl ScoredPrediction {
    /// Compares a prediction with the measured error. `base` is the error without the change.
    pub(super) fn new(
        prediction: &Prediction,
        base: f64,
        within: f64,
        error: Option<Interval>,
        rounds: Option<Rounds>,
    ) -> Self {
        let (low, high) = prediction.expect.range(base, within);
        let part = |rounds: Rounds| Interval {
            value: rounds.left * base,
            low: rounds.low * base,
            high: rounds.high * base,
        };
        let measured = match prediction.expect {
            Expect::Vanishes => error,
            Expect::Remains | Expect::Times { .. } => rounds.map(part).or(error),
        };
        let right = measured.and_then(|measured| {
            // Opposite errors of rounds cancel in the error over all of them.
            let inside = match (prediction.expect, rounds) {
                (Expect::Remains, Some(rounds)) => 2 * rounds.within < rounds.rounds,
                (Expect::Vanishes, Some(rounds)) => measured.value <= high && rounds.are_within(),
                _ => (low..=high).contains(&measured.value),
            };
            let apart = match (prediction.expect, rounds) {
                (Expect::Remains, Some(rounds)) => rounds.are_within(),
                _ => measured.low > high || measured.high < low,
            };
            // A significant change in a direction that the prediction excludes, by its estimate.
            let surely = rounds.is_some_and(|rounds| match prediction.expect {
                Expect::Vanishes | Expect::Remains => false,
                Expect::Times { low, high } => {
                    (rounds.less() && rounds.left < low) || (rounds.more() && rounds.left > high)
                }
            });
            // An estimate outside decides only if the interval excludes the predicted range.
            match (inside, apart || surely) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            }
        });
        Self {
            cause: prediction.cause.clone(),
            why: prediction.why.clone(),
            says: prediction.expect.describe(within),
            low,
            high,
            measured,
            right,
        }
    }

    /// One line of text.
    pub(super) fn line(&self) -> String {
        let measured =
            self.measured.map_or_else(|| "?".to_owned(), |measured| percent(measured.value));
        let right = match self.right {
            Some(true) => "right",
            Some(false) => "wrong",
            None => "open",
        };
        format!(
            "predicted {} ({}): {} to {}, measured {measured}: {right}",
            self.says,
            self.why,
            percent(self.low),
            percent(self.high)
        )
    }
}
