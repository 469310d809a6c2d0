//! Rules that prove or exclude causes by events in the kernel.
//!
//! A wrong proof is worse than a missed one. So a rule asks for three things in every repeat: the mechanism was
//! seen; its size, by a law with the figures of that repeat, explains the errors in direction and magnitude; and
//! no other mechanism that was measured explains them as well. What was seen and does not suffice contributes: the
//! suspicion stays one, with the figures.

use assay_judge::verdict::wording::some_of;
use assay_judge::verdict::{Proof, ProofState};
use assay_record::terms::Measure;

use super::measured::Measured;

/// A mechanism that explains this part of the errors is their cause.
pub(super) const EXPLAINS: f64 = 0.75;

/// A mechanism that could explain no more than this part of them is excluded.
pub(super) const NEGLIGIBLE: f64 = 0.1;

/// A cause must be proven in more than half of the repeats that broke a promise, which have this part of all that groups gained
/// there; in the others it must have contributed. A repeat that is hardly off is as hardly explained.
const MOST: f64 = 0.75;

/// A group with less than this part of all gains, or of all losses, is neither a winner nor a loser.
const MATTERS: f64 = 0.1;

/// The same as a part of an even part of them: of twenty groups that lose alike each has a twentieth.
const OF_EVEN: f64 = 0.5;

/// A cause that events in the kernel prove or exclude.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Its code.
    pub(crate) code: &'static str,
    /// What happens, as a cause says it.
    pub(crate) summary: &'static str,
    /// When it is proven.
    pub(crate) proof: &'static str,
    /// When it is excluded.
    pub(crate) excluded: &'static str,
    /// Whether it concerns promises on shares of this measure.
    pub(super) concerns: fn(Measure) -> bool,
    /// What one repeat says.
    pub(super) examine: fn(&Case<'_>) -> Option<Finding>,
}

/// What one repeat says of one cause; `None` where the kernel gives no figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) state: ProofState,
    /// The figures.
    pub(crate) evidence: String,
}

/// What a mechanism explains of the errors, as parts of them.
///
/// A proof must explain each loss, and little of one loss does not exclude what explains the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Explained {
    /// Of the loss or gain of which it explains least.
    pub(super) least: f64,
    /// Of all of them together.
    pub(super) of_all: f64,
}

impl From<f64> for Explained {
    fn from(part: f64) -> Self {
        Self { least: part, of_all: part }
    }
}

impl Finding {
    /// By what the mechanism explains, and whether all other conditions of the proof hold.
    pub(super) fn new(explained: impl Into<Explained>, holds: bool, evidence: String) -> Self {
        let Explained { least, of_all } = explained.into();
        let state = match () {
            () if least >= EXPLAINS && holds => ProofState::Proven,
            () if of_all <= NEGLIGIBLE => ProofState::Excluded,
            () => ProofState::Contributes,
        };
        Self { state, evidence }
    }

    pub(super) fn excluded(evidence: String) -> Self {
        Self { state: ProofState::Excluded, evidence }
    }
}

/// One repeat of a promise on shares.
#[derive(Debug, Clone)]
pub(crate) struct Case<'r> {
    /// Names of the measured groups.
    pub(crate) names: &'r [String],
    /// Promised shares.
    pub(crate) promised: &'r [f64],
    /// Shares by the weights alone, where groups have enough threads.
    pub(crate) weights: Vec<f64>,
    /// Shares in this repeat.
    pub(crate) seen: Vec<f64>,
    /// The margin.
    pub(crate) within: f64,
    /// Requests that each group keeps outstanding, as the disk counts them.
    pub(crate) depths: Option<Vec<f64>>,
    /// The part of its requests that each group kept outstanding by what its workloads report, as they count them.
    pub(crate) kept: Vec<Option<f64>>,
    /// Requests that BFQ lets each group hold.
    pub(crate) caps: Option<Vec<f64>>,
    /// Threads of each group.
    pub(crate) threads: Option<Vec<f64>>,
    /// The CPUs that the groups share.
    pub(crate) cpus: Vec<usize>,
    /// CPUs that each group kept busy of each of these on average, where events or the kernel have that.
    pub(crate) ran: Option<Vec<Vec<f64>>>,
    /// Part of the time of all of these that processes outside of the groups used, by the host's counters.
    pub(crate) others: Option<f64>,
    /// The same of each.
    pub(crate) others_on: Option<Vec<f64>>,
    /// Whether no thread of any group could leave its CPU.
    pub(crate) is_bound: bool,
    /// Whether a CPU quota bound, by the kernel's counters.
    pub(crate) has_throttled: bool,
    /// Places in the pool of one hardware queue.
    pub(crate) pool: Option<f64>,
    /// Whether the disk has a scheduler with a pool of its own.
    pub(crate) schedules: bool,
    /// Whether the cause is that the repeat could not be judged, and not that it was off.
    pub(crate) disturbed: bool,
    /// What the kernel's events say.
    pub(crate) measured: &'r Measured,
}

