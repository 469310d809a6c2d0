//! Devices and the freezer.

use crate::knob::entry::build::{reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{old_read_only, old_read_write, old_write_only, read_only};
use crate::knob::range::ValueRange as R;

const DEVICES: &str = "devices";
const FREEZER: &str = "freezer";
const PROGRAM: &str = "an eBPF device program attached to the group decides";

pub(super) const SOURCE: &str = "cgroup-v1/devices.rst; cgroup-v1/freezer-subsystem.rst; security/device_cgroup.c; kernel/cgroup/legacy_freezer.c";

pub(super) static KNOBS: &[Knob] = &[
    setting("devices.allow", DEVICES, Unit::Word, R::DeviceRules)
        .v1(old_write_only(26))
        .by_means(PROGRAM)
        .about("devices that a group may open and create"),
    setting("devices.deny", DEVICES, Unit::Word, R::DeviceRules)
        .v1(old_write_only(26))
        .by_means(PROGRAM)
        .about("devices that a group may not open or create: the attempt fails with EPERM"),
    reading("devices.list", DEVICES, Unit::Word)
        .v1(old_read_only(26).reads("a *:* rwm"))
        .without_counterpart("the rules of a device program cannot be read back from the kernel")
        .about("the rules in effect"),
    setting("freezer.state", FREEZER, Unit::Word, R::Words(&["FROZEN", "THAWED"]))
        .v1(old_read_write(28).inside().reads("THAWED"))
        .as_files(&["cgroup.freeze"])
        .about(
            "freezes every process of the group and its descendants; FREEZING until all are frozen",
        ),
    reading("freezer.self_freezing", FREEZER, Unit::Switch)
        .v1(read_only(3, 8).inside().reads("0"))
        .as_files(&["cgroup.freeze"])
        .about("whether the group itself is set to freeze"),
    reading("freezer.parent_freezing", FREEZER, Unit::Switch)
        .v1(read_only(3, 8).inside().reads("0"))
        .without_counterpart("v2 shows the state in `cgroup.events` of each group")
        .about("whether an ancestor is set to freeze"),
];
