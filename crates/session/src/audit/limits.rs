//! The counters of limits while a host is watched.

use std::path::{Path, PathBuf};

use assay_audit::snapshot::MAX_FILE;
use assay_audit::{DiskRate, LimitOf, LimitSetting, Snapshot, fair_part, limit_settings};
use assay_contention::{Counts, LimitRow, LimitWatch};
use assay_kernel::{Root, counters};

use super::memory_events::own_memory_events;

/// Limits that are watched at most: some files are read for each of them.
const MOST: usize = 2048;

/// Every limit of this host with its counters.
pub(super) struct Limits {
    root: Root,
    /// Where v1 counts CPU time.
    cpuacct: Option<PathBuf>,
    /// Whether `pids.events.local` counts what the limit of its own group refused.
    has_own_pids: bool,
    watches: Vec<LimitWatch>,
    /// How many there are beyond [`MOST`].
    left_out: usize,
}

impl Limits {
    pub(super) fn start(root: &Root, snapshot: &Snapshot, at_s: f64) -> Self {
        let (all, left_out) = fair_part(snapshot, limit_settings(snapshot), MOST, |one| &one.group);
        let cpuacct = snapshot
            .hierarchies
            .iter()
            .find(|one| !one.is_v2 && one.controllers.iter().any(|name| name == "cpuacct"));
        let cpuacct = cpuacct.map(|one| one.mount.clone());
        let mut options = snapshot.hierarchies.iter().flat_map(|one| &one.options);
        let has_own_pids = !options.any(|option| option == "pids_localevents");
        let watches = Vec::new();
        let mut limits = Self { root: root.clone(), cpuacct, has_own_pids, watches, left_out };
        let watches: Vec<LimitWatch> = all
            .into_iter()
            .map(|setting| {
                let counts = limits.counts(&setting);
                LimitWatch::new(setting, at_s, counts)
            })
            .collect();
        limits.watches = watches;
        limits
    }

    pub(super) fn look(&mut self, at_s: f64) {
        let mut watches = std::mem::take(&mut self.watches);
        for watch in &mut watches {
            let counts = self.counts(&watch.setting);
            watch.add(at_s, counts);
        }
        self.watches = watches;
    }

    pub(super) fn rows(&self) -> (Vec<LimitRow>, usize) {
        (self.watches.iter().map(LimitWatch::row).collect(), self.left_out)
    }

    fn counts(&self, setting: &LimitSetting) -> Counts {
        let group = Path::new(&setting.directory);
        match &setting.of {
            LimitOf::Cpu => self.of_cpu(setting, group),
            LimitOf::Memory if setting.is_v2 => Counts {
                hits: own_memory_events(&self.root, group, "max"),
                level: self.number(group, "memory.current"),
                ..Counts::default()
            },
            LimitOf::Memory => Counts {
                hits: self.number(group, "memory.failcnt").map(|hits| hits as u64),
                level: self.number(group, "memory.usage_in_bytes"),
                ..Counts::default()
            },
            LimitOf::MemoryHigh => Counts {
                hits: own_memory_events(&self.root, group, "high"),
                level: self.number(group, "memory.current"),
                ..Counts::default()
            },
            LimitOf::Pids => Counts {
                // Without it there is no counter: `pids.events` counts forks of this group that any limit refused, or, since
                // Linux 6.11, what all limits below refused too.
                hits: self.keyed(group, "pids.events.local", "max").filter(|_| self.has_own_pids),
                level: self.number(group, "pids.current"),
                ..Counts::default()
            },
            LimitOf::Disk(rate) => self.of_disk(setting, group, rate),
        }
    }

    fn of_cpu(&self, setting: &LimitSetting, group: &Path) -> Counts {
        let stat = |key| self.keyed(group, "cpu.stat", key);
        let (held_s, total) = if setting.is_v2 {
            let seconds = |key| stat(key).map(|us| us as f64 * 1e-6);
            (seconds("throttled_usec"), seconds("usage_usec"))
        } else {
            let usage = self.cpuacct.as_ref().and_then(|mount| {
                self.number(&mount.join(setting.group.trim_start_matches('/')), "cpuacct.usage")
            });
            (stat("throttled_time").map(|ns| ns as f64 * 1e-9), usage.map(|ns| ns * 1e-9))
        };
        Counts {
            hits: stat("nr_throttled"),
            periods: stat("nr_periods"),
            held_s,
            total,
            level: None,
        }
    }

