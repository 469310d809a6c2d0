//! Block I/O on v2.

use crate::knob::device::{Key, KeyKind};
use crate::knob::entry::build::{reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{read_only, read_write};
use crate::knob::range::ValueRange as R;

const IO: &str = "io";
const THROTTLING: &str = "CONFIG_BLK_DEV_THROTTLING";
const IOCOST: &str = "CONFIG_BLK_CGROUP_IOCOST";
const BFQ: &str = "the scheduler bfq is loaded (CONFIG_BFQ_GROUP_IOSCHED)";
const NO_MODEL: &str = "iocost exists on v2 only";

pub(super) const SOURCE: &str = "cgroup-v2.rst, \"IO Interface Files\"; block/bfq-iosched.rst; block/blk-iocost.c; block/blk-throttle.c; block/blk-iolatency.c; block/blk-ioprio.c; block/bfq-cgroup.c (bfq_blkg_files)";

pub(super) static KNOBS: &[Knob] = &[
    setting("io.weight", IO, Unit::Weight, R::Weights { low: 1, high: 10_000 })
        .v2(read_write(5, 4).inside().reads("default 100").config(IOCOST))
        .as_files(&["blkio.bfq.weight"])
        .about("weight of disk time relative to sibling groups, implemented by iocost or the scheduler"),
    setting("io.bfq.weight", IO, Unit::Weight, R::Weights { low: 1, high: 1_000 })
        .v2(read_write(4, 12)
            .inside()
            .reads("default 100")
            .config("CONFIG_BFQ_GROUP_IOSCHED")
            .needs(BFQ))
        .as_files(&["blkio.bfq.weight"])
        .about("weight of disk time relative to sibling groups, under the scheduler bfq"),
    setting("io.max", IO, Unit::Rates, R::DeviceKeys(LIMITS))
        .v2(read_write(4, 5).inside().reads("").config(THROTTLING))
        .as_files(&[
            "blkio.throttle.read_bps_device",
            "blkio.throttle.write_bps_device",
            "blkio.throttle.read_iops_device",
            "blkio.throttle.write_iops_device",
        ])
        .about("limits on bytes and requests per second for a disk"),
    setting("io.latency", IO, Unit::Microseconds, R::DeviceKeys(LATENCY))
        .v2(read_write(4, 19).inside().reads("").config("CONFIG_BLK_CGROUP_IOLATENCY"))
        .without_counterpart("v1 has no latency targets")
        .about("latency target; sibling groups with a larger target are slowed down to meet it; Debian's kernels lack it"),
    setting("io.prio.class", IO, Unit::Word, R::Words(PRIORITIES))
        .v2(read_write(5, 14).reads("no-change").config("CONFIG_BLK_CGROUP_IOPRIO"))
        .as_files(&["blkio.prio.class"])
        .about("how the I/O priority of the group's requests is changed"),
    setting("io.cost.qos", IO, Unit::Table, R::DeviceKeys(QUALITY))
        .v2(read_write(5, 4).root_only().config(IOCOST))
        .without_counterpart(NO_MODEL)
        .about("whether iocost controls a disk, and its latency targets"),
    setting("io.cost.model", IO, Unit::Table, R::DeviceKeys(MODEL))
        .v2(read_write(5, 4).root_only().config(IOCOST))
        .without_counterpart(NO_MODEL)
        .about("the performance that iocost assumes for a disk"),
    reading("io.stat", IO, Unit::Table)
        .v2(read_only(4, 5))
        .as_files(&[
            "blkio.throttle.io_service_bytes_recursive",
            "blkio.throttle.io_serviced_recursive",
        ])
        .about("bytes and requests per disk"),
    setting("io.low", IO, Unit::Rates, R::Text)
        .v2(read_write(4, 13).until(6, 10).inside().config("CONFIG_BLK_DEV_THROTTLING_LOW"))
        .without_counterpart("it was an experiment on v2")
        .about("protected throughput; an experiment that was removed"),
];

const LIMITS: &[Key] = &[
    Key::new("rbps", KeyKind::RateOrMax),
    Key::new("wbps", KeyKind::RateOrMax),
    Key::new("riops", KeyKind::CountOrMax),
    Key::new("wiops", KeyKind::CountOrMax),
];
const LATENCY: &[Key] = &[Key::new("target", KeyKind::Microseconds)];
/// `none-to-rt` is the old name of `promote-to-rt`, which came with 6.5.
const PRIORITIES: &[&str] = &["no-change", "promote-to-rt", "none-to-rt", "restrict-to-be", "idle"];
const CONTROL: KeyKind = KeyKind::Words(&["auto", "user"]);
const QUALITY: &[Key] = &[
    Key::new("enable", KeyKind::Words(&["0", "1"])),
    Key::new("ctrl", CONTROL),
    Key::new("rpct", KeyKind::Percent),
    Key::new("rlat", KeyKind::Microseconds),
    Key::new("wpct", KeyKind::Percent),
    Key::new("wlat", KeyKind::Microseconds),
    Key::new("min", KeyKind::Percent),
    Key::new("max", KeyKind::Percent),
];
const MODEL: &[Key] = &[
    Key::new("ctrl", CONTROL),
    Key::new("model", KeyKind::Words(&["linear"])),
    Key::new("rbps", KeyKind::Rate),
    Key::new("rseqiops", KeyKind::Count),
    Key::new("rrandiops", KeyKind::Count),
    Key::new("wbps", KeyKind::Rate),
    Key::new("wseqiops", KeyKind::Count),
    Key::new("wrandiops", KeyKind::Count),
];
