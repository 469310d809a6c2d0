//! Compares two levels of one factor within one run, as if each were a run. Their repeats were
//! interleaved, so they are compared in pairs.

use std::collections::BTreeSet;

use crate::verdict::wording::level as text;
use assay_record::run_folder::{Manifest, Table, TrialRecord};
use serde_json::Value;

use super::{RunComparison, Side, Terms, compare};

/// Compares two levels of a factor in one run, repeat by repeat. Levels are named as in the study
/// file; by default the two that the factor has. The error lists the levels.
pub fn compare_levels(
    run: &Side<'_>,
    factor: &str,
    levels: &[String],
    terms: &Terms,
) -> Result<RunComparison, String> {
    let known = known(run.manifest, factor)?;
    let listed = known.iter().map(text).collect::<Vec<_>>().join(", ");
    let chosen: Vec<&Value> = match levels {
        [] => known.iter().collect(),
        some => some
            .iter()
            .map(|name| {
                known.iter().find(|level| text(level) == *name).ok_or_else(|| {
                    format!("no trial has {factor} = {name}; its levels are {listed}")
                })
            })
            .collect::<Result<_, String>>()?,
    };
    let [a, b] = chosen.as_slice() else {
        return Err(format!(
            "{factor} has {} levels here ({listed}); name the two to compare",
            chosen.len()
        ));
    };
    if a == b {
        return Err(format!("{factor} = {} cannot be compared with itself", text(a)));
    }
    let (of_a, of_b) = (only(run, factor, a), only(run, factor, b));
    let name = |level: &Value| format!("{} with {factor} = {}", run.name, text(level));
    let (name_a, name_b) = (name(a), name(b));
    let side = |name, (manifest, samples)| Side { name, manifest, samples };
    let a = side(&name_a, (&of_a.0, of_a.1.as_slice()));
    let b = side(&name_b, (&of_b.0, of_b.1.as_slice()));
    Ok(compare(&a, &b, terms, true))
}

/// The levels of a factor in the order of the trials.
fn known(manifest: &Manifest, factor: &str) -> Result<Vec<Value>, String> {
    let mut levels: Vec<Value> = Vec::new();
    for level in manifest.trials.iter().filter_map(|trial| trial.factors.get(factor)) {
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    if !levels.is_empty() {
        return Ok(levels);
    }
    let names = manifest.trials.iter().flat_map(|trial| trial.factors.keys());
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    Err(match names.is_empty() {
        true => format!("this run has no factor `{factor}`, nor any other"),
        false => format!("this run has no factor `{factor}`; it has {}", names.join(", ")),
    })
}

/// The part of a run under one level.
fn only(run: &Side<'_>, factor: &str, level: &Value) -> (Manifest, Vec<Vec<Vec<Table>>>) {
    let of_level = |trial: &TrialRecord| trial.factors.get(factor) == Some(level);
    let trials = run.manifest.trials.iter().enumerate().filter(|(_, trial)| of_level(trial));
    let (indices, trials): (Vec<usize>, Vec<TrialRecord>) =
        trials.map(|(index, trial)| (index, trial.clone())).unzip();
    let samples =
        indices.iter().map(|index| run.samples.get(*index).cloned().unwrap_or_default()).collect();
    (Manifest { trials, ..run.manifest.clone() }, samples)
}
