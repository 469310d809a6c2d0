//! Availability of hardware counters for cache misses and memory traffic: a PMU for perf_event_open(2),
//! and resctrl for monitoring of caches and memory bandwidth (Documentation/filesystems/resctrl.rst).
//! Most virtual machines have neither.

use crate::kernel::perf_event::open;
use crate::kernel::root::Root;

// include/uapi/linux/perf_event.h.
const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_COUNT_HW_CACHE_MISSES: u64 = 3;

/// Whether cache misses of this thread can be counted, or why not.
pub fn pmu() -> Result<(), String> {
    let Err(cause) = open((PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES), 0, -1, 0) else {
        return Ok(());
    };
    Err(match cause.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "the CPU shows no performance counters to this kernel (perf_event_open finds no PMU), \
             as in most virtual machines"
                .to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => {
            "perf_event_open is forbidden: it needs CAP_PERFMON or a lower \
             kernel.perf_event_paranoid"
                .to_owned()
        }
        Some(libc::ENOSYS) => "this kernel has no perf_event_open (CONFIG_PERF_EVENTS)".to_owned(),
        _ => format!("perf_event_open failed: {cause}"),
    })
}

/// Whether resctrl is mounted and monitors, or why not.
pub fn resctrl(root: &Root) -> Result<(), String> {
    if root.exists("/sys/fs/resctrl/info/L3_MON") {
        return Ok(());
    }
    if root.exists("/sys/fs/resctrl/info") {
        return Err("resctrl is mounted but monitors nothing on this CPU (no info/L3_MON)".into());
    }
    let known = root.read("/proc/filesystems").unwrap_or_default();
    if known.lines().any(|line| line.split_whitespace().last() == Some("resctrl")) {
        return Err("resctrl is not mounted (mount -t resctrl resctrl /sys/fs/resctrl)".into());
    }
    Err("this kernel has no resctrl (CONFIG_X86_CPU_RESCTRL), or the CPU has no monitoring".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pmu_exists_or_the_reason_names_the_call() {
        if let Err(reason) = pmu() {
            assert!(reason.contains("perf_event_open"), "{reason}");
        }
    }

    #[test]
    fn each_state_of_resctrl_has_its_reason() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        assert!(resctrl(&root).unwrap_err().contains("CONFIG_X86_CPU_RESCTRL"));
        std::fs::create_dir_all(tree.path().join("proc")).unwrap();
        std::fs::write(tree.path().join("proc/filesystems"), "nodev\tresctrl\n").unwrap();
        assert!(resctrl(&root).unwrap_err().contains("not mounted"));
        std::fs::create_dir_all(tree.path().join("sys/fs/resctrl/info/L3_MON")).unwrap();
        assert_eq!(resctrl(&root), Ok(()));
    }
}
