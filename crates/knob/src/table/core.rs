//! The files of every group, whatever its controllers: cgroup-v2.rst "Core Interface Files",
//! cgroup-v1/cgroups.rst, accounting/psi.rst.

use crate::condition::Condition as C;
use crate::file::{old_read_write, read_only, read_write, write_only};
use crate::knob::build::{action, reading, setting};
use crate::knob::{Knob, Unit};
use crate::range::ValueRange as R;

const GROUP: &str = "cgroup";
const NO_PRESSURE: &str = "v1 counts no pressure by group; /proc/pressure has that of the machine";
const PSI: &str = "pressure stall information is on (CONFIG_PSI, and psi=1 where it is off)";
const ANY: R = R::IntegerOrMax { low: 0, high: i32::MAX as i64 };

pub(super) static KNOBS: &[Knob] = &[
    setting("cgroup.type", GROUP, Unit::Word, R::Words(&["threaded"]))
        .v2(read_write(4, 14).inside().core().reads("domain"))
        .nowhere_else("on v1 every group takes threads of one process apart (`tasks`)")
        .when(&[C::OneWay])
        .about("whether the group takes processes or single threads"),
    action("cgroup.procs", GROUP, Unit::Tasks, R::Text)
        .v2(read_write(4, 5).core().delegatable().reads(""))
        .v1(old_read_write(24).core().delegatable().reads(""))
        .when(&[C::NoInternalProcesses])
        .about("processes of the group; writing one id moves that process into it"),
    action("cgroup.threads", GROUP, Unit::Tasks, R::Text)
        .v2(read_write(4, 14).core().delegatable().reads(""))
        .as_files(&["tasks"])
        .when(&[C::WithinThreadedDomain])
        .about("threads of the group; writing one id moves that thread into it"),
    action("tasks", GROUP, Unit::Tasks, R::Text)
        .v1(old_read_write(24).core().delegatable().reads(""))
        .as_files(&["cgroup.threads"])
        .about("threads of the group; writing one id moves that thread into it"),
    reading("cgroup.controllers", GROUP, Unit::Word)
        .v2(read_only(4, 5).core())
        .nowhere_else("v1 mounts each controller by itself: /proc/mounts says where")
        .about("controllers that this group may enable for its children"),
    action("cgroup.subtree_control", GROUP, Unit::Word, R::Text)
        .v2(read_write(4, 5).core().delegatable().reads(""))
        .nowhere_else("on v1 the controllers of a hierarchy are at work in every group of it")
        .when(&[C::EnabledAbove, C::NoInternalProcesses])
        .about("controllers enabled for the children, written as `+cpu -io`"),
    reading("cgroup.events", GROUP, Unit::Table)
        .v2(read_only(4, 5).inside().core())
        .nowhere_else("v1 runs `release_agent` instead when a group becomes empty")
        .about("whether there are processes inside, and whether all are frozen; wakes pollers"),
    setting("cgroup.max.descendants", GROUP, Unit::Count, ANY)
        .v2(read_write(4, 14).core().reads("max"))
        .nowhere_else("v1 has no limit on the number of groups")
        .about("groups that may be made below; mkdir beyond ends in EAGAIN"),
    setting("cgroup.max.depth", GROUP, Unit::Count, ANY)
        .v2(read_write(4, 14).core().reads("max"))
        .nowhere_else("v1 has no limit on the depth of groups")
        .about("levels that may be made below; mkdir beyond ends in EAGAIN"),
    reading("cgroup.stat", GROUP, Unit::Table)
        .v2(read_only(4, 14).core())
        .nowhere_else("v1 counts groups in /proc/cgroups only")
        .about("groups below, and removed ones that still hold memory (dying)"),
    reading("cgroup.stat.local", GROUP, Unit::Table)
        .v2(read_only(6, 18).inside().core())
        .nowhere_else("v1 does not count the time that a group was frozen")
        .about("microseconds for which this group was frozen"),
    setting("cgroup.freeze", GROUP, Unit::Switch, R::Switch)
        .v2(read_write(5, 2).inside().core().reads("0"))
        .as_files(&["freezer.state"])
        .about("stops every process of the group and below; done when `cgroup.events` says so"),
    action("cgroup.kill", GROUP, Unit::Switch, R::Integer { low: 1, high: 1 })
        .v2(write_only(5, 14).inside().core())
        .nowhere_else("on v1 the group is frozen and each process of `cgroup.procs` is killed")
        .about("writing 1 kills every process of the group and below"),
    setting("cgroup.pressure", GROUP, Unit::Switch, R::Switch)
        .v2(read_write(6, 1).core().reads("1").config("CONFIG_PSI").needs(PSI))
        .nowhere_else(NO_PRESSURE)
        .about("whether pressure is counted for the group"),
    action("cpu.pressure", GROUP, Unit::Table, R::Text)
        .v2(read_write(4, 20).core().config("CONFIG_PSI").needs(PSI))
        .nowhere_else(NO_PRESSURE)
        .about("time for which tasks waited for a CPU; writing sets a trigger for poll"),
    action("memory.pressure", GROUP, Unit::Table, R::Text)
        .v2(read_write(4, 20).core().config("CONFIG_PSI").needs(PSI))
        .nowhere_else(NO_PRESSURE)
        .about("time for which tasks waited for memory; writing sets a trigger for poll"),
    action("io.pressure", GROUP, Unit::Table, R::Text)
        .v2(read_write(4, 20).core().config("CONFIG_PSI").needs(PSI))
        .nowhere_else(NO_PRESSURE)
        .about("time for which tasks waited for I/O; writing sets a trigger for poll"),
    action("irq.pressure", GROUP, Unit::Table, R::Text)
        .v2(read_write(6, 1).core().config("CONFIG_IRQ_TIME_ACCOUNTING").needs(
            "pressure is on, and the time of interrupts is counted (CONFIG_IRQ_TIME_ACCOUNTING)",
        ))
        .nowhere_else(NO_PRESSURE)
        .about("time that interrupts took from tasks; writing sets a trigger for poll"),
    setting("notify_on_release", GROUP, Unit::Switch, R::Switch)
        .v1(old_read_write(24).core().reads("0"))
        .nowhere_else("v2 wakes those who watch `cgroup.events` instead")
        .about("whether `release_agent` runs when the group becomes empty"),
    setting("release_agent", GROUP, Unit::Word, R::Text)
        .v1(old_read_write(24).root_only().core())
        .nowhere_else("v2 wakes those who watch `cgroup.events` instead")
        .about("program that runs when a group becomes empty"),
    setting("cgroup.clone_children", GROUP, Unit::Switch, R::Switch)
        .v1(old_read_write(37).core().reads("0"))
        .nowhere_else("on v2 a cpuset that is not set takes what the group above has")
        .about("whether a new cpuset begins with the lists of the group above"),
    reading("cgroup.sane_behavior", GROUP, Unit::Switch)
        .v1(read_only(3, 10).root_only().core())
        .nowhere_else("a rest of the time before v2")
        .about("always 0"),
];
