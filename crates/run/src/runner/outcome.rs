//! Results of workloads, and faults of a repeat that follow from them.

use std::collections::BTreeMap;

use assay_host::cgroup::Tree;
use assay_record::run_folder::{FULL_DISK, Fault, RepeatRecord, WorkloadResult};
use assay_study::plan::{ToolPlan, Trial};
use assay_study::workload::fio::parse_output;
use assay_study::workload::{CapturedOutput, Output, excerpt};

use crate::runner::processes::Process;

/// The metrics reported by a workload, and how it ended.
pub(crate) fn result(process: &Process) -> WorkloadResult {
    let (output, messages) = process.printed();
    let read = match &process.tool {
        ToolPlan::Fio(_) => {
            parse_output(&output).map(Output::from).map_err(|error| error.to_string())
        }
        ToolPlan::Invocation(call) => {
            call.parse_output(&CapturedOutput { stdout: &output, stderr: &messages })
        }
    };
    let blank = WorkloadResult {
        workload: process.workload.clone(),
        group: process.group.clone(),
        log: process.log.clone(),
        began_ns: process.began_ns,
        ended_ns: process.ended_ns,
        ..WorkloadResult::default()
    };
    let last_line = messages.trim().lines().last().map(|line| excerpt(line).to_owned());
    let ended = process.has_failed().then(|| match (&process.ended, last_line) {
        (Some(ended), Some(last_line)) => format!("{ended}; last output: {last_line}"),
        (ended, _) => ended.clone().unwrap_or_default(),
    });
    match (read, ended) {
        (Ok(output), ended) => WorkloadResult {
            failure: output.failure.or(ended),
            runtime_s: output.runtime_s,
            metrics: output.metrics,
            not_available: output.not_available,
            latency: output.latency,
            phases: output.phases,
            curves: output.curves,
            findings: output.findings,
            ..blank
        },
        (Err(_), Some(ended)) => WorkloadResult { failure: Some(ended), ..blank },
        (Err(_), None) if was_cut_off(process) => WorkloadResult {
            findings: vec![
                "it had not finished when the window ended, and reports metrics only at its \
                 end"
                .to_owned(),
            ],
            ..blank
        },
        (Err(error), None) => WorkloadResult { failure: Some(error), ..blank },
    }
}

/// Whether it reports metrics only at its end, which it did not reach.
fn was_cut_off(process: &Process) -> bool {
    let only_at_the_end =
        matches!(&process.tool, ToolPlan::Invocation(call) if !call.reports_on_sigint);
    process.was_stopped && only_at_the_end
}

/// The result of a workload that was never started.
pub(crate) fn not_started(workload: &str, group: &str, why: &str) -> WorkloadResult {
    WorkloadResult {
        workload: workload.to_owned(),
        group: group.to_owned(),
        failure: Some(format!("was not started: {why}")),
        ..WorkloadResult::default()
    }
}

/// The kernel's counters of memory limits in each group, by the kernel's names. cgroup v1 counts OOM kills
/// since 4.13 (Documentation/admin-guide/cgroup-v1/memory.rst, 10. OOM Control).
pub(crate) fn memory_events(tree: &Tree, trial: &Trial) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut all = BTreeMap::new();
    for group in &trial.groups {
        if tree.directory(&group.name, "memory").is_none() {
            continue;
        }
        let read = |file: &str| tree.read(&group.name, "memory", file).unwrap_or_default();
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for file in ["memory.events", "memory.oom_control"] {
            let text = read(file);
            let pairs = text.lines().filter_map(|line| line.split_once(' '));
            counted.extend(
                pairs.filter_map(|(name, value)| {
                    Some((name.to_owned(), value.trim().parse().ok()?))
                }),
            );
        }
        if let Ok(count) = read("memory.failcnt").parse() {
            counted.insert("failcnt".to_owned(), count);
        }
        if !counted.is_empty() {
            all.insert(group.name.clone(), counted);
        }
    }
    all
}

/// Marks the repeat as faulty if a workload failed, unless it has a more serious fault. The repeat keeps its
/// data: other groups can still be judged. A kill for lack of memory is a fault of its own, not a failure of
/// the workload.
pub(crate) fn note_failures(record: &mut RepeatRecord) {
    if record.fault.is_some() {
        return;
    }
    let killed = record.memory_events.iter().find_map(|(group, counted)| {
        let kills = counted.get("oom_kill").copied().filter(|kills| *kills > 0)?;
        Some(format!(
            "the kernel killed {kills} {} of `{group}` for want of memory",
            if kills == 1 { "process" } else { "processes" }
        ))
    });
    let results = record.preparations.iter().chain(&record.workloads);
    let failures: Vec<(&WorkloadResult, &String)> =
        results.filter_map(|workload| Some((workload, workload.failure.as_ref()?))).collect();
    // The others fail because of it, in their own words.
    let full = failures.iter().find(|(_, failure)| is_of_a_full_disk(failure));
    let failed = full.or_else(|| failures.first()).map(|(workload, failure)| {
        format!(
            "workload `{}` failed: {failure}{}",
            workload.workload,
            match workload.log.as_str() {
                "" => String::new(),
                log => format!("; its output is in {log}"),
            }
        )
    });
    let fault = |kind: &str, message| Fault { kind: kind.to_owned(), message };
    if let (None, Some(_), Some(failed)) = (&killed, full, &failed) {
        let message = format!(
            "the disk of the study is full ({} of its workloads failed): give it a larger `size`, or let them write \
             less; {failed}",
            failures.len()
        );
        record.fault = Some(fault(FULL_DISK, message));
        return;
    }
    record.fault = match (killed, failed) {
        (Some(message), Some(failed)) => Some(fault("oom", format!("{message}; {failed}"))),
        (Some(message), None) => Some(fault("oom", message)),
        (None, failed) => failed.map(|message| fault("workload", message)),
    };
}

/// Whether a program failed with ENOSPC: in the words of strerror(3), or of our own generators.
fn is_of_a_full_disk(failure: &str) -> bool {
    ["No space left on device", "the disk is full"].iter().any(|words| failure.contains(words))
}

#[cfg(test)]
mod tests;
