//! The number of processes.

use crate::knob::entry::build::{reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{read_only, read_write};
use crate::knob::range::ValueRange as R;

const PIDS: &str = "pids";
/// The largest process id (include/linux/threads.h: PID_MAX_LIMIT).
const LIMIT: R = R::IntegerOrMax { low: 0, high: 4_194_304 };

pub(super) const SOURCE: &str =
    "cgroup-v2.rst, \"PID Interface Files\"; cgroup-v1/pids.rst; kernel/cgroup/pids.c";

pub(super) static KNOBS: &[Knob] = &[
    setting("pids.max", PIDS, Unit::Tasks, LIMIT)
        .both(read_write(4, 3).inside().reads("max"))
        .about("limit on processes and threads; fork beyond it fails with EAGAIN"),
    reading("pids.current", PIDS, Unit::Tasks)
        .both(read_only(4, 3).inside().reads("0"))
        .about("processes and threads, including descendants"),
    reading("pids.peak", PIDS, Unit::Tasks)
        .both(read_only(6, 1).inside().reads("0"))
        .about("peak of processes and threads"),
    reading("pids.events", PIDS, Unit::Table)
        .both(read_only(4, 8).inside().reads("max 0"))
        .about("how often a fork was refused; including descendants since 6.11 on v2"),
    reading("pids.events.local", PIDS, Unit::Table)
        .v2(read_only(6, 11).inside().reads("max 0"))
        .without_counterpart("v1 counts each group separately in `pids.events`")
        .about("how often this group itself refused a fork"),
];
