//! The counters of limits while a host is watched.

use std::path::{Path, PathBuf};

use assay_audit::snapshot::MAX_FILE;
use assay_audit::{DiskRate, LimitOf, LimitSetting, Snapshot, fair_part, limit_settings};
use assay_contention::{Counts, LimitRow, LimitWatch};
use assay_kernel::{Root, counters};

/// Limits that are watched at most: some files are read for each of them.
const MOST: usize = 2048;

/// Every limit of this host with its counters.
pub(super) struct Limits {
    root: Root,
    /// Where v1 counts CPU time.
    cpuacct: Option<PathBuf>,
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
        let mut limits = Self { root: root.clone(), cpuacct, watches: Vec::new(), left_out };
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
                hits: self.keyed(group, "memory.events", "max"),
                level: self.number(group, "memory.current"),
                ..Counts::default()
            },
            LimitOf::Memory => Counts {
                hits: self.number(group, "memory.failcnt").map(|hits| hits as u64),
                level: self.number(group, "memory.usage_in_bytes"),
                ..Counts::default()
            },
            LimitOf::MemoryHigh => Counts {
                hits: self.keyed(group, "memory.events", "high"),
                level: self.number(group, "memory.current"),
                ..Counts::default()
            },
            LimitOf::Pids => Counts {
                hits: self.keyed(group, "pids.events", "max"),
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
