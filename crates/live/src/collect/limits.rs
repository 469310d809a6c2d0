//! The counters of limits while a host is watched.

use std::path::{Path, PathBuf};

use assay_audit::collect::read::{keyed, number, own_memory_events, text};
use assay_audit::{DiskRate, LimitOf, LimitSetting, Snapshot, fair_part, limit_settings};
use assay_sys::kernel::{Root, counters};

use crate::fairness::{Counts, LimitRow, LimitWatch};

/// Limits that are watched at most: some files are read for each of them.
const MOST: usize = 2048;

/// Every limit of this host with its counters.
pub(super) struct Limits {
    counters: Counters,
    watches: Vec<LimitWatch>,
    /// How many there are beyond [`MOST`].
    left_out: usize,
}

/// Where the counters of limits are.
struct Counters {
    root: Root,
    /// Where v1 counts CPU time.
    cpuacct: Option<PathBuf>,
    /// Whether `pids.events.local` counts what the limit of its own group refused.
    has_own_pids: bool,
}

impl Limits {
    pub(super) fn start(root: &Root, snapshot: &Snapshot, at_s: f64) -> Self {
        let (all, left_out) = fair_part(snapshot, limit_settings(snapshot), MOST, |one| &one.group);
        let cpuacct = snapshot
            .hierarchies
            .iter()
            .find(|one| !one.is_v2 && one.controllers.iter().any(|name| name == "cpuacct"));
        let mut options = snapshot.hierarchies.iter().flat_map(|one| &one.options);
        let counters = Counters {
            root: root.clone(),
            cpuacct: cpuacct.map(|one| one.mount.clone()),
            has_own_pids: !options.any(|option| option == "pids_localevents"),
        };
        let watch = |setting| {
            let counts = counters.of(&setting);
            LimitWatch::new(setting, at_s, counts)
        };
        let watches = all.into_iter().map(watch).collect();
        Self { counters, watches, left_out }
    }

    pub(super) fn look(&mut self, at_s: f64) {
        for watch in &mut self.watches {
            let counts = self.counters.of(&watch.setting);
            watch.add(at_s, counts);
        }
    }

    pub(super) fn rows(&self) -> (Vec<LimitRow>, usize) {
        (self.watches.iter().map(LimitWatch::row).collect(), self.left_out)
    }
}

impl Counters {
    fn of(&self, setting: &LimitSetting) -> Counts {
        let (root, group) = (&self.root, Path::new(&setting.directory));
        let (hits, level) = match (&setting.of, setting.is_v2) {
            (LimitOf::Cpu, _) => return self.of_cpu(setting, group),
            (LimitOf::Disk(rate), _) => return self.of_disk(setting, group, rate),
            (LimitOf::Memory, true) => (own_memory_events(root, group, "max"), "memory.current"),
            (LimitOf::Memory, false) => {
                (number(root, group.join("memory.failcnt")), "memory.usage_in_bytes")
            }
            (LimitOf::MemoryHigh, _) => (own_memory_events(root, group, "high"), "memory.current"),
            // Without it there is no counter: `pids.events` counts forks of this group that any limit refused, or, since
            // Linux 6.11, what all limits below refused too.
            (LimitOf::Pids, _) => {
                let refused = keyed(root, group.join("pids.events.local"), "max");
                (refused.filter(|_| self.has_own_pids), "pids.current")
            }
        };
        Counts { hits, level: number(root, group.join(level)), ..Counts::default() }
    }

    fn of_cpu(&self, setting: &LimitSetting, group: &Path) -> Counts {
        let stat = |key| keyed(&self.root, group.join("cpu.stat"), key);
        let (held_s, total) = if setting.is_v2 {
            let seconds = |key| stat(key).map(|us| us as f64 * 1e-6);
            (seconds("throttled_usec"), seconds("usage_usec"))
        } else {
            let group = setting.group.trim_start_matches('/');
            let usage = self.cpuacct.as_ref().map(|mount| mount.join(group).join("cpuacct.usage"));
            let usage: Option<f64> = usage.and_then(|file| number(&self.root, file));
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
        let Some(text) = text(&self.root, group.join(file)) else { return Counts::default() };
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
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_audit::collect::take_snapshot;

    use super::*;
    use crate::fairness::LimitState;

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
