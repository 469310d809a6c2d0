//! Published numbers next to ours. Never judged: they come from other machines.

use crate::verdict::ReferenceJudgement;
use assay_record::run_folder::{Levels, ReferenceRecord, TrialRecord};
use assay_stats::resolution::Resolution;

use crate::cross_trial::{TrialInput, of_level};
use crate::metric::resolution;
use crate::trial_value::ValuesByRepeat;

/// Adds our measurements to a reference: one entry for each trial with its levels.
pub(crate) fn compare(
    reference: &ReferenceRecord,
    inputs: &[TrialInput<'_>],
) -> ReferenceJudgement {
    let belongs = |one: &&TrialInput<'_>| {
        let factors = &one.trial.factors;
        reference.under.iter().all(|(name, level)| factors.get(name) == Some(level))
    };
    let resolution = resolution(reference.measure.as_deref().unwrap_or_default());
    let ours = |one: &TrialInput<'_>| {
        let factors = one.trial.factors.clone();
        if reference.to.is_empty() {
            return of_level(factors, &one.found.numbers, resolution);
        }
        let other = other_side(one.trial, &reference.to, inputs);
        let ratios = ratios(&one.found.numbers, other, &reference.to);
        of_level(factors, &ratios, Resolution::Exact)
    };
    let inputs = inputs.iter().filter(|_| reference.measure.is_some());
    ReferenceJudgement {
        what: reference.what.clone(),
        value: reference.value,
        unit: reference.unit.clone(),
        source: reference.source.clone(),
        measure: reference.measure.clone(),
        group: reference.group.clone(),
        under: reference.under.clone(),
        to: reference.to.clone(),
        ours: inputs.filter(belongs).map(ours).collect(),
    }
}

/// The trial that differs from this one only by these levels.
fn other_side<'g, 'r>(
    trial: &TrialRecord,
    to: &Levels,
    inputs: &'g [TrialInput<'r>],
) -> Option<&'g TrialInput<'r>> {
    let mut wanted = trial.factors.clone();
    wanted.extend(to.clone());
    inputs.iter().find(|one| one.trial.factors == wanted)
}

/// Ratios repeat by repeat, as for promises across trials.
fn ratios(of: &ValuesByRepeat, to: Option<&TrialInput<'_>>, levels: &Levels) -> ValuesByRepeat {
    let named = || {
        let texts = levels.iter().map(|(name, level)| format!("{name} = {level}"));
        texts.collect::<Vec<_>>().join(" and ")
    };
    let to = to.ok_or_else(|| format!("no trial of this run has {}", named()))?;
    let of = of.as_ref().map_err(Clone::clone)?;
    let to = to.found.numbers.as_ref().map_err(|why| format!("under {}: {why}", named()))?;
    let ratio = |(number, value): &(usize, f64)| {
        let (_, other) = to.iter().find(|(other, _)| other == number)?;
        Some((*number, value / other))
    };
    let ratios: Vec<(usize, f64)> = of.iter().filter_map(ratio).collect();
    match ratios.iter().all(|(_, ratio)| ratio.is_finite() && *ratio > 0.0) {
        true if !ratios.is_empty() => Ok(ratios),
        _ => Err(format!("no repeat has a number here and under {}", named())),
    }
}
