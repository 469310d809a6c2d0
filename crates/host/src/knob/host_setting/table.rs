//! The table of host settings.
//!
//! Sources: Documentation/admin-guide/sysctl/{vm,kernel}.rst,
//! Documentation/admin-guide/mm/transhuge.rst, and for side effects the handlers in
//! mm/page-writeback.c, mm/huge_memory.c and mm/khugepaged.c.

use std::sync::LazyLock;

use super::{HostSetting, SideEffect};
use crate::knob::kernel_version::KernelVersion;
use crate::knob::range::ValueRange as R;

/// Every setting, sysctls first.
#[must_use]
pub fn host_settings() -> &'static [HostSetting] {
    &TABLE
}

const fn setting(name: &'static str, range: R) -> HostSetting {
    HostSetting {
        name,
        range,
        since: KernelVersion::two_six(0),
        config: None,
        effect: SideEffect::None,
        about: "",
    }
}

impl HostSetting {
    const fn since(self, since: KernelVersion) -> Self {
        Self { since, ..self }
    }

    const fn needs(self, config: &'static str) -> Self {
        Self { config: Some(config), ..self }
    }

    const fn with(self, effect: SideEffect) -> Self {
        Self { effect, ..self }
    }

    const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}

const PERCENT: R = R::Integer { low: 0, high: 100 };
const COUNT: R = R::Integer { low: 0, high: 2_147_483_647 };
const THP_CONFIG: &str = "CONFIG_TRANSPARENT_HUGEPAGE";
const NUMA_CONFIG: &str = "CONFIG_NUMA";

const HUGE: KernelVersion = KernelVersion::two_six(38);
const BYTES: KernelVersion = KernelVersion::two_six(29);

static TABLE: LazyLock<Vec<HostSetting>> =
    LazyLock::new(|| [WRITEBACK, MEMORY, SCHEDULING, HUGE_PAGES].concat());

const WRITEBACK: &[HostSetting] = &[
    setting("vm.dirty_ratio", PERCENT)
        .with(SideEffect::Zeroes("vm.dirty_bytes"))
        .about("dirty memory above which writing processes wait for writeback"),
    setting("vm.dirty_bytes", R::BytesOrZero { low: 8192 })
        .since(BYTES)
        .with(SideEffect::Zeroes("vm.dirty_ratio"))
        .about("the same as an amount; 0 if `vm.dirty_ratio` is in effect"),
    setting("vm.dirty_background_ratio", PERCENT)
        .with(SideEffect::Zeroes("vm.dirty_background_bytes"))
        .about("dirty memory above which the kernel starts writeback"),
    setting("vm.dirty_background_bytes", R::BytesOrZero { low: 1 })
        .since(BYTES)
        .with(SideEffect::Zeroes("vm.dirty_background_ratio"))
        .about("the same as an amount; 0 if `vm.dirty_background_ratio` is in effect"),
    setting("vm.dirty_writeback_centisecs", COUNT)
        .about("interval at which the kernel looks for old dirty pages; 0 disables it"),
    setting("vm.dirty_expire_centisecs", COUNT).about("age at which a dirty page is written back"),
];

const MEMORY: &[HostSetting] = &[
    setting("vm.swappiness", R::Integer { low: 0, high: 200 })
        .about("cost of swap relative to the file system; above 100 since 5.8"),
    setting("vm.page-cluster", R::Integer { low: 0, high: 31 })
        .about("number of pages read from swap at once"),
    setting(
        "vm.zone_reclaim_mode",
        R::Integer { low: 0, high: 7 },
    )
    .since(KernelVersion::two_six(16))
    .needs(NUMA_CONFIG)
    .about("1: reclaim on the local node before allocating on others; 2: also by writing, 4: by swapping"),
    setting(
        "vm.watermark_scale_factor",
        R::Integer { low: 1, high: 3000 },
    )
    .since(KernelVersion::new(4, 6))
    .about("distance of the watermarks between which kswapd works; above 1000 since 5.18"),
    setting("vm.watermark_boost_factor", COUNT)
        .since(KernelVersion::new(5, 0))
        .about("how much further reclaim goes after fragmentation; 0 disables it"),
    setting("vm.compaction_proactiveness", PERCENT)
        .since(KernelVersion::new(5, 9))
        .needs("CONFIG_COMPACTION")
        .about("how aggressively memory is compacted in the background; 0 disables it"),
    setting(
        "vm.extfrag_threshold",
        R::Integer { low: 0, high: 1000 },
    )
    .since(KernelVersion::two_six(35))
    .needs("CONFIG_COMPACTION")
    .about("below this index memory is reclaimed rather than compacted"),
    setting("vm.numa_stat", R::Switch)
        .since(KernelVersion::new(4, 15))
        .needs(NUMA_CONFIG)
        .about("whether allocations are counted per node (numastat)"),
];

