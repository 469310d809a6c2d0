//! `backlogged` by what the threads of a workload did: one that does nothing but keep its requests outstanding waits for these,
//! or for a place for the next one, whenever it neither runs nor waits for a CPU.
//!
//! Latencies do not show that of a starved group: they are those of completed requests, and one that waits for seconds completes
//! after the window, or its thread sleeps in io_submit(2) with a part of its requests not submitted.

use assay_blame::{Answer, DiskAnswer, DiskGroup, OTHER_GROUPS, Verdict};
use assay_facts::Available;
use assay_run_folder::{Table, TrialRecord};

use super::in_front::{COVERS, is_part};
use crate::repeat::Repeat;

/// A thread that always waits for the disk has one request or more on their way. Seen are fewer: a wait for a place that is not
/// over at the end is missing, and a starved group waits for seconds (0.67 were seen).
const ON_ITS_WAY: f64 = 0.5;

/// The warm-up may be so much of what events cover.
const MOST_WARM_UP: f64 = 0.25;

/// A thread whose last row is older than this has slept since, or been kept from running.
const RECENT_NS: u64 = 500_000_000;

/// The part of the time in which every thread of the group waited for its requests or for a place, at least; `None` where a
/// workload may pause by itself, where it is not known how long its threads ran and waited for a CPU, or where the disk had no
/// requests of it for which they may have waited.
pub(super) fn at_least(
    trial: &TrialRecord,
    repeat: &Repeat<'_>,
    device: &str,
    group: &str,
) -> Option<f64> {
    let groups = trial.groups.iter().filter(|part| is_part(&part.name, group));
    let mut workloads = groups.flat_map(|part| &part.workloads).peekable();
    workloads.peek()?;
    if !workloads.all(|workload| workload.io.closed_loop == Some(true))
        || !has_requests(trial, repeat, device, group)?
    {
        return None;
    }
    let (used_ns, seconds) = repeat.growth("cpu", group, &["usage_ns"]).ok()?;
    let busy = by_events(repeat, group).or_else(|| by_samples(repeat, group))?;
    // Switches that were not shown are missing in events, and no thread ran for longer than its group.
    Some((1.0 - busy.max(used_ns * 1e-9 / seconds)).max(0.0))
}

/// Whether requests of the group were on their way all the time, on average one or nearly so; `None` without valid events. Of
/// groups that events do not tell apart: all these together.
fn has_requests(
    trial: &TrialRecord,
    repeat: &Repeat<'_>,
    device: &str,
    group: &str,
) -> Option<bool> {
    let Available::Value(disks) = &repeat.evidence().ok()?.disks else { return None };
    let disk = disks.iter().find(|answer| answer.disk == device)?;
    let known = |name: &str| {
        let mut own = disk.groups.iter().filter(|part| is_part(&part.group, name));
        own.any(|part| part.requests > 0 || part.place.ns > 0)
    };
    let (name, groups) = match known(group) {
        true => (group, 1),
        false => {
            let unknown = trial.groups.iter().filter(|one| !one.workloads.is_empty());
            (OTHER_GROUPS, unknown.filter(|one| !known(&one.name)).count())
        }
    };
    let own = disk.groups.iter().filter(|part| is_part(&part.group, name));
    let all: f64 = own.map(|part| on_their_way(disk, part)).sum();
    (disk.verdict == Verdict::Valid && covers(repeat, disk.seconds))
        .then_some(all >= ON_ITS_WAY * groups as f64)
}

/// The mean number of requests of a group that waited for a place or were in the plug, the scheduler or the device.
fn on_their_way(disk: &DiskAnswer, group: &DiskGroup) -> f64 {
    let seconds = disk.seconds.max(f64::MIN_POSITIVE);
    let outside = (group.place.ns + group.plugged.ns) as f64 * 1e-9 / seconds;
    outside + group.mean_queued + group.mean_in_device
}

/// Whether events of so many seconds are about the judged ones.
fn covers(repeat: &Repeat<'_>, seconds: f64) -> bool {
    let window = window_s(repeat);
    seconds >= COVERS * window
        && seconds * COVERS <= window
        && repeat.warm_up_s <= MOST_WARM_UP * window
}

fn window_s(repeat: &Repeat<'_>) -> f64 {
    repeat.end_ns.saturating_sub(repeat.record.all_released_ns) as f64 * 1e-9
}

/// How many threads of the group ran or waited for a CPU on average, by events: no thread did for longer.
fn by_events(repeat: &Repeat<'_>, group: &str) -> Option<f64> {
    let Available::Value(answers) = &repeat.evidence().ok()?.cpu else { return None };
    let busy = |answer: &Answer| {
        let ran: Option<u64> = answer.cpus.iter().map(|cpu| cpu.ran_ns).sum();
        // Where the two differ, the parts are in doubt, and not that there was no more.
        let waited = answer.waited_ns.max(answer.run_delay_ns) + answer.events.dropped_ns;
        // What events do not cover may have been spent so.
        let unseen = (window_s(repeat) - answer.seconds).max(0.0) / window_s(repeat);
        let all = (waited + ran?) as f64 * 1e-9 / answer.seconds + unseen;
        covers(repeat, answer.seconds).then_some(all)
    };
    let mut own = answers.iter().filter(|answer| is_part(&answer.target, group)).peekable();
    own.peek()?;
    own.map(busy).sum()
}

/// The part of the time for which the busiest thread did, by the samples of each (`GROUP:COMMAND:PID:TID`), which has a row
/// whenever it has run; `None` unless they have all threads of the group.
fn by_samples(repeat: &Repeat<'_>, group: &str) -> Option<f64> {
    let missing = &repeat.record.not_available;
    if ["threads", "threads.beyond"].iter().any(|source| missing.contains_key(*source)) {
        return None;
    }
    let table = repeat.tables.iter().find(|table| table.source == "threads")?;
    let is_own = |name: &&String| name.split(':').next().is_some_and(|own| is_part(own, group));
    let mut own = table.subjects.iter().filter(is_own).peekable();
    own.peek()?;
    let seconds = repeat.end_ns.saturating_sub(repeat.start_ns) as f64 * 1e-9;
    let busiest =
        own.try_fold(0.0, |most: f64, name| Some(most.max(of_thread(repeat, table, name)?)));
    busiest.filter(|_| seconds > 0.0).map(|ns| ns / seconds * 1e-9)
}

/// For how many nanoseconds a thread ran or waited for a CPU; `None` where it ended, or may have waited since its last row.
fn of_thread(repeat: &Repeat<'_>, table: &Table, name: &str) -> Option<f64> {
    let until = |column: &str, time: u64| {
        let rows = || table.series(name, column);
        let before = rows().take_while(|(at, _)| *at <= time).last();
        before.or_else(|| rows().next())
    };
    let spent = |column: &str| {
        let ((_, start), (_, end)) =
            (until(column, repeat.start_ns)?, until(column, repeat.end_ns)?);
        Some(end.saturating_sub(start) as f64)
    };
    let (at, state) = until("state", repeat.end_ns)?;
    // What starts the workload, or prepares it.
    if state == u64::from(b'X') && at <= repeat.start_ns {
        return Some(0.0);
    }
    let sleeps = [b'S', b'D'].map(u64::from).contains(&state);
    let runs = state == u64::from(b'R') && repeat.end_ns.saturating_sub(at) <= RECENT_NS;
    (sleeps || runs).then_some(spent("run_ns")? + spent("wait_ns")?)
}
