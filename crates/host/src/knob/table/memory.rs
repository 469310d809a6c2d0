//! Memory on v2.

use crate::knob::entry::build::{action, reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{read_only, read_write, write_only};
use crate::knob::range::ValueRange as R;

const MEMORY: &str = "memory";
const SWAP: &str = "CONFIG_SWAP";
const ZSWAP: &str = "CONFIG_ZSWAP";
const SWAP_SUM: &str = "v1 counts the sum of memory and swap: `memory.memsw.*`";
const NO_ZSWAP: &str = "v1 does not count compressed swap per group";
const NO_PROTECTION: &str =
    "v1 protects no memory: `memory.soft_limit_in_bytes` only sets where reclaim begins";

pub(super) const SOURCE: &str = "cgroup-v2.rst, \"Memory Interface Files\"; mm/memcontrol.c (memory_files, swap_files, zswap_files)";

pub(super) static KNOBS: &[Knob] = &[
    reading("memory.current", MEMORY, Unit::Bytes)
        .v2(read_only(4, 5).inside().reads("0"))
        .as_files(&["memory.usage_in_bytes"])
        .about("memory in use, including descendants"),
    reading("memory.peak", MEMORY, Unit::Bytes)
        .v2(read_only(5, 19).inside().reads("0").writable_since(6, 12))
        .as_files(&["memory.max_usage_in_bytes"])
        .about("peak of memory in use; since 6.12 a write resets it for that open file"),
    setting("memory.min", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 18).inside().reads("0"))
        .without_counterpart(NO_PROTECTION)
        .about("memory of the group that is never reclaimed"),
    setting("memory.low", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 5).inside().reads("0"))
        .without_counterpart(NO_PROTECTION)
        .about("memory of the group that is reclaimed only if nothing unprotected is left"),
    setting("memory.high", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 5).inside().reads("max"))
        .without_counterpart("v1 does not throttle groups: `memory.limit_in_bytes` kills at once")
        .about("memory above which the group is throttled and its memory reclaimed"),
    setting("memory.max", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 5).inside().reads("max"))
        .as_files(&["memory.limit_in_bytes"])
        .about("limit on memory; beyond it processes are killed"),
    action("memory.reclaim", MEMORY, Unit::Bytes, R::Reclaim)
        .v2(write_only(5, 19))
        .without_counterpart("v1 reclaims everything it can, not an amount: `memory.force_empty`")
        .about("reclaims that much memory from the group; EAGAIN if it gets less"),
    setting("memory.oom.group", MEMORY, Unit::Switch, R::Switch)
        .v2(read_write(4, 19).inside().reads("0"))
        .without_counterpart("v1 kills one process of the group")
        .about("whether all processes of the group are killed at once"),
    reading("memory.events", MEMORY, Unit::Table)
        .v2(read_only(4, 5).inside())
        .as_files(&["memory.failcnt", "memory.oom_control"])
        .about("how often each bound was hit, including descendants; wakes pollers"),
    reading("memory.events.local", MEMORY, Unit::Table)
        .v2(read_only(5, 3).inside())
        .without_counterpart("v1 counts each group separately in `memory.failcnt`")
        .about("how often this group itself hit each bound"),
    reading("memory.stat", MEMORY, Unit::Table)
        .v2(read_only(4, 5))
        .v1(crate::knob::file::old_read_only(25))
        .about("memory by use, and counters of reclaim and faults"),
    reading("memory.numa_stat", MEMORY, Unit::Table)
        .v2(read_only(5, 10).config("CONFIG_NUMA"))
        .v1(read_only(3, 1).config("CONFIG_NUMA"))
        .about("memory by use per memory node (v2 in bytes, v1 in pages)"),
    reading("memory.swap.current", MEMORY, Unit::Bytes)
        .v2(read_only(4, 5).inside().reads("0").config(SWAP))
        .without_counterpart(SWAP_SUM)
        .about("swap in use, including descendants"),
    reading("memory.swap.peak", MEMORY, Unit::Bytes)
        .v2(read_only(6, 5).inside().reads("0").config(SWAP).writable_since(6, 12))
        .without_counterpart(SWAP_SUM)
        .about("peak of swap in use"),
    setting("memory.swap.high", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(5, 8).inside().reads("max").config(SWAP))
        .without_counterpart(SWAP_SUM)
        .about("swap above which the group is throttled"),
    setting("memory.swap.max", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 5).inside().reads("max").config(SWAP))
        .without_counterpart(SWAP_SUM)
        .about("limit on swap"),
    reading("memory.swap.events", MEMORY, Unit::Table)
        .v2(read_only(4, 18).inside().config(SWAP))
        .without_counterpart(SWAP_SUM)
        .about("how often each bound on swap was hit"),
    reading("memory.zswap.current", MEMORY, Unit::Bytes)
        .v2(read_only(5, 19).inside().reads("0").config(ZSWAP))
        .without_counterpart(NO_ZSWAP)
        .about("memory used for compressed swap of the group"),
    setting("memory.zswap.max", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(5, 19).inside().reads("max").config(ZSWAP))
        .without_counterpart(NO_ZSWAP)
        .about("limit on memory for compressed swap of the group"),
    setting("memory.zswap.writeback", MEMORY, Unit::Switch, R::Switch)
        .v2(read_write(6, 8).reads("1").config(ZSWAP))
        .without_counterpart(NO_ZSWAP)
        .about("whether compressed swap may be written to disk"),
];
