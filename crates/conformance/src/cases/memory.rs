//! memory: limits, protection, OOM kills, swap, reclaim, charges and events.

mod charge;
mod events;
mod high;
mod hog;
mod limit;
mod machine;
mod nested;
mod oom;
mod protection;
mod reclaim;
mod swap;

use crate::case::{Case, Topic};
use crate::need::Need;

const MEMORY: Topic = Topic::new(
    "memory",
    "Documentation/admin-guide/cgroup-v2.rst, Memory Interface Files",
    &[Need::Controller("memory")],
);
const V2: Topic = MEMORY.needing(&[Need::OnV2("memory")]);
/// With a disk whose content becomes page cache.
const CACHE: Topic = MEMORY.needing(&[Need::Controller("memory"), Need::Loop]);
const SWAP: Topic = MEMORY.needing(&[Need::Controller("memory"), Need::Swap]);
/// While the whole machine is short of memory.
const SHORT: Topic = MEMORY.needing(&[Need::OnV2("memory"), Need::Loop, Need::Emulated]);
const TAKES_ALL: &str = "takes nearly all memory of this emulated machine for some seconds";
const V1: Topic = MEMORY
    .documented_in("Documentation/admin-guide/cgroup-v1/memory.rst")
    .needing(&[Need::OnV1("memory")]);

