//! The rows of a run in all tables except `samples`.

use assay_judge::verdict::{Judgement, PromiseJudgement};
use assay_record::run_folder::{Manifest, WorkloadResult};
use assay_sys::exit::Error;
use serde_json::Value;

use crate::export::cell::{Cell, Sink};

/// A run with its name.
pub(crate) struct NamedRun<'r> {
    pub(crate) name: &'r str,
    pub(crate) manifest: &'r Manifest,
    /// `None` for a recording, which has no promises.
    pub(crate) judgement: Option<&'r Judgement>,
}

/// Writes the row in `runs`.
pub(crate) fn run(run: &NamedRun<'_>, sink: &mut dyn Sink) -> Result<(), Error> {
    let manifest = run.manifest;
    let host = &manifest.host;
    sink.row(&[
        Cell::Text(run.name),
        Cell::Text(&manifest.study),
        Cell::Text(&manifest.title),
        Cell::Text(&manifest.started_at),
        Cell::Text(&host.host_name),
        Cell::Text(&host.kernel),
        Cell::Text(&host.cpus.model),
        Cell::whole(host.cpus.allowed.len()),
        Cell::Whole(host.memory.get()),
        Cell::text(manifest.guest.as_ref().map(|guest| guest.kernel.as_str())),
        Cell::Text(&manifest.assay),
        Cell::Whole(manifest.seed),
        Cell::text(run.judgement.map(|judgement| judgement.verdict.word())),
        Cell::flag(manifest.restored),
        Cell::text(manifest.ended_early.as_deref()),
    ])
}

/// Writes the rows in `trials`.
pub(crate) fn trials(run: &NamedRun<'_>, sink: &mut dyn Sink) -> Result<(), Error> {
    for (number, trial) in run.manifest.trials.iter().enumerate() {
        let judged = run.judgement.and_then(|judgement| judgement.trials.get(number));
        let mut row = |factor: Option<&str>, level: Option<&Value>| {
            let text = level.map(|level| match level {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            sink.row(&[
                Cell::Text(run.name),
                Cell::whole(number),
                Cell::text(factor),
                Cell::text(text.as_deref()),
                Cell::number(level.and_then(Value::as_f64)),
                Cell::text(judged.map(|judged| judged.verdict.word())),
                judged.map_or(Cell::None, |judged| Cell::whole(judged.repeats)),
                Cell::number(judged.map(|judged| judged.window_s)),
                Cell::number(judged.map(|judged| judged.warm_up_s)),
                Cell::number(judged.map(|judged| judged.observer_cpu)),
            ])
        };
        if trial.factors.is_empty() {
            row(None, None)?;
        }
        for (factor, level) in &trial.factors {
            row(Some(factor), Some(level))?;
        }
    }
    Ok(())
}

/// Writes the rows in `promises`.
pub(crate) fn promises(run: &NamedRun<'_>, sink: &mut dyn Sink) -> Result<(), Error> {
    let trials = run.judgement.map_or(&[][..], |judgement| &judgement.trials);
    for (number, trial) in trials.iter().enumerate() {
        for (index, promise) in trial.promises.iter().enumerate() {
            promise_rows(run, number, (index, promise), sink)?;
        }
    }
    Ok(())
}

fn promise_rows(
    run: &NamedRun<'_>,
    number: usize,
    (index, promise): (usize, &PromiseJudgement),
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let worst = promise.worst_error;
    let common = [
        Cell::Text(run.name),
        Cell::whole(number),
        Cell::whole(index),
        Cell::Text(&promise.measure),
        Cell::Text(&promise.is),
        Cell::text(promise.to.as_deref()),
        Cell::number(promise.within),
        Cell::Text(promise.verdict.word()),
        Cell::number(worst.map(|worst| worst.value)),
        Cell::number(worst.map(|worst| worst.low)),
        Cell::number(worst.map(|worst| worst.high)),
        Cell::number(promise.total_rate),
    ];
    if promise.groups.is_empty() {
        return sink.row(&[&common[..], &[Cell::None; 8]].concat());
    }
    for group in &promise.groups {
        let own = [
            Cell::Text(&group.name),
            Cell::number(group.knob),
            Cell::number(group.expected_share),
            Cell::number(group.share),
            Cell::number(group.low),
            Cell::number(group.high),
            Cell::number(group.rate),
            Cell::Text(group.verdict.word()),
        ];
        sink.row(&[&common[..], &own[..]].concat())?;
    }
    Ok(())
}

/// Writes the rows in `workloads`.
pub(crate) fn workloads(run: &NamedRun<'_>, sink: &mut dyn Sink) -> Result<(), Error> {
    for (trial, record) in run.manifest.trials.iter().enumerate() {
        for (repeat, record) in record.repeats.iter().enumerate() {
            for result in &record.workloads {
                workload_rows(run.name, (trial, repeat), result, sink)?;
            }
        }
    }
    Ok(())
}

fn workload_rows(
    run: &str,
    (trial, repeat): (usize, usize),
    result: &WorkloadResult,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut row = |metric: &str, value: Option<f64>, why: Option<&str>| {
        sink.row(&[
            Cell::Text(run),
            Cell::whole(trial),
            Cell::whole(repeat),
            Cell::Text(&result.group),
            Cell::Text(&result.workload),
            Cell::Text(metric),
            Cell::number(value),
            Cell::text(why),
        ])
    };
    for (metric, value) in &result.metrics {
        row(metric, Some(*value), None)?;
    }
    for (direction, latency) in &result.latency {
        row(&format!("{direction}_mean_ns"), Some(latency.mean_ns), None)?;
        for (percentile, value) in &latency.percentiles_ns {
            row(&format!("{direction}_p{percentile}_ns"), Some(*value), None)?;
        }
    }
    if let Some(seconds) = result.runtime_s {
        row("runtime_s", Some(seconds), None)?;
    }
    for (metric, why) in &result.not_available {
        row(metric, None, Some(why))?;
    }
    Ok(())
}
