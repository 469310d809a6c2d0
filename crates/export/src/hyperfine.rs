//! Export in the format of `hyperfine --export-json`: run times of commands that end by themselves.

use assay_run_folder::{Manifest, TrialRecord, WorkloadRecord};
use assay_verdict::wording;
use serde_json::{Map, Value, json};

use crate::error::Error;

/// Builds the document; an error if no command ended by itself: a workload that is stopped when its
/// time is up took exactly that time.
pub fn hyperfine(manifest: &Manifest) -> Result<Value, Error> {
    let mut results = Vec::new();
    for trial in &manifest.trials {
        for group in &trial.groups {
            for workload in &group.workloads {
                results.extend(result(trial, workload));
            }
        }
    }
    if results.is_empty() {
        return Err(Error::NotApplicable(
            "hyperfine's format describes run times of commands, but every workload of this run was \
             stopped when its time was up, or failed\n  hint: `--to parquet` exports everything that \
             was measured"
                .to_owned(),
        ));
    }
    Ok(json!({ "results": results }))
}

fn result(trial: &TrialRecord, workload: &WorkloadRecord) -> Option<Value> {
    let runs = trial.repeats.iter().filter(|repeat| repeat.fault.is_none());
    let own = runs.flat_map(|repeat| &repeat.workloads).filter(|one| one.workload == workload.name);
    let times: Vec<f64> = own
        .filter(|one| one.failure.is_none())
        .filter_map(|one| Some(one.ended_ns?.checked_sub(one.began_ns?)? as f64 * 1e-9))
        .collect();
    if times.is_empty() {
        return None;
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let deviation = (times.len() > 1).then(|| (squares / (times.len() - 1) as f64).sqrt());
    let parameters: Map<String, Value> = trial
        .factors
        .iter()
        .map(|(name, level)| (name.clone(), Value::from(wording::level(level))))
        .collect();
    let named = format!("{} ({})", workload.name, workload.tool);
    Some(json!({
        "command": if workload.command_line.is_empty() { named } else { workload.command_line.clone() },
        "mean": mean,
        "stddev": deviation,
        "median": median(&times),
        // CPU time is counted per group and not per command: see the table `samples`.
        "user": null,
        "system": null,
        "min": times.iter().copied().fold(f64::INFINITY, f64::min),
        "max": times.iter().copied().fold(0.0, f64::max),
        "times": times,
        "exit_codes": vec![0; times.len()],
        "parameters": parameters,
    }))
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => 0.5 * (sorted[middle - 1] + sorted[middle]),
        _ => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_an_even_count_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
