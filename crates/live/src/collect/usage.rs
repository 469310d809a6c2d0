//! What groups use by their own counters: all that an ordinary user, or a kernel that refuses eBPF, may be asked.

use std::path::{Path, PathBuf};

use assay_audit::collect::read::{keyed, number, text};
use assay_audit::snapshot::Hierarchy;
use assay_audit::{Snapshot, WeightSetting, cpu_weights, fair_part};
use assay_sys::kernel::{Root, counters};

use crate::fairness::{UsageCounts, UsageLevel, usage_levels};

/// Groups that are read at most.
const MOST: usize = 4096;

/// Groups with weights and their counters at the start.
pub(super) struct Usage {
    root: Root,
    /// Where the counters are, and whether that is cgroup2.
    counted: Option<(PathBuf, bool)>,
    settings: Vec<WeightSetting>,
    start: Vec<UsageCounts>,
    /// How many groups there are beyond [`MOST`].
    pub(super) left_out: usize,
}

impl Usage {
    /// `start` says where the groups are, `settings` what they were told.
    pub(super) fn start(root: &Root, start: &Snapshot, settings: &Snapshot) -> Self {
        let (settings, left_out) =
            fair_part(settings, cpu_weights(settings), MOST, |one| &one.group);
        let mut usage = Self {
            root: root.clone(),
            counted: counted(start),
            settings,
            start: Vec::new(),
            left_out,
        };
        usage.start = usage.read();
        usage
    }

    /// What the groups used since.
    pub(super) fn levels(&self) -> Vec<UsageLevel> {
        usage_levels(&self.settings, &self.start, &self.read())
    }

    fn read(&self) -> Vec<UsageCounts> {
        let Some((mount, is_v2)) = &self.counted else { return Vec::new() };
        let directory = |one: &WeightSetting| mount.join(one.group.trim_start_matches('/'));
        self.settings.iter().map(|one| self.counts(&directory(one), *is_v2)).collect()
    }

    fn counts(&self, group: &Path, is_v2: bool) -> UsageCounts {
        let root = &self.root;
        if !is_v2 {
            let used: Option<u64> = number(root, group.join("cpuacct.usage"));
            return UsageCounts { used_s: used.map(|ns| ns as f64 * 1e-9), waited_s: None };
        }
        let used = keyed(root, group.join("cpu.stat"), "usage_usec");
        let waited = text(root, group.join("cpu.pressure"));
        let waited = waited.and_then(|text| counters::pressure(text.as_bytes(), "some"));
        let seconds = |micros: Option<u64>| micros.map(|micros| micros as f64 * 1e-6);
        UsageCounts { used_s: seconds(used), waited_s: seconds(waited) }
    }
}

/// The hierarchy whose groups count CPU time: that of `cpu` on cgroup2, that of `cpuacct` on v1.
fn counted(snapshot: &Snapshot) -> Option<(PathBuf, bool)> {
    let has = |one: &&Hierarchy, name: &str| one.controllers.iter().any(|own| own == name);
    let mut all = snapshot.hierarchies.iter();
    let v2 = all.find(|one| one.is_v2 && has(one, "cpu"));
    let v1 = || snapshot.hierarchies.iter().find(|one| !one.is_v2 && has(one, "cpuacct"));
    v2.or_else(v1).map(|one| (one.mount.clone(), one.is_v2))
}

#[cfg(test)]
mod tests {
    use assay_audit::collect::take_snapshot;
    use assay_test_support::put;

    use super::*;

    #[test]
    fn counters_of_cgroup2_and_pressure_are_read() {
        let tree = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| put(tree.path(), path, text);
        file("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        file("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t3\t1\n");
        file("sys/fs/cgroup/cgroup.controllers", "cpu\n");
        let counters = |name: &str, used: u64, waited: u64| {
            let group = format!("sys/fs/cgroup/{name}");
            file(&format!("{group}/cgroup.controllers"), "cpu\n");
            file(&format!("{group}/cpu.weight"), "100\n");
            file(&format!("{group}/cpu.stat"), &format!("usage_usec {used}\nuser_usec 0\n"));
            let pressure = format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={waited}\n");
            file(&format!("{group}/cpu.pressure"), &pressure);
        };
        let both = |factor: u64| {
            counters("a", 1_000_000 * factor, 500_000 * factor);
            counters("b", 3_000_000 * factor, 0);
        };
        both(1);
        let root = Root::at(tree.path());
        let snapshot = take_snapshot(&root).unwrap();
        let usage = Usage::start(&root, &snapshot, &snapshot);
        assert!(usage.levels().is_empty(), "nothing has run");
        both(2);
        let levels = usage.levels();
        let rows: Vec<(&str, f64, f64, Option<f64>)> = levels[0]
            .rows
            .iter()
            .map(|row| (row.group.as_str(), row.used_s, row.part, row.waited_s))
            .collect();
        assert_eq!(rows, [("/a", 1.0, 0.25, Some(0.5)), ("/b", 3.0, 0.75, Some(0.0))]);
    }
}
