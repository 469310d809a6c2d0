//! Things that come in numbers: cgroup-v2.rst "RDMA", "Misc" and "DMEM". perf_event, which has no
//! file at all, needs no entry.

use crate::file::{read_only, read_write};
use crate::knob::build::{reading, setting};
use crate::knob::{Knob, Unit};
use crate::range::ValueRange as R;

const COUNT: R = R::NamedNumber { is_bytes: false, may_be_max: true };
const AMOUNT: R = R::NamedNumber { is_bytes: true, may_be_max: true };

pub(super) static KNOBS: &[Knob] = &[
    setting("rdma.max", "rdma", Unit::Table, R::NamedKeys(&["hca_handle", "hca_object"]))
        .both(read_write(4, 11).inside())
        .about("handles and objects of an RDMA adapter that a group may hold"),
    reading("rdma.current", "rdma", Unit::Table)
        .both(read_only(4, 11).inside())
        .about("handles and objects in use"),
    reading("misc.capacity", "misc", Unit::Table)
        .both(read_only(5, 13).root_only())
        .about("resources of the machine, such as keys for encrypted guests"),
    setting("misc.max", "misc", Unit::Table, COUNT)
        .both(read_write(5, 13).inside())
        .about("such resources that a group may hold"),
    reading("misc.current", "misc", Unit::Table)
        .both(read_only(5, 13).in_root_since(6, 8))
        .about("such resources in use"),
    reading("misc.peak", "misc", Unit::Table).both(read_only(6, 11)).about("the most in use"),
    reading("misc.events", "misc", Unit::Table)
        .both(read_only(5, 16).inside())
        .about("how often the limit was met, here and inside"),
    reading("misc.events.local", "misc", Unit::Table)
        .both(read_only(6, 11).inside())
        .about("how often the limit was met by this group itself"),
    reading("dmem.capacity", "dmem", Unit::Table)
        .both(read_only(6, 14).root_only())
        .about("memory of devices, by region"),
    setting("dmem.min", "dmem", Unit::Table, AMOUNT)
        .both(read_write(6, 14).inside())
        .about("memory of a device that is never taken from the group"),
    setting("dmem.low", "dmem", Unit::Table, AMOUNT)
        .both(read_write(6, 14).inside())
        .about("memory of a device that is taken only when nothing unprotected is left"),
    setting("dmem.max", "dmem", Unit::Table, AMOUNT)
        .both(read_write(6, 14).inside())
        .about("memory of a device that a group may use"),
    reading("dmem.current", "dmem", Unit::Table)
        .both(read_only(6, 14).inside())
        .about("memory of devices in use"),
];
