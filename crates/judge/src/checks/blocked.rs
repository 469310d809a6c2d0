//! `backlogged` by what the threads of a workload did: one that does nothing but keep its requests outstanding waits for these,
//! or for a place for the next one, whenever it neither runs nor waits for a CPU.
//!
//! Latencies do not show that of a starved group: they are those of completed requests, and one that waits for seconds completes
//! after the window, or its thread sleeps in io_submit(2) with a part of its requests not submitted.

use assay_blame::Answer;
use assay_facts::Available;
use assay_run_folder::TrialRecord;

use super::in_front::{COVERS, is_part};
use crate::repeat::Repeat;

/// The part of the time in which every thread of the group waited for its requests or for a place, at least; `None` where a
/// workload may pause by itself, or where it is not known how long its threads ran and waited for a CPU.
pub(super) fn at_least(trial: &TrialRecord, repeat: &Repeat<'_>, group: &str) -> Option<f64> {
    let groups = trial.groups.iter().filter(|part| is_part(&part.name, group));
    let mut workloads = groups.flat_map(|part| &part.workloads).peekable();
    workloads.peek()?;
    if !workloads.all(|workload| workload.io.closed_loop == Some(true)) {
        return None;
    }
    let busy = by_events(repeat, group).or_else(|| by_samples(repeat, group))?;
    Some((1.0 - busy).max(0.0))
}

/// How many threads of the group ran or waited for a CPU on average, by events: no thread did for longer.
fn by_events(repeat: &Repeat<'_>, group: &str) -> Option<f64> {
    let evidence = repeat.evidence().ok()?;
    let Available::Value(answers) = &evidence.cpu else { return None };
    let window = repeat.end_ns.saturating_sub(repeat.record.all_released_ns) as f64 * 1e-9;
    let busy = |answer: &Answer| {
        let ran: Option<u64> = answer.cpus.iter().map(|cpu| cpu.ran_ns).sum();
        // Where the two differ, the parts are in doubt, and not that there was no more.
        let waited = answer.waited_ns.max(answer.run_delay_ns);
        let covers = answer.seconds >= COVERS * window;
        Some((waited + ran?) as f64 * 1e-9 / answer.seconds).filter(|_| covers)
    };
    let mut own = answers.iter().filter(|answer| is_part(&answer.target, group)).peekable();
    own.peek()?;
    own.map(busy).sum()
}

/// The same by the samples of each thread (`GROUP:COMMAND:PID:TID`), which has a row whenever it has run.
fn by_samples(repeat: &Repeat<'_>, group: &str) -> Option<f64> {
    let table = repeat.table("threads").ok()?;
    let names = &repeat.tables.iter().find(|table| table.source == "threads")?.subjects;
    let is_own = |name: &&String| name.split(':').next().is_some_and(|own| is_part(own, group));
    let mut own = names.iter().filter(is_own).peekable();
    own.peek()?;
    let (from, to) = (repeat.start_ns, repeat.end_ns);
    let busy = |name: &String| {
        // A single row is a thread that slept throughout.
        let Ok(series) = table.sum(name, &["run_ns", "wait_ns"]) else { return 0.0 };
        let until = |time: u64| {
            let before = series.iter().take_while(|(at, _)| *at <= time).last();
            before.or(series.first()).map_or(0.0, |(_, value)| *value)
        };
        (until(to) - until(from)).max(0.0)
    };
    let seconds = to.saturating_sub(from) as f64 * 1e-9;
    (seconds > 0.0).then(|| own.map(busy).sum::<f64>() * 1e-9 / seconds)
}
