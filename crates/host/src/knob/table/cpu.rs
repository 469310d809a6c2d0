//! CPU time.

use crate::knob::entry::build::{reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{old_read_only, old_read_write, read_only, read_write};
use crate::knob::range::ValueRange as R;

const CPU: &str = "cpu";
const BANDWIDTH: &str = "CONFIG_CFS_BANDWIDTH";
const CLAMP: &str = "CONFIG_UCLAMP_TASK_GROUP";
const REAL_TIME: &str = "CONFIG_RT_GROUP_SCHED";
const NO_REAL_TIME: &str = "v2 has no real-time budgets for groups";

pub(super) const SOURCE: &str = "cgroup-v2.rst, \"CPU Interface Files\"; scheduler/sched-bwc.rst; scheduler/sched-rt-group.rst; kernel/sched/core.c (cpu_files, cpu_legacy_files); kernel/sched/cpuacct.c; cpu.stat.local: 677ea015f231 (6.6)";

pub(super) static KNOBS: &[Knob] = &[
    setting("cpu.weight", CPU, Unit::Weight, R::Integer { low: 1, high: 10_000 })
        .v2(read_write(4, 15).inside().reads("100"))
        .as_files(&["cpu.shares"])
        .about("weight of CPU time relative to sibling groups"),
    setting("cpu.weight.nice", CPU, Unit::Weight, R::Integer { low: -20, high: 19 })
        .v2(read_write(4, 15).inside().reads("0"))
        .as_files(&["cpu.shares"])
        .about("the same weight, as a nice value"),
    setting("cpu.shares", CPU, Unit::Weight, R::Integer { low: 2, high: 262_144 })
        .v1(old_read_write(24).reads("1024"))
        .as_files(&["cpu.weight"])
        .about("weight of CPU time relative to sibling groups"),
    setting("cpu.max", CPU, Unit::CpuBandwidth, R::CpuBandwidth)
        .v2(read_write(4, 15).inside().reads("max 100000").config(BANDWIDTH))
        .as_files(&["cpu.cfs_quota_us", "cpu.cfs_period_us"])
        .about("CPU time in microseconds that a group may use in each period"),
    setting("cpu.cfs_quota_us", CPU, Unit::Microseconds, QUOTA)
        .v1(read_write(3, 2).reads("-1").config(BANDWIDTH))
        .as_files(&["cpu.max"])
        .about("CPU time that a group may use in each period"),
    setting("cpu.cfs_period_us", CPU, Unit::Microseconds, PERIOD)
        .v1(read_write(3, 2).reads("100000").config(BANDWIDTH))
        .as_files(&["cpu.max"])
        .about("length of the period of `cpu.cfs_quota_us`"),
    setting("cpu.max.burst", CPU, Unit::Microseconds, BURST)
        .v2(read_write(5, 14).inside().reads("0").config(BANDWIDTH))
        .as_files(&["cpu.cfs_burst_us"])
        .about("unused CPU time that can be saved for later periods"),
    setting("cpu.cfs_burst_us", CPU, Unit::Microseconds, BURST)
        .v1(read_write(5, 14).reads("0").config(BANDWIDTH))
        .as_files(&["cpu.max.burst"])
        .about("unused CPU time that can be saved for later periods"),
    setting("cpu.idle", CPU, Unit::Switch, R::Switch)
        .v2(read_write(5, 15).inside().reads("0"))
        .v1(read_write(5, 15).reads("0"))
        .about("runs the group only when no sibling group needs the CPU"),
    setting("cpu.uclamp.min", CPU, Unit::Percent, R::PercentOrMax)
        .both(read_write(5, 4).inside().reads("0.00").config(CLAMP))
        .about("lowest utilisation that the frequency governor sees, in percent"),
    setting("cpu.uclamp.max", CPU, Unit::Percent, R::PercentOrMax)
        .both(read_write(5, 4).inside().reads("max").config(CLAMP))
        .about("highest utilisation that the frequency governor sees, in percent"),
    setting("cpu.rt_runtime_us", CPU, Unit::Microseconds, REAL_TIME_RUNTIME)
        .v1(old_read_write(25).reads("0").config(REAL_TIME))
        .without_counterpart(NO_REAL_TIME)
        .about("CPU time for real-time tasks in each period; 0 allows none"),
    setting("cpu.rt_period_us", CPU, Unit::Microseconds, REAL_TIME_PERIOD)
        .v1(old_read_write(25).reads("1000000").config(REAL_TIME))
        .without_counterpart(NO_REAL_TIME)
        .about("length of the period of `cpu.rt_runtime_us`"),
    reading("cpu.stat", CPU, Unit::Table)
        .v2(read_only(4, 15).core())
        .v1(read_only(3, 2).config(BANDWIDTH))
        .about("CPU time used (v2), periods, and how often and how long the group was throttled"),
    reading("cpu.stat.local", CPU, Unit::Table)
        .v2(read_only(6, 6).core())
        .v1(read_only(6, 6).config(BANDWIDTH))
        .about("how long the group's own run queues were throttled, by its quota or one above"),
    setting("cpuacct.usage", "cpuacct", Unit::Nanoseconds, R::Integer { low: 0, high: 0 })
        .v1(old_read_write(24).reads("0"))
        .as_files(&["cpu.stat"])
        .about("CPU time used; writing 0 resets it"),
    reading("cpuacct.usage_user", "cpuacct", Unit::Nanoseconds)
        .v1(read_only(4, 8).reads("0"))
        .as_files(&["cpu.stat"])
        .about("CPU time used in user mode"),
    reading("cpuacct.usage_sys", "cpuacct", Unit::Nanoseconds)
        .v1(read_only(4, 8).reads("0"))
        .as_files(&["cpu.stat"])
        .about("CPU time used in the kernel"),
    reading("cpuacct.usage_percpu", "cpuacct", Unit::Nanoseconds)
        .v1(old_read_only(30))
        .without_counterpart(NO_CPUS)
        .about("CPU time used on each CPU"),
    reading("cpuacct.usage_percpu_user", "cpuacct", Unit::Nanoseconds)
        .v1(read_only(4, 8))
        .without_counterpart(NO_CPUS)
        .about("CPU time used in user mode on each CPU"),
    reading("cpuacct.usage_percpu_sys", "cpuacct", Unit::Nanoseconds)
        .v1(read_only(4, 8))
        .without_counterpart(NO_CPUS)
        .about("CPU time used in the kernel on each CPU"),
    reading("cpuacct.usage_all", "cpuacct", Unit::Table)
        .v1(read_only(4, 9))
        .without_counterpart(NO_CPUS)
        .about("a table of both per CPU"),
    reading("cpuacct.stat", "cpuacct", Unit::Ticks)
        .v1(old_read_only(30))
        .as_files(&["cpu.stat"])
        .about("CPU time used in user mode and in the kernel"),
];

const NO_CPUS: &str = "v2 has no counters per CPU";
const LONGEST_QUOTA: u64 = (1 << 44) - 1;
const QUOTA: R = R::MicrosecondsOrMinusOne { low: 1_000, high: LONGEST_QUOTA };
const PERIOD: R = R::Microseconds { low: 1_000, high: 1_000_000 };
const BURST: R = R::Microseconds { low: 0, high: LONGEST_QUOTA };
const REAL_TIME_PERIOD: R = R::Microseconds { low: 1, high: i32::MAX as u64 };
const REAL_TIME_RUNTIME: R = R::MicrosecondsOrMinusOne { low: 0, high: i32::MAX as u64 };
