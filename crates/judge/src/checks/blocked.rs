//! `backlogged` by what the threads of a workload did: one that does nothing but keep its requests outstanding waits for these,
//! or for a place for the next one, whenever it neither runs nor waits for a CPU.
//!
//! Latencies do not show that of a starved group: they are those of completed requests, and one that waits for seconds completes
//! after the window, or its thread sleeps in io_submit(2) with a part of its requests not submitted.

use std::collections::HashMap;

use assay_blame::{Answer, DiskAnswer, DiskGroup, OTHER_GROUPS, Verdict};
use assay_host::facts::Available;
use assay_record::run_folder::TrialRecord;
use assay_record::run_folder::sorted::Sorted;

use crate::repeat::{COVERS, Repeat, is_part};

/// A thread that always waits for the disk has one request or more on their way. Seen are fewer: a wait for a place that is not
/// over at the end is missing, and a starved group waits for seconds (0.67 were seen).
const ON_ITS_WAY: f64 = 0.5;

/// A thread whose last row is older than this has slept since, or been kept from running.
const RECENT_NS: u64 = 500_000_000;

/// The part of the time in which every thread of the group waited for its requests or for a place, at least; `None` where a
/// workload may pause by itself, where it is not known how long its threads ran and waited for a CPU, or where the disk had no
/// requests of it for which they may have waited.
pub(super) fn at_least<'r: 's, 's>(
    trial: &TrialRecord,
    repeat: &Repeat<'_>,
    samples: impl FnOnce() -> &'s Busiest<'r>,
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
    let busy = by_events(repeat, group).or_else(|| samples().of(group))?;
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
    (disk.verdict == Verdict::Valid && repeat.is_covered_by(disk.seconds))
        .then_some(all >= ON_ITS_WAY * groups as f64)
}

/// The mean number of requests of a group that waited for a place or were in the plug, the scheduler or the device.
fn on_their_way(disk: &DiskAnswer, group: &DiskGroup) -> f64 {
    let seconds = disk.seconds.max(f64::MIN_POSITIVE);
    let outside = (group.place.ns + group.plugged.ns) as f64 * 1e-9 / seconds;
    outside + group.mean_queued + group.mean_in_device
}

/// How many threads of the group ran or waited for a CPU on average, by events: no thread did for longer.
fn by_events(repeat: &Repeat<'_>, group: &str) -> Option<f64> {
    let Available::Value(answers) = &repeat.evidence().ok()?.cpu else { return None };
    let busy = |answer: &Answer| {
        let ran: Option<u64> = answer.cpus.iter().map(|cpu| cpu.ran_ns).sum();
        // Where the two differ, the parts are in doubt, and not that there was no more.
        let waited = answer.waited_ns.max(answer.run_delay_ns) + answer.events.dropped_ns;
        // What events do not cover may have been spent so.
        let unseen = (repeat.common_s() - answer.seconds).max(0.0) / repeat.common_s();
        let all = (waited + ran?) as f64 * 1e-9 / answer.seconds + unseen;
        repeat.is_covered_by(answer.seconds).then_some(all)
    };
    let mut own = answers.iter().filter(|answer| is_part(&answer.target, group)).peekable();
    own.peek()?;
    own.map(busy).sum()
}

/// The part of the time for which the busiest thread of each group ran or waited for a CPU, by the samples of each thread
/// (`GROUP:COMMAND:PID:TID`), which has a row whenever it has run; `None` of a group of which not all threads are known.
#[derive(Debug, Default)]
pub(super) struct Busiest<'r>(HashMap<&'r str, Option<f64>>);

impl<'r> Busiest<'r> {
    /// All groups at once: the samples are many.
    pub(super) fn new(repeat: &Repeat<'r>) -> Self {
        let missing = &repeat.record.not_available;
        let seconds = repeat.end_ns.saturating_sub(repeat.start_ns) as f64 * 1e-9;
        let is_whole =
            !["threads", "threads.beyond"].iter().any(|source| missing.contains_key(*source));
        let table = repeat.table("threads").ok().filter(|_| is_whole && seconds > 0.0);
        let Some(table) = table else { return Self::default() };
        let mut of_groups = HashMap::new();
        for (subject, name) in table.subjects().iter().enumerate() {
            let busy = of_thread(repeat, &table, subject).map(|ns| ns / seconds * 1e-9);
            let most = of_groups.entry(name.split(':').next().unwrap_or(name)).or_insert(Some(0.0));
            *most = most.zip(busy).map(|(most, busy): (f64, f64)| most.max(busy));
        }
        Self(of_groups)
    }