    fn of_disk(&self, setting: &LimitSetting, group: &Path, rate: &DiskRate) -> Counts {
        let file = match (setting.is_v2, rate.is_bytes) {
            (true, _) => "io.stat",
            (false, true) => "blkio.throttle.io_service_bytes",
            (false, false) => "blkio.throttle.io_serviced",
        };
        let Some(text) = self.text(group, file) else { return Counts::default() };
        let both = match setting.is_v2 {
            false => counters::blkio(text.as_bytes(), &rate.device),
            true => {
                let (bytes, requests) = counters::io_stat(text.as_bytes(), &rate.device);
                if rate.is_bytes { bytes } else { requests }
            }
        };
        let total = if rate.is_read { both.read } else { both.write };
        Counts { total: Some(total as f64), ..Counts::default() }
    }

    fn text(&self, group: &Path, file: &str) -> Option<String> {
        self.root.read_at_most(group.join(file), MAX_FILE).ok()
    }

    fn number(&self, group: &Path, file: &str) -> Option<f64> {
        self.text(group, file)?.trim().parse().ok()
    }

    fn keyed(&self, group: &Path, file: &str, key: &str) -> Option<u64> {
        counters::keyed(self.text(group, file)?.as_bytes(), key)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_contention::LimitState;

    use super::*;
    use crate::audit::take_snapshot;

    /// What becomes of the only limit of `/p` between two moments, at each of which these files say something.
    fn state(options: &str, setting: (&str, &str), ends: [&[(&str, &str)]; 2]) -> LimitState {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let (kind, name) = options.split_once(' ').unwrap();
        write("proc/self/mountinfo", &format!("25 1 0:22 / /cg rw - {kind} {kind} {name}\n"));
        write("cg/cgroup.controllers", "memory pids\n");
        let group = |files: &[(&str, &str)]| {
            files.iter().for_each(|(file, text)| write(&format!("cg/p/{file}"), text));
        };
        group(&[setting]);
        group(ends[0]);
        let root = Root::at(tree.path());
        let mut limits = Limits::start(&root, &take_snapshot(&root).unwrap(), 0.0);
        group(ends[1]);
        limits.look(5.0);
        let (rows, _) = limits.rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows[0].state
    }

    const NONE: &str = "max 0\n";
    const SOME: &str = "max 5\n";

    #[test]
    fn a_limit_of_memory_is_bound_by_what_it_did_itself() {
        let becomes = |first: &[(&str, &str)], last: &[(&str, &str)]| {
            state("cgroup2 rw", ("memory.max", "8589934592\n"), [first, last])
        };
        let used = ("memory.current", "1073741824\n");
        let (all, own) = ("memory.events", "memory.events.local");
        let first = [used, (all, NONE), (own, NONE)];
        assert_eq!(becomes(&first, &[(all, SOME)]), LimitState::NeverNear, "a group below");
        assert_eq!(becomes(&first, &[(all, SOME), (own, SOME)]), LimitState::Bound);
        let older = [used, (all, NONE)];
        assert_eq!(becomes(&older, &[(all, SOME)]), LimitState::Bound, "before Linux 5.3");
    }

    /// `pids.events` counts, by version, forks of this group that a limit above refused, or refusals in all groups below.
    #[test]
    fn a_limit_of_tasks_is_bound_by_what_it_did_itself() {
        let becomes = |options: &str, first: &[(&str, &str)], last: &[(&str, &str)]| {
            state(options, ("pids.max", "500\n"), [first, last])
        };
        let used = ("pids.current", "40\n");
        let (all, own) = ("pids.events", "pids.events.local");
        let older = [used, (all, NONE)];
        for options in ["cgroup2 rw", "cgroup rw,pids"] {
            assert_eq!(becomes(options, &older, &[(all, SOME)]), LimitState::NeverNear);
        }
        let first = [used, (all, NONE), (own, NONE)];
        let below = becomes("cgroup2 rw", &first, &[(all, SOME)]);
        assert_eq!(below, LimitState::NeverNear);
        let itself = [(all, SOME), (own, SOME)];
        assert_eq!(becomes("cgroup2 rw", &first, &itself), LimitState::Bound);
        let as_before = becomes("cgroup2 rw,pids_localevents", &first, &itself);
        assert_eq!(as_before, LimitState::NeverNear, "the option brings the older meaning back");
    }
}