const SCHEDULING: &[HostSetting] = &[
    setting("kernel.numa_balancing", R::Integer { low: 0, high: 3 })
        .since(KernelVersion::new(3, 13))
        .needs("CONFIG_NUMA_BALANCING")
        .about(
            "1: pages and threads are moved closer to each other; 2: memory tiering, since 5.18",
        ),
    setting("kernel.numa_balancing_promote_rate_limit_MBps", COUNT)
        .since(KernelVersion::new(6, 1))
        .needs("CONFIG_NUMA_BALANCING")
        .about("highest promotion rate of memory tiering"),
    setting("kernel.sched_autogroup_enabled", R::Switch)
        .since(HUGE)
        .needs("CONFIG_SCHED_AUTOGROUP")
        .about("whether each session is scheduled as a group"),
    setting("kernel.sched_cfs_bandwidth_slice_us", R::Integer { low: 1, high: 2_147_483_647 })
        .since(KernelVersion::new(3, 2))
        .needs("CONFIG_CFS_BANDWIDTH")
        .about("the part of a quota that a CPU takes at once"),
    setting("sched.cgroup_mode", R::Words(&["up", "smp", "concur", "max", "tasks"]))
        .since(KernelVersion::new(7, 3))
        .needs("CONFIG_FAIR_GROUP_SCHED, and debugfs mounted")
        .about("what weights of CPU divide (/sys/kernel/debug/sched/cgroup_mode); `smp` is the law of older kernels"),
    setting("kernel.randomize_va_space", R::Integer { low: 0, high: 2 })
        .since(KernelVersion::two_six(12))
        .about("whether address spaces of new processes are randomized; 2: including the heap"),
];

const HUGE_PAGES: &[HostSetting] = &[
    setting(
        "thp.enabled",
        R::Words(&["always", "madvise", "never"]),
    )
    .since(HUGE)
    .needs(THP_CONFIG)
    .with(SideEffect::Recomputes("/proc/sys/vm/min_free_kbytes"))
    .about("which processes get huge pages for anonymous memory"),
    setting(
        "thp.defrag",
        R::Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
    )
    .since(HUGE)
    .needs(THP_CONFIG)
    .about("which processes wait until a huge page is freed; `defer` since 4.6, `defer+madvise` since 4.11"),
    setting(
        "thp.shmem_enabled",
        R::Words(&["always", "within_size", "advise", "never", "deny", "force"]),
    )
    .since(KernelVersion::new(4, 8))
    .needs(THP_CONFIG)
    .about("huge pages for shared anonymous memory"),
    setting("thp.use_zero_page", R::Switch)
        .since(KernelVersion::new(3, 8))
        .needs(THP_CONFIG)
        .about("whether huge pages that are only read share one zero page"),
    setting(
        "thp.khugepaged/defrag",
        R::Switch,
    )
    .since(HUGE)
    .needs(THP_CONFIG)
    .about("whether khugepaged reclaims and compacts memory to collapse pages"),
    setting(
        "thp.khugepaged/pages_to_scan",
        R::Integer { low: 1, high: 2_147_483_647 },
    )
    .since(HUGE)
    .needs(THP_CONFIG)
    .about("number of pages that khugepaged scans per round"),
    setting(
        "thp.khugepaged/scan_sleep_millisecs",
        COUNT,
    )
    .since(HUGE)
    .needs(THP_CONFIG)
    .about("how long khugepaged sleeps between two rounds"),
    setting(
        "thp.khugepaged/alloc_sleep_millisecs",
        COUNT,
    )
    .since(HUGE)
    .needs(THP_CONFIG)
    .about("how long khugepaged sleeps after a failed huge page allocation"),
    setting(
        "thp.khugepaged/max_ptes_none",
        R::Integer { low: 0, high: 511 },
    )
    .since(HUGE)
    .needs(THP_CONFIG)
    .about("number of unmapped pages allowed in a range that is collapsed into a huge page"),
];
