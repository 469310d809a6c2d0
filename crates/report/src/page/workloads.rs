//! What ran in the groups, what was changed of a user's job file, and where its output lies.

use assay_run_folder::{GroupRecord, IoClass, WorkloadRecord, WorkloadResult};
use assay_verdict::WorkloadMetrics;
use serde::Serialize;

use crate::subjects::SHOWN_SINGLY;
use crate::trial::Trial;
use crate::workload_metrics;

/// All workloads of a trial.
#[derive(Serialize)]
pub(super) struct Workloads {
    rows: Vec<Row>,
    folded: bool,
    /// What was taken over from job files, each sentence once.
    taken_over: Vec<String>,
    failed: usize,
    /// What they said of themselves.
    figures: Vec<Figures>,
    many_figures: bool,
}

/// What one workload said of itself.
#[derive(Serialize)]
struct Figures {
    name: String,
    tool: String,
    numbers: Vec<Number>,
    /// Numbers that were to be had and are not, with the reason.
    missing: Vec<String>,
    findings: Vec<String>,
}

#[derive(Serialize)]
struct Number {
    metric: String,
    value: String,
    repeats: String,
}

#[derive(Serialize)]
struct Row {
    name: String,
    group: String,
    tool: String,
    io: String,
    measured: bool,
    /// Its command line; empty for fio.
    told: String,
    /// When it starts, where that is not the common start.
    starts: Option<String>,
    /// How it ended, for each repeat in which it failed.
    failures: Vec<String>,
    /// Its outputs, relative to the run folder, one a repeat.
    logs: Vec<Log>,
}

#[derive(Serialize)]
struct Log {
    repeat: usize,
    path: String,
}

impl Workloads {
    pub(super) fn of(trial: &Trial<'_>) -> Self {
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
        let figures: Vec<Figures> =
            workload_metrics::workloads(trial).into_iter().map(figures).collect();
        Self {
            folded: rows.len() > SHOWN_SINGLY,
            rows,
            taken_over,
            failed,
            many_figures: figures.len() > SHOWN_SINGLY,
            figures,
        }
    }
}

fn figures(said: &WorkloadMetrics) -> Figures {
    let numbers = workload_metrics::rows(said).into_iter().map(|row| Number {
        metric: row.metric.to_owned(),
        value: row.value,
        repeats: row.repeats,
    });
    let missing = said.not_available.iter().map(|(name, why)| format!("{name}: {why}"));
    Figures {
        name: said.name.clone(),
        tool: said.tool.clone(),
        numbers: numbers.collect(),
        missing: missing.collect(),
        findings: said.findings.clone(),
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
        told: workload.told.clone(),
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
        (false, false) => return "no I/O of its own".to_owned(),
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
