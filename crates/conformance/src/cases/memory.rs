//! memory: limits, protection, OOM kills, swap, reclaim, charges and events.

mod charge;
mod events;
mod high;
mod hog;
mod limit;
mod oom;
mod protection;
mod reclaim;
mod swap;

use assay_kernel::Error;

use crate::case::Case;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::Outcome;

const V2: &str = "Documentation/admin-guide/cgroup-v2.rst, Memory Interface Files";
const V1: &str = "Documentation/admin-guide/cgroup-v1/memory.rst";

/// A case for either version, or for one, depending on `needs`.
const fn case(
    behaviour: &'static str,
    promise: &'static str,
    documented: &'static str,
    needs: &'static [Need],
    run: fn(&mut Fixture) -> Result<Outcome, Error>,
) -> Case {
    Case { controller: "memory", behaviour, promise, documented, needs, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "max-kills-and-counts",
        "A process that exceeds memory.max is killed, and the kill is counted.",
        V2,
        &[Need::Controller("memory")],
        limit::kills,
    ),
    case(
        "below-max-nobody-is-killed",
        "A process below memory.max is neither killed nor slowed down.",
        V2,
        &[Need::Controller("memory")],
        limit::spares,
    ),
    case(
        "page-cache-above-max-is-reclaimed",
        "Page cache above memory.max is reclaimed, and its reader survives.",
        V2,
        &[Need::Controller("memory"), Need::Loop],
        limit::reclaims_cache,
    ),
    case(
        "page-cache-without-a-limit-stays",
        "Without a limit the page cache of a file that was read stays.",
        V2,
        &[Need::Controller("memory"), Need::Loop],
        limit::keeps_cache,
    ),
    case(
        "max-binds-the-groups-inside",
        "memory.max of a group limits the total of its child groups.",
        V2,
        &[Need::Controller("memory")],
        limit::binds_children,
    ),
    case(
        "memsw-limit-holds-and-counts",
        "A process above the combined limit of memory and swap is killed, and failcnt counts it.",
        V1,
        &[Need::OnV1("memory"), Need::File("memory.memsw.failcnt")],
        limit::together,
    ),
    case(
        "high-throttles-and-never-kills",
        "A group above memory.high is slowed down, and none of its processes is killed.",
        V2,
        &[Need::OnV2("memory")],
        high::throttles,
    ),
    case(
        "below-high-nothing-is-throttled",
        "A group below memory.high is not slowed down.",
        V2,
        &[Need::OnV2("memory")],
        high::leaves_alone,
    ),
    case(
        "low-protects-from-a-hog",
        "memory.low keeps a group's page cache under pressure from a sibling.",
        V2,
        &[Need::OnV2("memory"), Need::Loop],
        protection::low,
    ),
    case(
        "min-protects-from-a-hog",
        "memory.min keeps a group's page cache under pressure from a sibling.",
        V2,
        &[Need::OnV2("memory"), Need::Loop],
        protection::min,
    ),
    case(
        "unprotected-page-cache-is-lost",
        "Without protection, pressure from a sibling takes page cache away.",
        V2,
        &[Need::Controller("memory"), Need::Loop],
        protection::unprotected,
    ),
    case(
        "oom-group-kills-all",
        "With memory.oom.group all processes of the group are killed together.",
        V2,
        &[Need::OnV2("memory"), Need::File("memory.oom.group")],
        oom::group,
    ),
    case(
        "oom-kills-one",
        "Without memory.oom.group one process is killed and the others survive.",
        V2,
        &[Need::Controller("memory")],
        oom::one,
    ),
    case(
        "oom-kill-disable-stops",
        "With oom_kill_disable a process above the limit blocks until memory is available.",
        V1,
        &[Need::OnV1("memory")],
        oom::disabled,
    ),
    case(
        "oom-kill-disable-leaves-the-rest-alone",
        "With oom_kill_disable a process below the limit is not blocked.",
        V1,
        &[Need::OnV1("memory")],
        oom::below_capacity,
    ),
    case(
        "swap-takes-what-is-above-max",
        "With swap space allowed, memory above memory.max is swapped and no process is killed.",
        V2,
        &[Need::Controller("memory"), Need::Swap],
        swap::takes_the_rest,
    ),
    case(
        "swap-max-bounds-swap",
        "A group uses no more swap space than its limit, and is killed beyond that.",
        V2,
        &[Need::Controller("memory"), Need::Swap],
        swap::is_bounded,
    ),
    case(
        "zswap-max-bounds-zswap",
        "With memory.zswap.max 0 no memory of a group is kept compressed.",
        V2,
        &[Need::OnV2("memory"), Need::Swap, Need::File("memory.zswap.max")],
        swap::zswap,
    ),
    case(
        "reclaim-takes-page-cache",
        "memory.reclaim, or force_empty on v1, takes page cache from a group.",
        V2,
        &[
            Need::Controller("memory"),
            Need::FileBy("memory.force_empty", "memory.reclaim"),
            Need::Loop,
        ],
        reclaim::takes_cache,
    ),
    case(
        "reclaim-leaves-memory-without-swap",
        "Reclaim on demand cannot take the memory of processes without swap; v2 reports the failure.",
        V2,
        &[Need::Controller("memory"), Need::FileBy("memory.force_empty", "memory.reclaim")],
        reclaim::leaves_memory,
    ),
    case(
        "charges-return",
        "Memory is uncharged when its process ends.",
        V2,
        &[Need::Controller("memory")],
        charge::returns,
    ),
    case(
        "peak-holds-the-maximum",
        "memory.peak (max_usage_in_bytes on v1) keeps the highest charge.",
        V2,
        &[Need::Controller("memory"), Need::FileBy("memory.max_usage_in_bytes", "memory.peak")],
        charge::peak,
    ),
    case(
        "charges-stay-when-a-process-moves",
        "Memory stays charged to the group in which it was first used.",
        V2,
        &[Need::Controller("memory")],
        charge::migration,
    ),
    case(
        "the-first-reader-is-charged",
        "Page cache is charged to the group that read it first.",
        V2,
        &[Need::Controller("memory"), Need::Loop],
        charge::first_reader,
    ),
    case(
        "numa-stat-adds-up",
        "Anonymous memory by node adds up to the group's total.",
        V2,
        &[Need::Controller("memory"), Need::File("memory.numa_stat")],
        charge::by_node,
    ),
    case(
        "events-wake-a-poller",
        "A change of memory.events wakes its pollers.",
        V2,
        &[Need::OnV2("memory")],
        events::wake,
    ),
    case(
        "a-threshold-wakes-an-eventfd",
        "Usage that crosses a threshold wakes the eventfd registered for it.",
        V1,
        &[Need::OnV1("memory")],
        events::threshold,
    ),
    case(
        "oom-wakes-an-eventfd",
        "Being out of memory wakes the eventfd registered for it.",
        V1,
        &[Need::OnV1("memory")],
        events::out_of_memory,
    ),
    case(
        "soft-limit-yields-first",
        "A group above its soft limit is reclaimed first when the host is short of memory.",
        V1,
        &[Need::OnV1("memory")],
        soft_limit,
    ),
];

/// Soft limits act only on reclaim when the whole host is short of memory (memory.rst, 7), which a
/// case must never cause.
fn soft_limit(_: &mut Fixture) -> Result<Outcome, Error> {
    Ok(Outcome::not_available(
        "it acts only when the whole host is short of memory, which a case must not cause",
    ))
}