impl Case<'_> {
    /// What a group got too much, as a share; negative for what it lacks.
    pub(super) fn excess(&self, group: usize) -> f64 {
        self.seen[group] - self.promised[group]
    }

    /// All that was gained, which is all that was lost.
    pub(super) fn deviation(&self) -> f64 {
        (0..self.seen.len()).map(|group| self.excess(group).max(0.0)).sum()
    }

    /// The part of its promise that a group lacks.
    pub(super) fn lack(&self, group: usize) -> f64 {
        -self.excess(group) / self.promised[group]
    }

    /// Groups that gained.
    pub(super) fn winners(&self) -> Vec<usize> {
        self.moved(1.0)
    }

    /// Groups that lost.
    pub(super) fn losers(&self) -> Vec<usize> {
        self.moved(-1.0)
    }

    fn moved(&self, sign: f64) -> Vec<usize> {
        let part = MATTERS.min(OF_EVEN / self.seen.len() as f64);
        let least = (part * self.deviation()).max(f64::MIN_POSITIVE);
        (0..self.seen.len()).filter(|group| sign * self.excess(*group) >= least).collect()
    }

    /// What the mechanism must explain in a group: what it lacks, or the margin where the repeat could not be
    /// judged.
    pub(super) fn needed(&self, group: usize) -> f64 {
        if self.disturbed { self.within } else { self.lack(group) }
    }

    /// Groups in which the mechanism must be seen: those that lost, or any where the repeat could not be judged.
    pub(super) fn concerned(&self) -> Vec<usize> {
        if self.disturbed { (0..self.seen.len()).collect() } else { self.losers() }
    }

    /// What a mechanism explains, from what it takes of each concerned group; of the group with the most where the
    /// repeat could not be judged.
    pub(super) fn explained(&self, taken: impl Fn(usize) -> f64) -> Explained {
        let groups = self.concerned();
        let parts = groups.iter().map(|group| taken(*group) / self.needed(*group));
        if self.disturbed {
            // The whole margin, where of what is missing three quarters suffice.
            return (parts.fold(0.0, f64::max) * EXPLAINS).into();
        }
        let sum = |of: &dyn Fn(usize) -> f64| {
            groups.iter().map(|group| of(*group) * self.promised[*group]).sum::<f64>()
        };
        let lost = sum(&|group| self.lack(group)).max(f64::MIN_POSITIVE);
        let due = sum(&|group| taken(group).min(self.lack(group)));
        Explained { least: parts.reduce(f64::min).unwrap_or(0.0), of_all: due / lost }
    }

    /// Whether these groups divided what they got as promised.
    pub(super) fn keep_proportions(&self, groups: &[usize]) -> bool {
        let sum = |of: &[f64]| groups.iter().map(|group| of[*group]).sum::<f64>();
        let (seen, promised) = (sum(&self.seen), sum(self.promised));
        groups.iter().all(|group| {
            let times = self.seen[*group] / seen / (self.promised[*group] / promised);
            (times - 1.0).abs() <= self.within
        })
    }

    /// Groups that did not lose.
    pub(super) fn rest(&self) -> Vec<usize> {
        let losers = self.losers();
        (0..self.seen.len()).filter(|group| !losers.contains(group)).collect()
    }

    /// Whether the groups that did not lose divided the rest as promised: where a group asks for less, others gain
    /// by weight.
    pub(super) fn rest_is_by_weight(&self) -> bool {
        let rest = self.rest();
        rest.len() < 2 || self.keep_proportions(&rest)
    }

    /// Whether each hardware queue of the disk may have places of its own: then none is left in one of them while
    /// the sum shows some.
    pub(super) fn has_several_pools(&self) -> bool {
        let all = self.measured.disk.as_ref().map_or(0.0, |disk| disk.pool);
        self.pool.is_some_and(|pool| all > pool)
    }

    /// Up to three groups, each with its figures.
    pub(super) fn list(&self, groups: &[usize], of: impl Fn(usize) -> String) -> String {
        let each = groups.iter().map(|group| format!("`{}` {}", self.names[*group], of(*group)));
        some_of(&each.collect::<Vec<_>>(), ", ")
    }
}

