//! Workload metrics over the repeats that count.

use crate::verdict::{Figure, WorkloadMetrics};
use assay_record::run_folder::{
    GroupRecord, RepeatRecord, TrialRecord, WorkloadRecord, WorkloadResult,
};

/// One entry for each workload with metrics or findings.
pub(crate) fn figures(trial: &TrialRecord, repeats: &[&RepeatRecord]) -> Vec<WorkloadMetrics> {
    let all = trial
        .groups
        .iter()
        .flat_map(|group| group.workloads.iter().map(move |workload| (group, workload)));
    let all = all.map(|(group, workload)| metrics_of(group, workload, repeats));
    all.filter(|figures| {
        let WorkloadMetrics { metrics, not_available, findings, .. } = figures;
        !metrics.is_empty() || !not_available.is_empty() || !findings.is_empty()
    })
    .collect()
}

fn metrics_of(
    group: &GroupRecord,
    workload: &WorkloadRecord,
    repeats: &[&RepeatRecord],
) -> WorkloadMetrics {
    let mut figures = WorkloadMetrics {
        name: workload.name.clone(),
        group: group.name.clone(),
        tool: workload.tool.clone(),
        metrics: Default::default(),
        not_available: Default::default(),
        findings: Vec::new(),
    };
    for repeat in repeats {
        let own = |result: &&WorkloadResult| result.workload == workload.name;
        for result in repeat.workloads.iter().filter(own) {
            add(result, &mut figures);
        }
    }
    for figure in figures.metrics.values_mut() {
        figure.value = figure.repeats.iter().sum::<f64>() / figure.repeats.len() as f64;
    }
    let WorkloadMetrics { metrics, not_available, .. } = &mut figures;
    not_available.retain(|name, _| !metrics.contains_key(name));
    figures
}

fn add(result: &WorkloadResult, figures: &mut WorkloadMetrics) {
    for (name, value) in &result.metrics {
        let blank = || Figure { value: 0.0, repeats: Vec::new() };
        figures.metrics.entry(name.clone()).or_insert_with(blank).repeats.push(*value);
    }
    for (name, why) in &result.not_available {
        figures.not_available.entry(name.clone()).or_insert_with(|| why.clone());
    }
    for finding in &result.findings {
        if !figures.findings.contains(finding) {
            figures.findings.push(finding.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn result(value: Option<f64>) -> WorkloadResult {
        WorkloadResult {
            workload: "a.load".to_owned(),
            metrics: value.map(|value| ("ops_per_s".to_owned(), value)).into_iter().collect(),
            not_available: match value {
                None => BTreeMap::from([("ops_per_s".to_owned(), "it was silent".to_owned())]),
                Some(_) => BTreeMap::new(),
            },
            findings: vec!["one node".to_owned()],
            ..WorkloadResult::default()
        }
    }

    fn figures_of(results: &[WorkloadResult]) -> WorkloadMetrics {
        let mut figures = WorkloadMetrics {
            name: "a.load".to_owned(),
            group: "a".to_owned(),
            tool: "command".to_owned(),
            metrics: BTreeMap::new(),
            not_available: BTreeMap::new(),
            findings: vec![],
        };
        results.iter().for_each(|result| add(result, &mut figures));
        figures
    }

    #[test]
    fn metrics_are_averaged_and_findings_are_unique() {
        let figures = figures_of(&[result(Some(1.0)), result(None), result(Some(3.0))]);
        assert_eq!(figures.metrics["ops_per_s"].repeats, [1.0, 3.0]);
        assert_eq!(figures.findings, ["one node"]);
        assert_eq!(figures.not_available["ops_per_s"], "it was silent");
    }
}
