//! Memory on v2: cgroup-v2.rst "Memory".

use crate::condition::Condition as C;
use crate::file::{read_only, read_write, write_only};
use crate::knob::build::{action, reading, setting};
use crate::knob::{Knob, Unit};
use crate::range::ValueRange as R;

const MEMORY: &str = "memory";
const SWAP: &str = "CONFIG_SWAP";
const ZSWAP: &str = "CONFIG_ZSWAP";
const TOGETHER: &str = "v1 counts memory and swap together: `memory.memsw.*`";
const NO_ZSWAP: &str = "v1 does not count compressed swap by group";
const NO_PROTECTION: &str =
    "v1 protects no memory: `memory.soft_limit_in_bytes` only says where reclaim begins";

pub(super) static KNOBS: &[Knob] = &[
    reading("memory.current", MEMORY, Unit::Bytes)
        .v2(read_only(4, 5).inside().reads("0"))
        .as_files(&["memory.usage_in_bytes"])
        .about("memory that the group and those inside use"),
    reading("memory.peak", MEMORY, Unit::Bytes)
        .v2(read_only(5, 19).inside().reads("0").writable_since(6, 12))
        .as_files(&["memory.max_usage_in_bytes"])
        .about("the most it has used; since 6.12 a write begins anew for that open file"),
    setting("memory.min", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 18).inside().reads("0"))
        .nowhere_else(NO_PROTECTION)
        .about("memory that is never taken from the group"),
    setting("memory.low", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 5).inside().reads("0"))
        .nowhere_else(NO_PROTECTION)
        .about("memory that is taken only when nothing unprotected is left"),
    setting("memory.high", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 5).inside().reads("max"))
        .nowhere_else("v1 throttles no group: `memory.limit_in_bytes` kills at once")
        .about("memory above which a group is throttled and reclaimed from"),
    setting("memory.max", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 5).inside().reads("max"))
        .as_files(&["memory.limit_in_bytes"])
        .when(&[C::ReclaimsFirst])
        .about("memory that a group may use before its processes are killed"),
    action("memory.reclaim", MEMORY, Unit::Bytes, R::Reclaim)
        .v2(write_only(5, 19).delegatable())
        .nowhere_else("v1 takes everything it can, and no amount: `memory.force_empty`")
        .about("takes that much memory from the group now; EAGAIN where it gets less"),
    setting("memory.oom.group", MEMORY, Unit::Switch, R::Switch)
        .v2(read_write(4, 19).inside().delegatable().reads("0"))
        .nowhere_else("v1 kills one process of the group")
        .about("whether all processes of the group are killed together"),
    reading("memory.events", MEMORY, Unit::Table)
        .v2(read_only(4, 5).inside())
        .as_files(&["memory.failcnt", "memory.oom_control"])
        .about("how often each bound was met, here and inside; wakes pollers"),
    reading("memory.events.local", MEMORY, Unit::Table)
        .v2(read_only(5, 3).inside())
        .nowhere_else("v1 counts each group by itself in `memory.failcnt`")
        .about("how often each bound was met by this group itself"),
    reading("memory.stat", MEMORY, Unit::Table)
        .v2(read_only(4, 5))
        .v1(crate::file::old_read_only(25))
        .about("what the memory is used for, and what became of it"),
    reading("memory.numa_stat", MEMORY, Unit::Table)
        .v2(read_only(5, 10).config("CONFIG_NUMA"))
        .v1(read_only(3, 1).config("CONFIG_NUMA"))
        .about("the same for each memory node (v2 in bytes, v1 in pages)"),
    reading("memory.swap.current", MEMORY, Unit::Bytes)
        .v2(read_only(4, 5).inside().reads("0").config(SWAP))
        .nowhere_else(TOGETHER)
        .about("swap that the group and those inside use"),
    reading("memory.swap.peak", MEMORY, Unit::Bytes)
        .v2(read_only(6, 5).inside().reads("0").config(SWAP).writable_since(6, 12))
        .nowhere_else(TOGETHER)
        .about("the most swap it has used"),
    setting("memory.swap.high", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(5, 8).inside().reads("max").config(SWAP))
        .nowhere_else(TOGETHER)
        .about("swap above which a group is throttled"),
    setting("memory.swap.max", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(4, 5).inside().reads("max").config(SWAP))
        .nowhere_else(TOGETHER)
        .about("swap that a group may use"),
    reading("memory.swap.events", MEMORY, Unit::Table)
        .v2(read_only(4, 18).inside().config(SWAP))
        .nowhere_else(TOGETHER)
        .about("how often each bound on swap was met"),
    reading("memory.zswap.current", MEMORY, Unit::Bytes)
        .v2(read_only(5, 19).inside().reads("0").config(ZSWAP))
        .nowhere_else(NO_ZSWAP)
        .about("memory that holds compressed swap of the group"),
    setting("memory.zswap.max", MEMORY, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(5, 19).inside().reads("max").config(ZSWAP))
        .nowhere_else(NO_ZSWAP)
        .about("memory that may hold compressed swap of the group"),
    setting("memory.zswap.writeback", MEMORY, Unit::Switch, R::Switch)
        .v2(read_write(6, 8).reads("1").config(ZSWAP))
        .nowhere_else(NO_ZSWAP)
        .about("whether compressed swap may go on to the disk"),
];
