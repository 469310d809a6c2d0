//! Countable resources. perf_event has no files and needs no entry.

use crate::knob::entry::build::{reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{read_only, read_write};
use crate::knob::range::ValueRange as R;

const COUNT: R = R::NamedNumber { is_bytes: false, may_be_max: true };
const AMOUNT: R = R::NamedNumber { is_bytes: true, may_be_max: true };

pub(super) const SOURCE: &str = "cgroup-v2.rst, \"RDMA\", \"Misc\" and \"DMEM\"; kernel/cgroup/rdma.c (peak, events: 7.2.13 has them, 6.12.117 not); kernel/cgroup/misc.c; kernel/cgroup/dmem.c (peak: 7.3.4 has it, 7.2.13 not)";

pub(super) static KNOBS: &[Knob] = &[
    setting("rdma.max", "rdma", Unit::Table, R::NamedKeys(&["hca_handle", "hca_object"]))
        .both(read_write(4, 11).inside())
        .about("limits on handles and objects of an RDMA adapter"),
    reading("rdma.current", "rdma", Unit::Table)
        .both(read_only(4, 11).inside())
        .about("handles and objects in use"),
    reading("rdma.peak", "rdma", Unit::Table)
        .both(read_only(7, 2).inside())
        .about("peak of handles and objects in use"),
    reading("rdma.events", "rdma", Unit::Table)
        .both(read_only(7, 2).inside())
        .about("how often the limit was hit, including descendants"),
    reading("rdma.events.local", "rdma", Unit::Table)
        .both(read_only(7, 2).inside())
        .about("how often this group's limit refused (`max`), and requests of its own were refused (`alloc_fail`)"),
    reading("misc.capacity", "misc", Unit::Table)
        .both(read_only(5, 13).root_only())
        .about("resources of the machine, such as keys for encrypted guests"),
    setting("misc.max", "misc", Unit::Table, COUNT)
        .both(read_write(5, 13).inside())
        .about("limit on such a resource"),
    reading("misc.current", "misc", Unit::Table)
        .both(read_only(5, 13).in_root_since(6, 8))
        .about("such resources in use"),
    reading("misc.peak", "misc", Unit::Table)
        .both(read_only(6, 11))
        .about("peak of such resources in use"),
    reading("misc.events", "misc", Unit::Table)
        .both(read_only(5, 16).inside())
        .about("how often the limit was hit, including descendants"),
    reading("misc.events.local", "misc", Unit::Table)
        .both(read_only(6, 11).inside())
        .about("how often this group itself hit the limit"),
    reading("dmem.capacity", "dmem", Unit::Table)
        .both(read_only(6, 14).root_only())
        .about("device memory, by region"),
    setting("dmem.min", "dmem", Unit::Table, AMOUNT)
        .both(read_write(6, 14).inside())
        .about("device memory of the group that is never reclaimed"),
    setting("dmem.low", "dmem", Unit::Table, AMOUNT)
        .both(read_write(6, 14).inside())
        .about("device memory of the group that is reclaimed only if nothing unprotected is left"),
    setting("dmem.max", "dmem", Unit::Table, AMOUNT)
        .both(read_write(6, 14).inside())
        .about("limit on device memory"),
    reading("dmem.current", "dmem", Unit::Table)
        .both(read_only(6, 14).inside())
        .about("device memory in use"),
    reading("dmem.peak", "dmem", Unit::Table)
        .both(read_only(7, 3).inside())
        .about("peak of device memory in use"),
];
