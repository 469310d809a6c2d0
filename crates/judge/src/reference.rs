//! Numbers of others beside ours. Shown, and never judged: theirs come from another machine.

use assay_record::ReferenceRecord;

use crate::compared::ReferenceJudgement;
use crate::comparison::{Given, of_level};

/// Confidence of the intervals of ours.
const CONFIDENCE: f64 = 0.95;

/// Sets ours beside a number: one entry for each trial with the levels that it belongs to.
pub(crate) fn beside(reference: &ReferenceRecord, given: &[Given<'_>]) -> ReferenceJudgement {
    let belongs = |one: &&Given<'_>| {
        let factors = &one.trial.factors;
        reference.under.iter().all(|(name, level)| factors.get(name) == Some(level))
    };
    let ours = given
        .iter()
        .filter(|_| reference.measure.is_some())
        .filter(belongs)
        .map(|one| of_level(one.trial.factors.clone(), one.found, CONFIDENCE));
    ReferenceJudgement {
        what: reference.what.clone(),
        value: reference.value,
        unit: reference.unit.clone(),
        source: reference.source.clone(),
        measure: reference.measure.clone(),
        group: reference.group.clone(),
        under: reference.under.clone(),
        ours: ours.collect(),
    }
}
