//! Settings of the whole machine that a study may vary, and lists of loaded or active items.

use std::path::Path;

use super::HostSnapshot;
use crate::tree::entries;

/// Folders of settings. Files in there that change by themselves are excluded below.
const FOLDERS: [&str; 6] = [
    "/proc/sys/vm",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/kernel/mm/transparent_hugepage/khugepaged",
    "/sys/kernel/mm/numa",
    "/sys/module/zswap/parameters",
    "/sys/module/null_blk/parameters",
];

/// Single settings.
const FILES: [&str; 15] = [
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/sched_cfs_bandwidth_slice_us",
    "/proc/sys/kernel/sched_energy_aware",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/perf_event_mlock_kb",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/threads-max",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/online",
    // vm.swappiness by another name.
    "/sys/fs/cgroup/memory/memory.swappiness",
];

/// Files that show the last command or a counter, or are expensive to read.
const NOT_SETTINGS: [&str; 5] = [
    "/proc/sys/vm/drop_caches",
    "/proc/sys/vm/stat_refresh",
    "/proc/sys/vm/compact_memory",
    "khugepaged/full_scans",
    "khugepaged/pages_collapsed",
];

/// Whether this file is a setting of the whole machine.
pub(super) fn is_setting(path: &str) -> bool {
    FILES.contains(&path) || FOLDERS.iter().any(|folder| path.starts_with(folder))
}

impl HostSnapshot {
    pub(super) fn take_settings(&mut self) {
        for folder in FOLDERS {
            for path in entries(Path::new(folder)).into_iter().filter(|path| path.is_file()) {
                let name = path.to_string_lossy();
                if !NOT_SETTINGS.iter().any(|part| name.contains(part)) {
                    self.note_file(&path);
                }
            }
        }
        self.note_file(Path::new("/sys/kernel/mm/ksm/run"));
        for file in FILES {
            self.note_file(Path::new(file));
        }
        self.take_governors();
        self.take_lists();
    }

    fn take_governors(&mut self) {
        for policy in entries(Path::new("/sys/devices/system/cpu/cpufreq")) {
            for file in ["scaling_governor", "scaling_min_freq", "scaling_max_freq", "boost"] {
                self.note_file(&policy.join(file));
            }
        }
    }

    /// Names of active items: swap areas without their use, modules without their users.
    fn take_lists(&mut self) {
        for list in ["/proc/swaps", "/proc/modules"] {
            let text = std::fs::read_to_string(list).unwrap_or_default();
            let names = text.lines().filter_map(|line| line.split_whitespace().next());
            for name in names {
                self.note(Path::new(&format!("{list}: {name}")), String::new());
            }
        }
    }
}
