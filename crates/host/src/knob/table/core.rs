//! The files of every group, independent of its controllers.

use crate::knob::entry::build::{action, reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{old_read_write, read_only, read_write, write_only};
use crate::knob::range::ValueRange as R;

const GROUP: &str = "cgroup";
const NO_PRESSURE: &str = "v1 has no pressure per group; /proc/pressure is that of the machine";
const PSI: &str =
    "pressure stall information is enabled (CONFIG_PSI, and psi=1 if disabled by default)";
const ANY: R = R::IntegerOrMax { low: 0, high: i32::MAX as i64 };

pub(super) const SOURCE: &str = "cgroup-v2.rst, \"Core Interface Files\"; cgroup-v1/cgroups.rst; accounting/psi.rst; kernel/cgroup/cgroup.c (cgroup_base_files); kernel/cgroup/cgroup-v1.c (cgroup1_base_files)";

pub(super) static KNOBS: &[Knob] = &[
    setting("cgroup.type", GROUP, Unit::Word, R::Words(&["threaded"]))
        .v2(read_write(4, 14).inside().core().reads("domain"))
        .without_counterpart("on v1 every group accepts single threads (`tasks`)")
        .about("whether the group accepts processes or single threads"),
    action("cgroup.procs", GROUP, Unit::Tasks, R::Text)
        .v2(read_write(4, 5).core().reads(""))
        .v1(old_read_write(24).core().reads(""))
        .about("processes of the group; writing one id moves that process into it"),
    action("cgroup.threads", GROUP, Unit::Tasks, R::Text)
        .v2(read_write(4, 14).core().reads(""))
        .as_files(&["tasks"])
        .about("threads of the group; writing one id moves that thread into it"),
    action("tasks", GROUP, Unit::Tasks, R::Text)
        .v1(old_read_write(24).core().reads(""))
        .as_files(&["cgroup.threads"])
        .about("threads of the group; writing one id moves that thread into it"),
    reading("cgroup.controllers", GROUP, Unit::Word)
        .v2(read_only(4, 5).core())
        .without_counterpart("v1 mounts each controller separately; see /proc/mounts")
        .about("controllers that this group can enable for its children"),
    action("cgroup.subtree_control", GROUP, Unit::Word, R::Text)
        .v2(read_write(4, 5).core().reads(""))
        .without_counterpart("on v1 the controllers of a hierarchy are enabled in all of its groups")
        .about("controllers enabled for the children, written as `+cpu -io`"),
    reading("cgroup.events", GROUP, Unit::Table)
        .v2(read_only(4, 5).inside().core())
        .without_counterpart("v1 runs `release_agent` when a group becomes empty")
        .about("whether the group has processes, and whether all are frozen; wakes pollers"),
    setting("cgroup.max.descendants", GROUP, Unit::Count, ANY)
        .v2(read_write(4, 14).core().reads("max"))
        .without_counterpart("v1 has no limit on the number of groups")
        .about("limit on the number of descendants; mkdir beyond it fails with EAGAIN"),
    setting("cgroup.max.depth", GROUP, Unit::Count, ANY)
        .v2(read_write(4, 14).core().reads("max"))
        .without_counterpart("v1 has no limit on the depth of groups")
        .about("limit on the levels below; mkdir beyond it fails with EAGAIN"),
    reading("cgroup.stat", GROUP, Unit::Table)
        .v2(read_only(4, 14).core())
        .without_counterpart("v1 counts groups in /proc/cgroups only")
        .about("number of descendants, and of removed groups that still hold memory (dying)"),
    reading("cgroup.stat.local", GROUP, Unit::Table)
        .v2(read_only(6, 18).inside().core())
        .without_counterpart("v1 does not count the time that a group was frozen")
        .about("time for which this group was frozen, in microseconds"),
    setting("cgroup.freeze", GROUP, Unit::Switch, R::Switch)
        .v2(read_write(5, 2).inside().core().reads("0"))
        .as_files(&["freezer.state"])
        .about("freezes every process of the group and its descendants; completion is shown in `cgroup.events`"),
    action("cgroup.kill", GROUP, Unit::Switch, R::Integer { low: 1, high: 1 })
        .v2(write_only(5, 14).inside().core())
        .without_counterpart("on v1 the group is frozen and each process of `cgroup.procs` is killed")
        .about("writing 1 kills every process of the group and its descendants"),
    setting("cgroup.pressure", GROUP, Unit::Switch, R::Switch)
        .v2(read_write(6, 1).core().reads("1").config("CONFIG_PSI").needs(PSI))
        .without_counterpart(NO_PRESSURE)
        .about("whether pressure is counted for the group"),
    action("cpu.pressure", GROUP, Unit::Table, R::Text)
        .v2(read_write(4, 20).core().config("CONFIG_PSI").needs(PSI))
        .without_counterpart(NO_PRESSURE)
        .about("time that tasks waited for a CPU; writing sets a trigger for poll"),
    action("memory.pressure", GROUP, Unit::Table, R::Text)
        .v2(read_write(4, 20).core().config("CONFIG_PSI").needs(PSI))
        .without_counterpart(NO_PRESSURE)
        .about("time that tasks waited for memory; writing sets a trigger for poll"),
    action("io.pressure", GROUP, Unit::Table, R::Text)
        .v2(read_write(4, 20).core().config("CONFIG_PSI").needs(PSI))
        .without_counterpart(NO_PRESSURE)
        .about("time that tasks waited for I/O; writing sets a trigger for poll"),
    action("irq.pressure", GROUP, Unit::Table, R::Text)
        .v2(read_write(6, 1).core().config("CONFIG_IRQ_TIME_ACCOUNTING").needs(
            "pressure is enabled, and the time of interrupts is counted (CONFIG_IRQ_TIME_ACCOUNTING)",
        ))
        .without_counterpart(NO_PRESSURE)
        .about("time that interrupts took from tasks; writing sets a trigger for poll"),
    setting("notify_on_release", GROUP, Unit::Switch, R::Switch)
        .v1(old_read_write(24).core().reads("0"))
        .without_counterpart("v2 wakes pollers of `cgroup.events` instead")
        .about("whether `release_agent` runs when the group becomes empty"),
    setting("release_agent", GROUP, Unit::Word, R::Text)
        .v1(old_read_write(24).root_only().core())
        .without_counterpart("v2 wakes pollers of `cgroup.events` instead")
        .about("the program to run when a group becomes empty"),
    setting("cgroup.clone_children", GROUP, Unit::Switch, R::Switch)
        .v1(old_read_write(37).core().reads("0"))
        .without_counterpart("on v2 an unset cpuset inherits from the parent group")
        .about("whether a new cpuset starts with the lists of the parent group"),
    reading("cgroup.sane_behavior", GROUP, Unit::Switch)
        .v1(read_only(3, 10).root_only().core())
        .without_counterpart("a leftover from before v2")
        .about("always 0"),
];
