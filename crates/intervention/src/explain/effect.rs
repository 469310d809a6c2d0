//! What became of the error.

use serde::{Deserialize, Serialize};

use super::rounds::{Pairs, Rounds, typical};
use assay_judge::may_follow_from_others;
use assay_verdict::{PromiseJudgement, Verdict};

/// What became of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The promise was kept, or at least the error is within the margin.
    Cured,
    /// Surely less than unchanged.
    Lessened,
    /// Neither surely less nor surely more, and about the same.
    Unmoved,
    /// Surely more than unchanged.
    Worsened,
    /// The intervals leave it open.
    Open,
    /// No number, or a gate failed.
    Void,
    /// Could not be tried.
    NotTried,
}

impl Effect {
    /// Whether more rounds may still tell.
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

/// A promise of one trial, and the rounds that its numbers are of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged<'j> {
    pub(super) promise: &'j PromiseJudgement,
    pub(super) rounds: &'j [usize],
}

impl Judged<'_> {
    /// Errors with the number of their round. In documents before those numbers repeats count as
    /// rounds; where some repeat has no error of its own nothing is known.
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
    /// Whether there is an error to take away: surely, or by its size where it was surely there
    /// when the run that is explained was judged.
    pub(super) fn is_bad(&self) -> bool {
        match self.judged.promise.verdict {
            Verdict::Broken => true,
            Verdict::Undecided => self.was_broken && self.is_off(),
            Verdict::Void => self.was_broken && has_numbers(self.judged.promise) && self.is_off(),
            Verdict::Kept => false,
        }
    }

    /// Whether most rounds are off by more than the margin; a logarithm and its exponential are not
    /// exact.
    fn is_off(&self) -> bool {
        self.size() > self.judged.promise.within * (1.0 + 1e-9)
    }

    /// The error of most rounds, or that of all together.
    pub(super) fn size(&self) -> f64 {
        let all = || self.judged.promise.worst_error.map_or(0.0, |error| error.value);
        typical(&self.judged.promise.errors, self.judged.promise.within).unwrap_or_else(all)
    }

    /// The arm's rounds beside those of the unchanged trial, by their numbers, as far as `counts`
    /// has them. None where it is not known which round an error is of.
    pub(super) fn pairs(&self, arm: &Judged<'_>, counts: impl Fn(usize) -> bool) -> Pairs {
        let (before, after) = (self.judged.errors(), arm.errors());
        let both = before.iter().filter_map(|(round, before)| {
            let (_, after) = after.iter().find(|(other, _)| other == round)?;
            counts(*round).then_some((*before, *after))
        });
        both.collect()
    }

    /// What became of the error in this trial.
    pub(super) fn effect(&self, judged: &PromiseJudgement, rounds: Option<&Rounds>) -> Effect {
        // A gate that voided the unchanged trial and lets this one pass is all there is to see,
        // unless the errors of both can be compared.
        let void = self.judged.promise.verdict == Verdict::Void;
        if void && judged.verdict == Verdict::Kept && !self.is_bad() {
            return Effect::Cured;
        }
        if !has_numbers(judged) {
            return Effect::Void;
        }
        // One round shows nothing: what chance does to a single one no interval tells.
        rounds.map_or(Effect::Open, |rounds| self.by_rounds(judged, rounds))
    }

    fn by_rounds(&self, judged: &PromiseJudgement, rounds: &Rounds) -> Effect {
        // Of an unchanged trial that was void or kept the figure says nothing.
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

/// Whether the numbers of a trial mean something: no gate failed, or only the one that a broken share
/// fails by itself, a queue that runs dry.
fn has_numbers(judged: &PromiseJudgement) -> bool {
    judged.worst_error.is_some()
        && (judged.verdict != Verdict::Void
            || (!judged.causes.is_empty()
                && judged.causes.iter().all(|cause| may_follow_from_others(&cause.code))))
}
