//! What the numbers of a promise say, whatever it is about, and the judgement that follows.

use crate::verdict::{PromiseJudgement, Verdict};
use assay_record::run_folder::{PromiseRecord, Reference};

/// What the numbers of a promise say.
#[derive(Default)]
pub(crate) struct Found {
    /// The document, with the verdict and the sentence by the numbers alone.
    pub(crate) judged: PromiseJudgement,
    /// Why they decide nothing, if so.
    pub(crate) void: Option<String>,
    /// Whether something that concerns all groups forbids kept.
    pub(crate) is_open: bool,
    /// Whether the sentence names an objection to the promise being kept.
    pub(crate) names_objection: bool,
    /// Repeats, and seconds of window, that would probably decide it while it is undecided.
    pub(crate) needs: (Option<usize>, Option<f64>),
}

impl Found {
    pub(crate) fn new(judged: PromiseJudgement) -> Self {
        Self { names_objection: judged.verdict == Verdict::Kept, judged, ..Self::default() }
    }

    /// No numbers, for this reason.
    pub(crate) fn nothing(promise: &PromiseRecord, why: String) -> Self {
        Self { void: Some(why), ..Self::new(without_numbers(promise)) }
    }

    /// Makes undecided what the numbers alone decide.
    pub(crate) fn open(&mut self) {
        let groups = self.judged.groups.iter_mut().map(|group| &mut group.verdict);
        groups.chain([&mut self.judged.verdict]).for_each(|verdict| *verdict = Verdict::Undecided);
        self.names_objection = true;
    }

    /// The judgement. `void` says why it is void whatever the numbers, `objection` why it is not kept.
    pub(crate) fn conclude(
        self,
        void: Option<String>,
        objection: Option<String>,
    ) -> PromiseJudgement {
        let mut judged = self.judged;
        if let Some(why) = void.or(self.void) {
            (judged.verdict, judged.reason, judged.causes) = (Verdict::Void, why, Vec::new());
            judged.groups.iter_mut().for_each(|group| group.verdict = Verdict::Void);
            return judged;
        }
        if self.is_open || objection.is_some() {
            // What keeps the promise from being kept keeps each group from it.
            let groups = judged.groups.iter_mut().map(|group| &mut group.verdict);
            groups
                .chain([&mut judged.verdict])
                .filter(|verdict| **verdict == Verdict::Kept)
                .for_each(|verdict| *verdict = Verdict::Undecided);
        }
        if let Some(why) = objection.filter(|_| self.names_objection) {
            judged.reason = format!("{}; {why}", judged.reason);
        }
        if judged.verdict == Verdict::Undecided {
            (judged.needs_repeats, judged.needs_s) = self.needs;
        }
        judged
    }
}

/// The document of a promise without numbers.
pub(crate) fn without_numbers(promise: &PromiseRecord) -> PromiseJudgement {
    PromiseJudgement {
        measure: promise.measure.clone(),
        is: promise.is.kind().name().to_owned(),
        to: match promise.is.to() {
            Reference::Nothing => None,
            Reference::Knob(knob) => Some(knob.to_owned()),
            Reference::Value(bound) => Some(bound.to_string()),
        },
        within: promise.within,
        ..PromiseJudgement::default()
    }
}
