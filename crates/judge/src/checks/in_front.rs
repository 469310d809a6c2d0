//! `backlogged` by events in the kernel: whether requests of a group waited for a place in front of the
//! scheduler. Submission blocks there (io_submit(2)), so that a program with one thread has no more outstanding
//! than BFQ lets its group hold, and looks by its latencies as if it asked for no more.

use assay_blame::{DiskAnswer, Verdict};
use assay_facts::Available;
use assay_run_folder::TrialRecord;

use crate::repeat::{COVERS, Repeat, is_part};

/// The part of the time for which each of a group's submitters waited for a place, on average; `None` without valid
/// events of the disk with this device. A submitter that waits has nothing else to do, while a few waits of many
/// submitters, which may add up to one at all times, say nothing about the rest of their time.
pub(super) fn waiting(
    trial: &TrialRecord,
    repeat: &Repeat<'_>,
    device: &str,
    group: &str,
) -> Option<f64> {
    let evidence = repeat.evidence().ok()?;
    let Available::Value(disks) = &evidence.disks else { return None };
    let disk = disks.iter().find(|answer| answer.disk == device)?;
    let valid = disk.verdict == Verdict::Valid && disk.seconds >= COVERS * repeat.common_s();
    valid.then(|| of_group(disk, group) / submitters(trial, group))
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
fn of_group(disk: &DiskAnswer, group: &str) -> f64 {
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
            (1..=8).map(|number| of_group(disk, &format!("task{number}"))).collect();
        let [lightest, .., heaviest] = &waiting[..] else { panic!() };
        assert!(*lightest > 0.5 && *heaviest < 0.05, "{waiting:?}");
        assert_eq!(of_group(disk, "task"), 0.0, "a name that only begins alike");
    }
}
