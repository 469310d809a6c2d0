//! Memory on v1.

use crate::knob::entry::build::{action, reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{old_read_only, old_read_write, old_write_only, read_only, read_write};
use crate::knob::range::ValueRange as R;

const MEMORY: &str = "memory";
/// The largest whole number of pages of 4 KiB, which means no limit.
const UNLIMITED: &str = "9223372036854771712";
const SWAP: &str = "CONFIG_SWAP";
const ACCOUNTING: &str = "swap is accounted to groups (swapaccount=1 before 5.8)";
const WITH_THE_REST: &str = "v2 counts kernel memory with the rest";
const RESET: R = R::Integer { low: 0, high: 0 };
const NO_SWAP_SUM: &str = "v2 limits swap separately: `memory.swap.max`";

pub(super) const SOURCE: &str = "cgroup-v1/memory.rst; mm/memcontrol.c (mem_cgroup_legacy_files); mm/memcontrol-v1.c from 6.11 on";

pub(super) static KNOBS: &[Knob] = &[
    setting("memory.limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(old_read_write(25).reads(UNLIMITED))
        .as_files(&["memory.max"])
        .about("limit on memory; beyond it processes are killed"),
    reading("memory.usage_in_bytes", MEMORY, Unit::Bytes)
        .v1(old_read_only(25).reads("0"))
        .as_files(&["memory.current"])
        .about("memory in use, including descendants"),
    setting("memory.max_usage_in_bytes", MEMORY, Unit::Bytes, RESET)
        .v1(old_read_write(29).reads("0"))
        .as_files(&["memory.peak"])
        .about("peak of memory in use; writing 0 resets it"),
    setting("memory.failcnt", MEMORY, Unit::Count, RESET)
        .v1(old_read_write(25).reads("0"))
        .as_files(&["memory.events"])
        .about("how often the limit was hit; writing 0 resets it"),
    setting("memory.soft_limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(old_read_write(32).reads(UNLIMITED))
        .without_counterpart("v2 has `memory.high` and `memory.low`, which are enforced")
        .about("memory above which the group is reclaimed from first if memory is short"),
    setting("memory.memsw.limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(old_read_write(29).reads(UNLIMITED).config(SWAP).needs(ACCOUNTING))
        .without_counterpart(NO_SWAP_SUM)
        .about("limit on the sum of memory and swap"),
    reading("memory.memsw.usage_in_bytes", MEMORY, Unit::Bytes)
        .v1(old_read_only(29).reads("0").config(SWAP).needs(ACCOUNTING))
        .without_counterpart(NO_SWAP_SUM)
        .about("sum of memory and swap in use"),
    setting("memory.memsw.max_usage_in_bytes", MEMORY, Unit::Bytes, RESET)
        .v1(old_read_write(29).reads("0").config(SWAP).needs(ACCOUNTING))
        .without_counterpart(NO_SWAP_SUM)
        .about("peak of memory and swap in use; writing 0 resets it"),
    setting("memory.memsw.failcnt", MEMORY, Unit::Count, RESET)
        .v1(old_read_write(29).reads("0").config(SWAP).needs(ACCOUNTING))
        .without_counterpart(NO_SWAP_SUM)
        .about("how often that limit was hit; writing 0 resets it"),
    setting("memory.swappiness", MEMORY, Unit::Count, R::Integer { low: 0, high: 200 })
        .v1(old_read_write(29))
        .without_counterpart(
            "on v2 vm.swappiness applies to all groups; `memory.reclaim` accepts its own",
        )
        .about("preference for swapping anonymous memory over dropping files; inherited"),
    setting("memory.oom_control", MEMORY, Unit::Switch, R::Switch)
        .v1(old_read_write(34))
        .without_counterpart(
            "on v2 an OOM killer in user space watches `memory.events` and pressure",
        )
        .about(
            "whether processes at the limit wait instead of being killed, and the number of kills",
        ),
    setting("memory.use_hierarchy", MEMORY, Unit::Switch, R::Integer { low: 1, high: 1 })
        .v1(old_read_write(29).reads("1"))
        .without_counterpart("always enabled on v2")
        .about("whether the group counts its descendants; always 1 since 5.11"),
    setting("memory.move_charge_at_immigrate", MEMORY, Unit::Count, R::Integer { low: 0, high: 3 })
        .v1(old_read_write(34).reads("0"))
        .without_counterpart("v2 never moves charged memory")
        .about("whether memory moves with a process: 1 anonymous, 2 files; no effect since 6.11"),
    action("memory.force_empty", MEMORY, Unit::Switch, R::Integer { low: 0, high: 1 })
        .v1(old_write_only(25))
        .without_counterpart("v2 reclaims an amount: `memory.reclaim`")
        .about("reclaims as much memory from the group as possible"),
    action("memory.pressure_level", MEMORY, Unit::Word, R::Text)
        .v1(read_only(3, 10).mode_varies())
        .without_counterpart("v2 has `memory.pressure`")
        .about("registers an eventfd for pressure, through `cgroup.event_control`"),
    action("cgroup.event_control", MEMORY, Unit::Word, R::Text)
        .v1(old_write_only(34).mode_varies())
        .without_counterpart("on v2 `memory.events` and `memory.pressure` are polled")
        .about(
            "`EVENTFD FD ARGUMENTS`: signals an eventfd at a threshold, an OOM kill or pressure",
        ),
    setting("memory.kmem.limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(read_write(3, 8).reads(UNLIMITED))
        .without_counterpart(WITH_THE_REST)
        .about("limit on kernel memory; no effect since 5.16"),
    reading("memory.kmem.usage_in_bytes", MEMORY, Unit::Bytes)
        .v1(read_only(3, 8))
        .without_counterpart(WITH_THE_REST)
        .about("kernel memory in use"),
    setting("memory.kmem.max_usage_in_bytes", MEMORY, Unit::Bytes, RESET)
        .v1(read_write(3, 8))
        .without_counterpart(WITH_THE_REST)
        .about("peak of kernel memory; writing 0 resets it"),
    setting("memory.kmem.failcnt", MEMORY, Unit::Count, RESET)
        .v1(read_write(3, 8).reads("0"))
        .without_counterpart(WITH_THE_REST)
        .about("how often that limit was hit; writing 0 resets it"),
    reading("memory.kmem.slabinfo", MEMORY, Unit::Table)
        .v1(read_only(3, 8).config("CONFIG_SLUB_DEBUG"))
        .without_counterpart("v2 counts slabs in `memory.stat`")
        .about("slab caches of the group; empty since 5.9"),
    setting("memory.kmem.tcp.limit_in_bytes", MEMORY, Unit::Bytes, R::BytesOrMinusOne)
        .v1(read_write(3, 3).reads(UNLIMITED))
        .without_counterpart(WITH_THE_REST)
        .about("limit on TCP buffers"),
    reading("memory.kmem.tcp.usage_in_bytes", MEMORY, Unit::Bytes)
        .v1(read_only(3, 3).reads("0"))
        .without_counterpart(WITH_THE_REST)
        .about("TCP buffers in use"),
    setting("memory.kmem.tcp.max_usage_in_bytes", MEMORY, Unit::Bytes, RESET)
        .v1(read_write(3, 3).reads("0"))
        .without_counterpart(WITH_THE_REST)
        .about("peak of TCP buffers; writing 0 resets it"),
    setting("memory.kmem.tcp.failcnt", MEMORY, Unit::Count, RESET)
        .v1(read_write(3, 3).reads("0"))
        .without_counterpart(WITH_THE_REST)
        .about("how often that limit was hit; writing 0 resets it"),
];
