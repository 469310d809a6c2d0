//! Readings of a group's CPU time on the clock of its own wish: the time in which it wanted to run.

use assay_stats::progress::Reading;
use assay_stats::{Series, series};

use crate::repeat::Repeat;
use crate::subject::Subject;

/// The kind of workload whose threads never sleep.
const NEVER_SLEEPS: &str = "spin";

/// The group's CPU time at each sample of the judged window. `at_s` is the time for which it wanted to
/// run until then: it ran, or a task of it waited for a CPU (`cpu.pressure`, on v2, for a group that
/// can use one CPU), or all of the time where its workloads never sleep. The error says why that is
/// not known.
pub(super) fn readings(
    subject: &Subject<'_>,
    repeat: &Repeat<'_>,
    group: &str,
    cpus: f64,
) -> Result<Vec<Reading>, String> {
    let used = series::monotone(group, repeat.table("cpu")?.sum(group, &["usage_ns"])?)?;
    let inside = |(at, _): &&(u64, f64)| (repeat.start_ns..=repeat.end_ns).contains(at);
    let used: Series = used.iter().filter(inside).copied().collect();
    if used.len() < 2 {
        return Err(format!("there are fewer than two samples of `{group}` in the window"));
    }
    if never_sleeps(subject, group) {
        let reading =
            |(at, used): (u64, f64)| Reading { at_s: at as f64 * 1e-9, used_s: used * 1e-9 };
        return Ok(used.into_iter().map(reading).collect());
    }
    by_one_cpu(group, cpus)?;
    let waited = waited(repeat, group)?;
    let mut readings: Vec<Reading> = Vec::with_capacity(used.len());
    let mut before: Option<(u64, f64, f64)> = None;
    let mut wanted_s = 0.0;
    for (at, used_ns) in used {
        let Some(waited_us) = series::at(&waited, at) else { continue };
        let (used_s, waited_s) = (used_ns * 1e-9, waited_us * 1e-6);
        if let Some((then, used_then, waited_then)) = before {
            let length = (at - then) as f64 * 1e-9;
            // Tasks may wait while others of the group run: both together are at most the whole time.
            let wanted = waited_s - waited_then + (used_s - used_then) / cpus;
            wanted_s += wanted.clamp(0.0, length);
        }
        before = Some((at, used_s, waited_s));
        readings.push(Reading { at_s: wanted_s, used_s });
    }
    if readings.len() < 2 {
        return Err(format!("the samples of the pressure on `{group}` do not cover the window"));
    }
    Ok(readings)
}

/// Whether no workload of the group ever sleeps.
fn never_sleeps(subject: &Subject<'_>, group: &str) -> bool {
    let mut groups = subject.trial.groups.iter();
    groups.find(|record| record.name == group).is_some_and(|record| {
        !record.workloads.is_empty()
            && record.workloads.iter().all(|workload| workload.tool == NEVER_SLEEPS)
    })
}

/// The kernel's total is a mean over CPUs, weighted by how long each had something to do for the group
/// (collect_percpu_times, kernel/sched/psi.c): a wait on one of several counts only in part, and would
/// be taken for sleep.
fn by_one_cpu(group: &str, cpus: f64) -> Result<(), String> {
    match cpus > 1.0 {
        false => Ok(()),
        true => Err(format!(
            "whether `{group}` wanted to run is not known: its workload may sleep, and the pressure of \
             a group that can use {cpus:.0} CPUs does not tell how long it waited for each"
        )),
    }
}

/// Microseconds for which some task of the group waited for a CPU.
fn waited(repeat: &Repeat<'_>, group: &str) -> Result<Series, String> {
    let found = repeat.table("pressure").and_then(|table| table.sum(group, &["cpu_some_us"]));
    found.map_err(|why| {
        format!(
            "whether `{group}` wanted to run is not known: its workload may sleep, and how long it \
             waited for a CPU was not recorded ({why})"
        )
    })
}
