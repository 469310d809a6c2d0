//! Cross-trial promises and references in the form of the record.

use crate::{Bindings, Pairs, Promise, Relation, Scalar, Study, find_level};
use assay_record::run_folder::{
    AcrossRecord, ComparisonRecord, Levels, PairsRecord, ReferenceRecord,
};
use serde_json::Value;

/// The cross-trial promises, in the order of the study file.
pub(crate) fn comparisons(study: &Study) -> Vec<ComparisonRecord> {
    study.promises.iter().filter_map(|promise| comparison(study, promise)).collect()
}

fn comparison(study: &Study, promise: &Promise) -> Option<ComparisonRecord> {
    let is = match &promise.is {
        Relation::Ratio { of, to, at_least, at_most } => AcrossRecord::Ratio {
            of: levels(study, of),
            to: levels(study, to),
            at_least: *at_least,
            at_most: *at_most,
        },
        Relation::EqualOver { factor, pairs } => AcrossRecord::Equal {
            over: factor.clone(),
            pairs: match pairs {
                Pairs::All => PairsRecord::All,
                Pairs::First => PairsRecord::First,
            },
            within: promise.within.fraction(),
        },
        _ => return None,
    };
    Some(ComparisonRecord { measure: promise.measure.clone(), group: promise.group.clone(), is })
}

/// The references, in the order of the study file.
pub(crate) fn references(study: &Study) -> Vec<ReferenceRecord> {
    let record = |reference: &crate::Reference| ReferenceRecord {
        what: reference.what.clone(),
        value: reference.value,
        unit: reference.unit.clone(),
        source: reference.source.clone(),
        measure: reference.measure.clone(),
        group: reference.group.clone(),
        under: levels(study, &reference.under),
        to: levels(study, &reference.to),
    };
    study.references.iter().map(record).collect()
}

/// Levels exactly as the trials have them: `2` becomes the `2.0` of the factor's list. A level that
/// no trial has (any more) stays as written.
fn levels(study: &Study, named: &Bindings) -> Levels {
    let with_trial_level = |(name, level): (&String, &Scalar)| {
        let factor = study.factors.iter().find(|factor| factor.name == *name);
        let trial_level = factor.and_then(|factor| find_level(factor, level)).unwrap_or(level);
        (name.clone(), serde_json::to_value(trial_level).unwrap_or(Value::Null))
    };
    named.iter().map(with_trial_level).collect()
}
