//! Published numbers next to ours. Never judged: they come from other machines.

use assay_run_folder::{Levels, Manifest, ReferenceRecord, TrialRecord};
use assay_stats::resolution::Resolution;
use assay_verdict::{ExpectedGain, ReferenceJudgement};

use crate::cross_trial::{TrialInput, of_level};
use crate::expected_gain::{self, Gain};
use crate::metric::resolution;
use crate::trial_value::ValuesByRepeat;

/// Adds our measurements to a reference: one entry for each trial with its levels.
pub(crate) fn compare(
    manifest: &Manifest,
    reference: &ReferenceRecord,
    inputs: &[TrialInput<'_>],
) -> ReferenceJudgement {
    let belongs = |one: &&TrialInput<'_>| {
        let factors = &one.trial.factors;
        reference.under.iter().all(|(name, level)| factors.get(name) == Some(level))
    };
    let (mut ours, mut expected) = (Vec::new(), Vec::new());
    let measure = reference.measure.as_deref().unwrap_or_default();
    for one in inputs.iter().filter(|_| reference.measure.is_some()).filter(belongs) {
        let factors = one.trial.factors.clone();
        if reference.to.is_empty() {
            ours.push(of_level(factors, &one.found.numbers, resolution(measure)));
            continue;
        }
        let other = other_side(one.trial, &reference.to, inputs);
        let ratios = ratios(&one.found.numbers, other, &reference.to);
        let level = of_level(factors, &ratios, Resolution::Exact);
        expected.extend(other.and_then(|other| {
            let (of, to) = (one.trial, other.trial);
            expected_gain::find(manifest, &Gain { measure, of, to, measured: level.value })
        }));
        ours.push(level);
    }
    // With an expectation for only some entries it would be unclear which they belong to.
    if expected.len() != ours.len() {
        expected = Vec::<ExpectedGain>::new();
    }
    ReferenceJudgement {
        what: reference.what.clone(),
        value: reference.value,
        unit: reference.unit.clone(),
        source: reference.source.clone(),
        measure: reference.measure.clone(),
        group: reference.group.clone(),
        under: reference.under.clone(),
        to: reference.to.clone(),
        ours,
        expected,
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
