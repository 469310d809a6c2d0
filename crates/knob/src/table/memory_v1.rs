//! Memory on v1: cgroup-v1/memory.rst.

use crate::condition::Condition as C;
use crate::file::{old_read_only, old_read_write, old_write_only, read_only, read_write};
use crate::knob::build::{action, reading, setting};
use crate::knob::{Knob, Unit};
use crate::range::ValueRange as R;

const MEMORY: &str = "memory";
/// The largest whole number of pages of 4 KiB, which stands for no limit.
const UNLIMITED: &str = "9223372036854771712";
const SWAP: &str = "CONFIG_SWAP";
const ACCOUNTING: &str = "swap is accounted to groups (swapaccount=1 before 5.8)";
const WITH_THE_REST: &str = "v2 counts memory of the kernel with the rest";
const RESET: R = R::Integer { low: 0, high: 0 };
const NO_SWAP_SUM: &str = "v2 bounds swap by itself: `memory.swap.max`";

pub(super) static KNOBS: &[Knob] = &[
    setting("memory.limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(old_read_write(25).reads(UNLIMITED))
        .as_files(&["memory.max"])
        .when(&[C::ReclaimsFirst])
        .about("memory that a group may use before its processes are killed"),
    reading("memory.usage_in_bytes", MEMORY, Unit::Bytes)
        .v1(old_read_only(25).reads("0"))
        .as_files(&["memory.current"])
        .about("memory that the group and those inside use"),
    setting("memory.max_usage_in_bytes", MEMORY, Unit::Bytes, RESET)
        .v1(old_read_write(29).reads("0"))
        .as_files(&["memory.peak"])
        .about("the most it has used; writing 0 begins anew"),
    setting("memory.failcnt", MEMORY, Unit::Count, RESET)
        .v1(old_read_write(25).reads("0"))
        .as_files(&["memory.events"])
        .about("how often the limit was met; writing 0 begins anew"),
    setting("memory.soft_limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(old_read_write(32).reads(UNLIMITED))
        .nowhere_else("v2 has `memory.high` and `memory.low`, which hold")
        .about("memory above which the group is reclaimed from first when memory is short"),
    setting("memory.memsw.limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(old_read_write(29).reads(UNLIMITED).config(SWAP).needs(ACCOUNTING))
        .nowhere_else(NO_SWAP_SUM)
        .when(&[C::MemoryAndSwapAfterLimit])
        .about("memory and swap together that a group may use"),
    reading("memory.memsw.usage_in_bytes", MEMORY, Unit::Bytes)
        .v1(old_read_only(29).reads("0").config(SWAP).needs(ACCOUNTING))
        .nowhere_else(NO_SWAP_SUM)
        .about("memory and swap together that are used"),
    setting("memory.memsw.max_usage_in_bytes", MEMORY, Unit::Bytes, RESET)
        .v1(old_read_write(29).reads("0").config(SWAP).needs(ACCOUNTING))
        .nowhere_else(NO_SWAP_SUM)
        .about("the most memory and swap together; writing 0 begins anew"),
    setting("memory.memsw.failcnt", MEMORY, Unit::Count, RESET)
        .v1(old_read_write(29).reads("0").config(SWAP).needs(ACCOUNTING))
        .nowhere_else(NO_SWAP_SUM)
        .about("how often that limit was met; writing 0 begins anew"),
    setting("memory.swappiness", MEMORY, Unit::Count, R::Integer { low: 0, high: 200 })
        .v1(old_read_write(29))
        .nowhere_else("on v2 vm.swappiness holds for all; `memory.reclaim` takes one of its own")
        .about("how readily memory of programs is swapped rather than files dropped; inherited"),
    setting("memory.oom_control", MEMORY, Unit::Switch, R::Switch)
        .v1(old_read_write(34))
        .nowhere_else("on v2 a killer in user space watches `memory.events` and pressure")
        .about("whether processes wait at the limit rather than being killed, and kills so far"),
    setting("memory.use_hierarchy", MEMORY, Unit::Switch, R::Integer { low: 1, high: 1 })
        .v1(old_read_write(29).reads("1"))
        .nowhere_else("always so on v2")
        .when(&[C::NoChildren])
        .about("whether the group counts what is inside; always 1 since 5.11"),
    setting("memory.move_charge_at_immigrate", MEMORY, Unit::Count, R::Integer { low: 0, high: 3 })
        .v1(old_read_write(34).reads("0"))
        .nowhere_else("v2 leaves charged memory where it is")
        .about(
            "whether memory moves with a process: 1 programs', 2 files'; without effect since 6.11",
        ),
    action("memory.force_empty", MEMORY, Unit::Switch, R::Integer { low: 0, high: 1 })
        .v1(old_write_only(25))
        .nowhere_else("v2 takes an amount: `memory.reclaim`")
        .about("takes as much memory from the group as it can"),
    action("memory.pressure_level", MEMORY, Unit::Word, R::Text)
        .v1(read_only(3, 10).mode_varies())
        .nowhere_else("v2 has `memory.pressure`")
        .about("registers an eventfd for pressure, through `cgroup.event_control`"),
    action("cgroup.event_control", MEMORY, Unit::Word, R::Text)
        .v1(old_write_only(34).mode_varies())
        .nowhere_else("on v2 `memory.events` and `memory.pressure` are polled")
        .about("`EVENTFD FD ARGUMENTS`: signals an eventfd at a threshold, a kill or pressure"),
    setting("memory.kmem.limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(read_write(3, 8).reads(UNLIMITED))
        .nowhere_else(WITH_THE_REST)
        .about("memory of the kernel; without effect since 5.16"),
    reading("memory.kmem.usage_in_bytes", MEMORY, Unit::Bytes)
        .v1(read_only(3, 8))
        .nowhere_else(WITH_THE_REST)
        .about("memory of the kernel in use"),
    setting("memory.kmem.max_usage_in_bytes", MEMORY, Unit::Bytes, RESET)
        .v1(read_write(3, 8))
        .nowhere_else(WITH_THE_REST)
        .about("the most memory of the kernel; writing 0 begins anew"),
    setting("memory.kmem.failcnt", MEMORY, Unit::Count, RESET)
        .v1(read_write(3, 8).reads("0"))
        .nowhere_else(WITH_THE_REST)
        .about("how often that limit was met; writing 0 begins anew"),
    reading("memory.kmem.slabinfo", MEMORY, Unit::Table)
        .v1(read_only(3, 8).config("CONFIG_SLUB_DEBUG"))
        .nowhere_else("v2 counts slabs in `memory.stat`")
        .about("slab caches of the group; empty since 5.9"),
    setting("memory.kmem.tcp.limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(read_write(3, 3).reads(UNLIMITED))
        .nowhere_else(WITH_THE_REST)
        .about("buffers of TCP that a group may use"),
    reading("memory.kmem.tcp.usage_in_bytes", MEMORY, Unit::Bytes)
        .v1(read_only(3, 3).reads("0"))
        .nowhere_else(WITH_THE_REST)
        .about("buffers of TCP in use"),
    setting("memory.kmem.tcp.max_usage_in_bytes", MEMORY, Unit::Bytes, RESET)
        .v1(read_write(3, 3).reads("0"))
        .nowhere_else(WITH_THE_REST)
        .about("the most buffers of TCP; writing 0 begins anew"),
    setting("memory.kmem.tcp.failcnt", MEMORY, Unit::Count, RESET)
        .v1(read_write(3, 3).reads("0"))
        .nowhere_else(WITH_THE_REST)
        .about("how often that limit was met; writing 0 begins anew"),
];
