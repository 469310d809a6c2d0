//! Network traffic. Neither exists on v2.

use crate::knob::entry::build::{reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{old_read_write, read_only, read_write};
use crate::knob::range::ValueRange as R;

const BY_PATH: &str =
    "on v2 xt_cgroup matches the path of a group, and eBPF programs filter packets";

pub(super) const SOURCE: &str = "cgroup-v1/net_cls.rst; cgroup-v1/net_prio.rst; net/core/netclassid_cgroup.c; net/core/netprio_cgroup.c";

pub(super) static KNOBS: &[Knob] = &[
    setting("net_cls.classid", "net_cls", Unit::Word, R::ClassId)
        .v1(old_read_write(29).reads("0"))
        .without_counterpart(BY_PATH)
        .about("traffic class of the group's packets for `tc` and iptables; reads in decimal"),
    setting("net_prio.ifpriomap", "net_prio", Unit::Table, PRIORITY)
        .v1(read_write(3, 3))
        .without_counterpart(BY_PATH)
        .about("priority of the group's packets on each interface"),
    reading("net_prio.prioidx", "net_prio", Unit::Count)
        .v1(read_only(3, 3))
        .without_counterpart(BY_PATH)
        .about("the kernel's number for the group"),
];

const PRIORITY: R = R::NamedNumber { is_bytes: false, may_be_max: false };