    fn of(&self, group: &str) -> Option<f64> {
        let mut own = self.0.iter().filter(|(name, _)| is_part(name, group)).peekable();
        own.peek()?;
        own.try_fold(0.0, |most: f64, (_, busy)| Some(most.max((*busy)?)))
    }
}

/// For how many nanoseconds a thread ran or waited for a CPU; `None` where it ended, or may have waited since its last row.
fn of_thread(repeat: &Repeat<'_>, table: &Sorted<'_>, subject: usize) -> Option<f64> {
    let [state, ran, waited] =
        ["state", "run_ns", "wait_ns"].map(|column| table.series(subject, column));
    let until = |series: &[(u64, f64)], time: u64| {
        let after = series.partition_point(|(at, _)| *at <= time);
        series.get(after.saturating_sub(1)).copied()
    };
    let spent = |series: &[(u64, f64)]| {
        let (start, end) = (until(series, repeat.start_ns)?, until(series, repeat.end_ns)?);
        Some((end.1 - start.1).max(0.0))
    };
    let (at, state) = until(&state, repeat.end_ns)?;
    let is = |letter: u8| state == f64::from(letter);
    // What starts the workload, or prepares it.
    if is(b'X') && at <= repeat.start_ns {
        return Some(0.0);
    }
    let runs = is(b'R') && repeat.end_ns.saturating_sub(at) <= RECENT_NS;
    (is(b'S') || is(b'D') || runs).then_some(spent(&ran)? + spent(&waited)?)
}

// `backlogged` by events in the kernel: whether requests of a group waited for a place in front of the
// scheduler. Submission blocks there (io_submit(2)), so that a program with one thread has no more outstanding
// than BFQ lets its group hold, and looks by its latencies as if it asked for no more.

/// The part of the time for which each of a group's submitters waited for a place, on average; `None` without valid
/// events of the disk with this device. A submitter that waits has nothing else to do, while a few waits of many
/// submitters, which may add up to one at all times, say nothing about the rest of their time.
pub(super) fn in_front(
    trial: &TrialRecord,
    repeat: &Repeat<'_>,
    device: &str,
    group: &str,
) -> Option<f64> {
    let evidence = repeat.evidence().ok()?;
    let Available::Value(disks) = &evidence.disks else { return None };
    let disk = disks.iter().find(|answer| answer.disk == device)?;
    let valid = disk.verdict == Verdict::Valid && disk.seconds >= COVERS * repeat.common_s();
    valid.then(|| waiting_in_front(disk, group) / submitters(trial, group))
}

/// Threads that may wait for a place at once. Where they are not known, no more than requests outstanding.
fn submitters(trial: &TrialRecord, group: &str) -> f64 {
    let groups = trial.groups.iter().filter(|part| is_part(&part.name, group));
    let threads = groups
        .flat_map(|part| &part.workloads)
        .map(|workload| workload.threads.or(workload.io.outstanding).unwrap_or(1).max(1));
    threads.map(f64::from).sum::<f64>().max(1.0)
}

/// The mean number of requests that waited because the pool was full or the group at its cap: a group's own, and those
/// of the groups inside it. Waits for another reason do not show that the scheduler held them back.
fn waiting_in_front(disk: &DiskAnswer, group: &str) -> f64 {
    let parts = disk.groups.iter().filter(|part| is_part(&part.group, group));
    let waited: u64 = parts.map(|part| part.place.pool_full_ns + part.place.own_cap_ns).sum();
    waited as f64 * 1e-9 / disk.seconds.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use assay_blame::Evidence;

    use super::*;

    #[test]
    fn groups_at_their_cap_wait_and_those_below_it_do_not() {
        let text = include_str!("../../tests/evidence/tag-cap.json");
        let evidence: Evidence = serde_json::from_str(text).unwrap();
        let disk = &evidence.disks.value().unwrap()[0];
        let waiting: Vec<f64> =
            (1..=8).map(|number| waiting_in_front(disk, &format!("task{number}"))).collect();
        let [lightest, .., heaviest] = &waiting[..] else { panic!() };
        assert!(*lightest > 0.5 && *heaviest < 0.05, "{waiting:?}");
        assert_eq!(waiting_in_front(disk, "task"), 0.0, "a name that only begins alike");
    }
}
