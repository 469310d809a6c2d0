//! Effect of an intervention on the error.

use assay_judge::verdict::{PromiseJudgement, Verdict};
use serde::{Deserialize, Serialize};

use super::rounds::{Pairs, Rounds, typical};
use crate::causes::may_follow_from_others;

/// Effect of an intervention on the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The promise was kept, or the error is within the margin.
    Cured,
    /// Significantly smaller than unchanged.
    Lessened,
    /// About the same; neither significantly smaller nor larger.
    Unmoved,
    /// Significantly larger than unchanged.
    Worsened,
    /// Inconclusive: the intervals allow several of the above.
    Open,
    /// No number, or a failed validity check.
    Void,
    /// Could not be tried.
    NotTried,
}

impl Effect {
    /// Whether more rounds may decide it.
    #[must_use]
    pub const fn may_change(self) -> bool {
        matches!(self, Self::Open | Self::Void)
    }
}

/// The unchanged trial, measured again.
pub(super) struct Base<'j> {
    pub(super) judged: Judged<'j>,
    pub(super) was_broken: bool,
}

/// A promise of one trial, and the rounds its numbers belong to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged<'j> {
    pub(super) promise: &'j PromiseJudgement,
    pub(super) rounds: &'j [usize],
    /// Repeats that count.
    pub(super) repeats: usize,
}

impl Judged<'_> {
    /// Errors with their round numbers. Older documents lack round numbers: repeats then count as
    /// rounds. Empty where some repeat has no error.
    fn errors(&self) -> Vec<(usize, f64)> {
        let errors = self.promise.errors.iter().copied();
        match (self.rounds.len(), self.promise.errors.len()) {
            (0, _) => (1..).zip(errors).collect(),
            (rounds, number) if rounds == number => {
                self.rounds.iter().copied().zip(errors).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Base<'_> {
    /// Whether there is an error to remove: significant now, or beyond the margin now and
    /// significant in the explained run.
    pub(super) fn is_bad(&self) -> bool {
        match self.judged.promise.verdict {
            Verdict::Broken => true,
            Verdict::Undecided => self.was_broken && self.is_off(),
            Verdict::Void => self.was_broken && has_numbers(self.judged.promise) && self.is_off(),
            Verdict::Kept => false,
        }
    }

    /// Whether the typical error exceeds the margin; the tolerance covers rounding of exp and ln.
    fn is_off(&self) -> bool {
        self.size() > self.judged.promise.within * (1.0 + 1e-9)
    }

    /// The typical error of a round, or that of all rounds together.
    pub(super) fn size(&self) -> f64 {
        let all = || self.judged.promise.worst_error.map_or(0.0, |error| error.value);
        typical(&self.judged.promise.errors, self.judged.promise.within).unwrap_or_else(all)
    }

    /// Error pairs (unchanged, arm) of the rounds selected by `counts`. Empty where errors cannot
    /// be assigned to rounds.
    pub(super) fn pairs(&self, arm: &Judged<'_>, counts: impl Fn(usize) -> bool) -> Pairs {
        let (before, after) = (self.judged.errors(), arm.errors());
        let both = before.iter().filter_map(|(round, before)| {
            let (_, after) = after.iter().find(|(other, _)| other == round)?;
            counts(*round).then_some((*before, *after))
        });
        both.collect()
    }

    /// Effect of this arm's change on the error.
    pub(super) fn effect(&self, judged: &PromiseJudgement, rounds: Option<&Rounds>) -> Effect {
        // Without comparable errors, a check that failed unchanged and passes now is the only
        // evidence.
        let void = self.judged.promise.verdict == Verdict::Void;
        if void && judged.verdict == Verdict::Kept && !self.is_bad() {
            return Effect::Cured;
        }
        if !has_numbers(judged) {
            return Effect::Void;
        }
        // One round proves nothing: its scatter is unknown.
        rounds.map_or(Effect::Open, |rounds| self.by_rounds(judged, rounds))
    }

    fn by_rounds(&self, judged: &PromiseJudgement, rounds: &Rounds) -> Effect {
        // An unchanged trial that is void or kept has no error to compare with.
        if !self.is_bad() {
            Effect::Open
        } else if rounds.less() {
            match rounds.are_within() && judged.verdict != Verdict::Void {
                true => Effect::Cured,
                false => Effect::Lessened,
            }
        } else if rounds.more() {
            Effect::Worsened
        } else if rounds.same() {
            Effect::Unmoved
        } else {
            Effect::Open
        }
    }
}

/// Whether the trial's numbers are valid: no check failed, or only one that a broken share causes
/// by itself (a queue that runs dry).
fn has_numbers(judged: &PromiseJudgement) -> bool {
    judged.worst_error.is_some()
        && (judged.verdict != Verdict::Void
            || (!judged.causes.is_empty()
                && judged.causes.iter().all(|cause| may_follow_from_others(&cause.code))))
}
