//! Numbers of processes: cgroup-v2.rst "PID", cgroup-v1/pids.rst.

use crate::file::{read_only, read_write};
use crate::knob::build::{reading, setting};
use crate::knob::{Knob, Unit};
use crate::range::ValueRange as R;

const PIDS: &str = "pids";
/// The largest process number there is (include/linux/threads.h: PID_MAX_LIMIT).
const MOST: R = R::IntegerOrMax { low: 0, high: 4_194_304 };

pub(super) static KNOBS: &[Knob] = &[
    setting("pids.max", PIDS, Unit::Tasks, MOST)
        .both(read_write(4, 3).inside().reads("max"))
        .about("processes and threads that a group may hold; fork beyond ends in EAGAIN"),
    reading("pids.current", PIDS, Unit::Tasks)
        .both(read_only(4, 3).inside().reads("0"))
        .about("processes and threads of the group and those inside"),
    reading("pids.peak", PIDS, Unit::Tasks)
        .both(read_only(6, 1).inside().reads("0"))
        .about("the most there have been"),
    reading("pids.events", PIDS, Unit::Table)
        .both(read_only(4, 8).inside().reads("max 0"))
        .about("how often a fork was refused; with the groups inside since 6.11 on v2"),
    reading("pids.events.local", PIDS, Unit::Table)
        .v2(read_only(6, 11).inside().reads("max 0"))
        .nowhere_else("v1 counts each group by itself in `pids.events`")
        .about("how often a fork was refused by this group itself"),
];
