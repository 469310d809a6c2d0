//! `backlogged` by events in the kernel: whether requests of a group waited for a place in front of the
//! scheduler. Submission blocks there (io_submit(2)), so that a program with one thread has no more outstanding
//! than BFQ lets its group hold, and looks by its latencies as if it asked for no more.

use assay_blame::{DiskAnswer, Verdict};
use assay_facts::Available;

use crate::repeat::Repeat;

/// The events and the window are to be so much of the same seconds.
const COVERS: f64 = 0.8;

/// The mean number of requests of a group that waited for a place; `None` without valid events of the disk with this
/// device.
pub(super) fn waiting(repeat: &Repeat<'_>, device: &str, group: &str) -> Option<f64> {
    let evidence = repeat.evidence().ok()?;
    let Available::Value(disks) = &evidence.disks else { return None };
    let disk = disks.iter().find(|answer| answer.disk == device)?;
    let window = repeat.end_ns.saturating_sub(repeat.record.all_released_ns) as f64 * 1e-9;
    let valid = disk.verdict == Verdict::Valid && disk.seconds >= COVERS * window;
    valid.then(|| of_group(disk, group))
}

/// A group's own requests, and those of the groups inside it.
fn of_group(disk: &DiskAnswer, group: &str) -> f64 {
    let is_part = |name: &str| {
        name.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let parts = disk.groups.iter().filter(|part| is_part(&part.group));
    let waited: u64 = parts
        .map(|part| part.place.pool_full_ns + part.place.own_cap_ns + part.place.other_ns)
        .sum();
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
