//! Promises about single trials, in the form of the record.

use crate::{Bindings, Bound, Promise, Relation, Study, parse_bound};
use assay_record::run_folder::{
    EveryRecord, PlacementRecord, PromiseRecord, Reference, RelationRecord,
};

/// Whether a promise applies to this trial if trials run different workloads: the workload of a
/// metric must run, and `placed` needs a placement.
pub(crate) fn is_applicable(
    promise: &PromiseRecord,
    study: &Study,
    placements: &[PlacementRecord],
) -> bool {
    if promise.is == RelationRecord::Placed {
        return placements.iter().any(|plan| match promise.measure.as_str() {
            "threads" => plan.cpus.is_some(),
            _ => plan.cpus.is_some() || plan.memory.is_some(),
        });
    }
    match promise.measure.split_once('.') {
        Some((workload, _)) if study.workloads.contains_key(workload) => study.runs(workload),
        _ => true,
    }
}

/// A promise about single trials; `None` for a cross-trial promise (see `comparison.rs`) and for
/// one that does not apply to this trial.
pub(crate) fn plan_promise(promise: &Promise, factors: &Bindings) -> Option<PromiseRecord> {
    if !promise.applies_to(factors) {
        return None;
    }
    let Relation::InTrial { kind, to } = &promise.is else { return None };
    let to = match to {
        None => Reference::Nothing,
        Some(Bound::Knob(knob)) => Reference::Knob(knob),
        // The checker has resolved every template and refused invalid bounds.
        Some(Bound::Value(value)) => {
            let scalar = value.resolve(factors).ok();
            let bound = scalar.and_then(|scalar| parse_bound(&promise.measure, &scalar));
            Reference::Value(bound.unwrap_or(f64::NAN))
        }
    };
    Some(PromiseRecord {
        measure: promise.measure.clone(),
        is: RelationRecord::new(*kind, to)?,
        within: promise.within.fraction(),
        every: promise.every.map(|every| EveryRecord {
            span_s: every.span.as_secs_f64(),
            part: every.part.fraction(),
        }),
    })
}
