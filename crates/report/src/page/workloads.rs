//! Workloads of the groups, changes to the user's job files, and paths of the output.

use assay_run_folder::{GroupRecord, IoClass, WorkloadRecord, WorkloadResult};
use assay_verdict::WorkloadMetrics;
use serde::Serialize;

use crate::subjects::MAX_SINGLE_GROUPS;
use crate::trial::Trial;
use crate::workload_metrics;

/// All workloads of a trial.
#[derive(Serialize)]
pub(super) struct Workloads<'t> {
    rows: Vec<Row>,
    folded: bool,
    /// Changes to job files, each sentence once.
    taken_over: Vec<String>,
    failed: usize,
    /// Their metrics.
    figures: Vec<Figures<'t>>,
    many_figures: bool,
}

/// Metrics of one workload.
#[derive(Serialize)]
struct Figures<'t> {
    name: &'t str,
    tool: &'t str,
    numbers: Vec<workload_metrics::Row<'t>>,
    /// Missing metrics with reasons.
    missing: Vec<String>,
    findings: &'t [String],
}

#[derive(Serialize)]
struct Row {
    name: String,
    group: String,
    tool: String,
    io: String,
    measured: bool,
    /// Its command line; empty for fio.
    command_line: String,
    /// Its start time, if it is not the common start.
    starts: Option<String>,
    /// How it ended, for each repeat in which it failed.
    failures: Vec<String>,
    /// Its output files, one per repeat, relative to the run folder.
    logs: Vec<Log>,
}

#[derive(Serialize)]
struct Log {
    repeat: usize,
    path: String,
}

impl<'t> Workloads<'t> {
    pub(super) fn new(trial: &Trial<'t>) -> Self {
        let mut taken_over: Vec<String> = Vec::new();
        let mut rows = Vec::new();
        for group in &trial.record.groups {
            for workload in &group.workloads {
                rows.push(row(trial, group, workload));
                let new = workload.taken_over.iter().filter(|text| !taken_over.contains(text));
                taken_over.extend(new.cloned().collect::<Vec<_>>());
            }
        }
        let failed = rows.iter().filter(|row| !row.failures.is_empty()).count();
        let figures: Vec<Figures<'_>> =
            workload_metrics::workloads(trial).into_iter().map(figures).collect();
        Self {
            folded: rows.len() > MAX_SINGLE_GROUPS,
            rows,
            taken_over,
            failed,
            many_figures: figures.len() > MAX_SINGLE_GROUPS,
            figures,
        }
    }
}

fn figures(metrics: &WorkloadMetrics) -> Figures<'_> {
    let missing = metrics.not_available.iter().map(|(name, why)| format!("{name}: {why}"));
    Figures {
        name: &metrics.name,
        tool: &metrics.tool,
        numbers: workload_metrics::rows(metrics),
        missing: missing.collect(),
        findings: &metrics.findings,
    }
}

fn row(trial: &Trial<'_>, group: &GroupRecord, workload: &WorkloadRecord) -> Row {
    let repeats = trial.record.repeats.iter().enumerate();
    let results: Vec<(usize, &WorkloadResult)> = repeats
        .flat_map(|(index, repeat)| repeat.workloads.iter().map(move |r| (index + 1, r)))
        .filter(|(_, result)| result.workload == workload.name)
        .collect();
    let failure = |(repeat, result): &(usize, &WorkloadResult)| {
        result.failure.as_ref().map(|failure| format!("repeat {repeat}: {failure}"))
    };
    Row {
        name: workload.name.clone(),
        group: group.name.clone(),
        tool: workload.tool.clone(),
        io: if workload.tool == "command" { "not known".to_owned() } else { class(&workload.io) },
        command_line: workload.command_line.clone(),
        starts: workload.starts.clone(),
        measured: group.measured,
        failures: results.iter().filter_map(failure).collect(),
        logs: results
            .iter()
            .map(|(repeat, result)| Log { repeat: *repeat, path: result.log.clone() })
            .collect(),
    }
}

/// `direct reads of 4096 B, 32 outstanding`.
fn class(io: &IoClass) -> String {
    let direction = match (io.reads, io.writes) {
        (true, true) => "reads and writes",
        (true, false) => "reads",
        (false, true) => "writes",
        (false, false) => return "no I/O".to_owned(),
    };
    let mut text = format!("{} {direction}", if io.direct { "direct" } else { "buffered" });
    if let Some(size) = io.block_size {
        text.push_str(&match size {
            size if size >= 1024 && size.is_multiple_of(1024) => format!(" of {} KiB", size / 1024),
            size => format!(" of {size} B"),
        });
    }
    if let Some(outstanding) = io.outstanding {
        text.push_str(&format!(", {outstanding} outstanding"));
    }
    text
}