/// What the rules say over all repeats that were examined; `of` is their number, also of those without figures.
pub(crate) fn decide(
    rules: &[Rule],
    measure: Measure,
    cases: &[Case<'_>],
    of: usize,
) -> Vec<Proof> {
    let concerned = rules.iter().filter(|rule| (rule.concerns)(measure));
    let mut proofs: Vec<Proof> = concerned.filter_map(|rule| combine(rule, cases, of)).collect();
    demote(&mut proofs);
    proofs
}

/// Proven or excluded only where no repeat speaks against it, and where most repeats have figures.
fn combine(rule: &Rule, cases: &[Case<'_>], of: usize) -> Option<Proof> {
    let examined = cases.iter().filter_map(|case| Some((case.deviation(), (rule.examine)(case)?)));
    let (gained, findings): (Vec<f64>, Vec<Finding>) = examined.unzip();
    // Repeats without an error count alike.
    let gains = || gained.iter().zip(&findings).map(|(gained, one)| (gained.max(1e-9), one.state));
    let all: f64 = gains().map(|(gained, _)| gained).sum();
    let explained: f64 =
        gains().filter(|(_, state)| *state == ProofState::Proven).map(|(gained, _)| gained).sum();
    let number = |state| findings.iter().filter(|one| one.state == state).count();
    let (proven, excluded) = (number(ProofState::Proven), number(ProofState::Excluded));
    let state = match () {
        () if findings.is_empty() => return None,
        () if excluded == of => ProofState::Excluded,
        () if excluded == 0 && 2 * proven > of && explained >= MOST * all * (1.0 - 1e-9) => {
            ProofState::Proven
        }
        () if excluded == findings.len() => return None,
        () => ProofState::Contributes,
    };
    let shown = findings.iter().find(|one| one.state == state);
    let shown = shown.or_else(|| findings.iter().find(|one| one.state == ProofState::Proven))?;
    let repeats =
        if state == ProofState::Contributes { findings.len() - excluded } else { number(state) };
    let code = rule.code.to_owned();
    Some(Proof { code, state, repeats, of, evidence: shown.evidence.clone() })
}

/// Two causes that each explain all of the errors cannot both be known to be theirs.
fn demote(proofs: &mut [Proof]) {
    let is_proven = |proof: &&mut Proof| proof.state == ProofState::Proven;
    if proofs.iter_mut().filter(is_proven).count() > 1 {
        let codes: Vec<String> = proofs
            .iter()
            .filter(|proof| proof.state == ProofState::Proven)
            .map(|proof| proof.code.clone())
            .collect();
        for proof in proofs.iter_mut().filter(is_proven) {
            let others: Vec<String> =
                codes.iter().filter(|code| **code != proof.code).cloned().collect();
            proof.state = ProofState::Contributes;
            proof.evidence += &format!("; {} explains as much", some_of(&others, ", "));
        }
    }
}

#[cfg(test)]
mod tests;
