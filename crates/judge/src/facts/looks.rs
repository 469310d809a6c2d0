//! `looks`: how often the data was looked at before a repeat ended, and what that cost.

use assay_record::StopRecord;

use super::{Evidence, Finding, of_each_repeat};
use crate::judgement::Fact;
use crate::wording::{count, percent};

/// what the intervals of a repeat that ends once it is decided had to pay. Listed
/// where the trial was to stop so.
pub(super) fn fact(evidence: &Evidence<'_>) -> Option<Fact> {
    if evidence.trial.stop != StopRecord::Decided {
        return None;
    }
    Some(of_each_repeat("looks", evidence, |repeat| {
        let Some(looks) = repeat.record.looks else {
            return Finding::spared("the repeat ended before it could be looked at");
        };
        let end =
            if looks.decided { "the last of which ended it" } else { "and then ran to its end" };
        Finding::new(
            true,
            format!(
                "{} while it ran, {end}; intervals may spend {} of the error that the promise \
                 allows",
                count(looks.taken as usize, "look"),
                percent(looks.part)
            ),
        )
    }))
}
