//! Availability of hardware counters for cache misses: a PMU for perf_event_open(2). Most virtual machines have none.

use crate::kernel::perf_event::open;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pmu_exists_or_the_reason_names_the_call() {
        if let Err(reason) = pmu() {
            assert!(reason.contains("perf_event_open"), "{reason}");
        }
    }
}