pub(super) const CASES: &[Case] = &[
    MEMORY.case(
        "max-kills-and-counts",
        "A process that exceeds memory.max is killed, and the kill is counted.",
        limit::kills,
    ),
    MEMORY.case(
        "below-max-nobody-is-killed",
        "A process below memory.max is neither killed nor slowed down.",
        limit::spares,
    ),
    CACHE.case(
        "page-cache-above-max-is-reclaimed",
        "Page cache above memory.max is reclaimed, and its reader survives.",
        limit::reclaims_cache,
    ),
    CACHE.case(
        "page-cache-without-a-limit-stays",
        "Without a limit the page cache of a file that was read stays.",
        limit::keeps_cache,
    ),
    MEMORY.case(
        "max-binds-the-groups-inside",
        "memory.max of a group limits the total of its child groups.",
        limit::binds_children,
    ),
    V1.needing(&[Need::OnV1("memory"), Need::File("memory.memsw.failcnt")]).case(
        "memsw-limit-holds-and-counts",
        "A process above the combined limit of memory and swap is killed, and failcnt counts it.",
        limit::together,
    ),
    V2.case(
        "high-throttles-and-never-kills",
        "A group above memory.high is slowed down, and none of its processes is killed.",
        high::throttles,
    ),
    V2.case(
        "below-high-nothing-is-throttled",
        "A group below memory.high is not slowed down.",
        high::leaves_alone,
    ),
    MEMORY.needing(&[Need::OnV2("memory"), Need::Loop]).case(
        "low-protects-from-a-hog",
        "memory.low keeps a group's page cache under pressure from a sibling.",
        protection::low,
    ),
    MEMORY.needing(&[Need::OnV2("memory"), Need::Loop]).case(
        "min-protects-from-a-hog",
        "memory.min keeps a group's page cache under pressure from a sibling.",
        protection::min,
    ),
    V2.needing(&[Need::OnV2("memory"), Need::Loop]).case(
        "nested-min-is-shared-by-protection",
        "Groups inside a group with memory.min share it by their own, and none of it is given up.",
        nested::min,
    ),
    V2.needing(&[Need::OnV2("memory"), Need::Loop]).case(
        "nested-low-is-shared-by-protection",
        "Groups inside a group with memory.low share it by their own, until an OOM kill would follow.",
        nested::low,
    ),
    V2.needing(&[Need::OnV2("memory"), Need::Loop]).case(
        "low-without-the-parents-protects-nothing",
        "Groups inside a group without memory.low are not protected by their own.",
        nested::without_parent,
    ),
    SHORT.case(
        "low-holds-while-the-machine-is-short",
        "memory.low keeps a group's page cache while the whole machine is short of memory and others have some.",
        machine::low,
    ).warning(TAKES_ALL),
    SHORT.case(
        "min-holds-while-the-machine-is-short",
        "memory.min keeps a group's page cache while the whole machine is short of memory and others have some.",
        machine::min,
    ).warning(TAKES_ALL),
    CACHE.case(
        "unprotected-page-cache-is-lost",
        "Without protection, pressure from a sibling takes page cache away.",
        protection::unprotected,
    ),
    MEMORY.needing(&[Need::OnV2("memory"), Need::File("memory.oom.group")]).case(
        "oom-group-kills-all",
        "With memory.oom.group all processes of the group are killed together.",
        oom::group,
    ),
    MEMORY.case(
        "oom-kills-one",
        "Without memory.oom.group one process is killed and the others survive.",
        oom::one,
    ),
    V1.case(
        "oom-kill-disable-stops",
        "With oom_kill_disable a process above the limit blocks until memory is available.",
        oom::disabled,
    ),
    V1.case(
        "oom-kill-disable-leaves-the-rest-alone",
        "With oom_kill_disable a process below the limit is not blocked.",
        oom::below_capacity,
    ),
    SWAP.case(
        "swap-takes-what-is-above-max",
        "With swap space allowed, memory above memory.max is swapped and no process is killed.",
        swap::takes_the_rest,
    ),
    SWAP.case(
        "swap-max-bounds-swap",
        "A group uses no more swap space than its limit, and is killed beyond that.",
        swap::is_bounded,
    ),
    MEMORY.needing(&[Need::OnV2("memory"), Need::Swap, Need::File("memory.swap.high")]).case(
        "swap-high-throttles-and-never-kills",
        "A group above memory.swap.high is slowed down, and none of its processes is killed.",
        swap::high,
    ),
    MEMORY.needing(&[Need::OnV2("memory"), Need::Swap, Need::File("memory.zswap.max")]).case(
        "zswap-max-bounds-zswap",
        "With memory.zswap.max 0 no memory of a group is kept compressed.",
        swap::zswap,
    ),
    MEMORY
        .needing(&[
            Need::Controller("memory"),
            Need::FileBy("memory.force_empty", "memory.reclaim"),
            Need::Loop,
        ])
        .case(
            "reclaim-takes-page-cache",
            "memory.reclaim, or force_empty on v1, takes page cache from a group.",
            reclaim::takes_cache,
        ),
    MEMORY
        .needing(&[
            Need::Controller("memory"),
            Need::FileBy("memory.force_empty", "memory.reclaim"),
        ])
        .case(
            "reclaim-leaves-memory-without-swap",
            "Reclaim on demand cannot take the memory of processes without swap; v2 reports the \
         failure.",
            reclaim::leaves_memory,
        ),
    MEMORY.case("charges-return", "Memory is uncharged when its process ends.", charge::returns),
    MEMORY
        .needing(&[
            Need::Controller("memory"),
            Need::FileBy("memory.max_usage_in_bytes", "memory.peak"),
        ])
        .case(
            "peak-holds-the-maximum",
            "memory.peak (max_usage_in_bytes on v1) keeps the highest charge.",
            charge::peak,
        ),
    // Before Linux 6.12 the file was read-only.
    MEMORY
        .needing(&[Need::OnV2("memory"), Need::Kernel(6, 12), Need::File("memory.peak")])
        .case(
            "a-reset-of-peak-is-its-descriptors-own",
            "A write to memory.peak resets it to the current charge for the same file descriptor, and for \
             no other.",
            charge::peak_reset,
        ),
    MEMORY.case(
        "charges-stay-when-a-process-moves",
        "Memory stays charged to the group in which it was first used.",
        charge::migration,
    ),
    CACHE.case(
        "the-first-reader-is-charged",
        "Page cache is charged to the group that read it first.",
        charge::first_reader,
    ),
    MEMORY.needing(&[Need::Controller("memory"), Need::File("memory.numa_stat")]).case(
        "numa-stat-adds-up",
        "Anonymous memory by node adds up to the group's total.",
        charge::by_node,
    ),
    V2.case("events-wake-a-poller", "A change of memory.events wakes its pollers.", events::wake),
    V1.case(
        "a-threshold-wakes-an-eventfd",
        "Usage that crosses a threshold wakes the eventfd registered for it.",
        events::threshold,
    ),
    V1.case(
        "oom-wakes-an-eventfd",
        "Being out of memory wakes the eventfd registered for it.",
        events::out_of_memory,
    ),
    V1.needing(&[Need::OnV1("memory"), Need::Loop, Need::Emulated])
        .case(
            "soft-limit-yields-first",
            "A group above its soft limit is reclaimed first when the host is short of memory.",
            machine::soft_limit,
        )
        .warning(TAKES_ALL),
];
