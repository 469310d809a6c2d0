//! Block I/O on v1.

use crate::knob::entry::build::{action, reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{
    File, old_read_only, old_read_write, old_write_only, read_only, read_write,
};
use crate::knob::range::ValueRange as R;

const IO: &str = "io";
const BFQ: &str = "the scheduler bfq is loaded (CONFIG_BFQ_GROUP_IOSCHED)";
const GROUPED: &str = "CONFIG_BFQ_GROUP_IOSCHED";
const THROTTLING: &str = "CONFIG_BLK_DEV_THROTTLING";
const RATE: R = R::DeviceNumber { high: u64::MAX, is_bytes: true };
const REQUESTS: R = R::DeviceNumber { high: u32::MAX as u64, is_bytes: false };

pub(super) const SOURCE: &str = "cgroup-v1/blkio-controller.rst; block/bfq-iosched.rst; block/blk-throttle.c (throtl_legacy_files); block/bfq-cgroup.c (bfq_blkcg_legacy_files); block/blk-ioprio.c";

pub(super) static KNOBS: &[Knob] = &[
    setting("blkio.bfq.weight", IO, Unit::Weight, R::Integer { low: 1, high: 1_000 })
        .v1(bfq(read_write(4, 12).inside()).reads("100"))
        .as_files(&["io.bfq.weight"])
        .about("weight of disk time relative to sibling groups, under the scheduler bfq"),
    setting(
        "blkio.bfq.weight_device",
        IO,
        Unit::Weight,
        R::DeviceNumber { high: 1_000, is_bytes: false },
    )
    .v1(bfq(read_write(5, 4).inside()).reads("default 100"))
    .as_files(&["io.bfq.weight"])
    .about("the same for one disk; 0 removes it"),
    setting("blkio.throttle.read_bps_device", IO, Unit::Rates, RATE)
        .v1(old_read_write(37).reads("").config(THROTTLING))
        .as_files(&["io.max"])
        .about("bytes per second that a group may read from a disk"),
    setting("blkio.throttle.write_bps_device", IO, Unit::Rates, RATE)
        .v1(old_read_write(37).reads("").config(THROTTLING))
        .as_files(&["io.max"])
        .about("bytes per second that a group may write to a disk"),
    setting("blkio.throttle.read_iops_device", IO, Unit::Rates, REQUESTS)
        .v1(old_read_write(37).reads("").config(THROTTLING))
        .as_files(&["io.max"])
        .about("requests per second that a group may read from a disk"),
    setting("blkio.throttle.write_iops_device", IO, Unit::Rates, REQUESTS)
        .v1(old_read_write(37).reads("").config(THROTTLING))
        .as_files(&["io.max"])
        .about("requests per second that a group may write to a disk"),
    counter("blkio.throttle.io_service_bytes", old_read_only(37).config(THROTTLING))
        .about("bytes per disk, this group only"),
    counter("blkio.throttle.io_serviced", old_read_only(37).config(THROTTLING))
        .about("requests per disk, this group only"),
    counter("blkio.throttle.io_service_bytes_recursive", read_only(4, 18).config(THROTTLING))
        .about("bytes per disk, including descendants"),
    counter("blkio.throttle.io_serviced_recursive", read_only(4, 18).config(THROTTLING))
        .about("requests per disk, including descendants"),
    counter("blkio.bfq.io_service_bytes", bfq(read_only(4, 12)))
        .about("bytes per disk under bfq, this group only"),
    counter("blkio.bfq.io_serviced", bfq(read_only(4, 12)))
        .about("requests per disk under bfq, this group only"),
    counter("blkio.bfq.io_service_bytes_recursive", bfq(read_only(4, 12)))
        .about("bytes per disk under bfq, including descendants"),
    counter("blkio.bfq.io_serviced_recursive", bfq(read_only(4, 12)))
        .about("requests per disk under bfq, including descendants"),
    action("blkio.reset_stats", IO, Unit::Switch, R::Integer { low: 0, high: i64::MAX })
        .v1(old_write_only(35))
        .without_counterpart("on v2 readers subtract earlier values")
        .about("resets the counters"),
    setting("blkio.prio.class", IO, Unit::Word, R::Words(PRIORITIES))
        .v1(read_write(5, 14).reads("no-change").config("CONFIG_BLK_CGROUP_IOPRIO"))
        .as_files(&["io.prio.class"])
        .about("how the I/O priority of the group's requests is changed"),
];

const PRIORITIES: &[&str] = &["no-change", "promote-to-rt", "none-to-rt", "restrict-to-be", "idle"];

const fn bfq(file: File) -> File {
    file.config(GROUPED).needs(BFQ)
}

const fn counter(name: &'static str, file: File) -> Knob {
    reading(name, IO, Unit::Table).v1(file).as_files(&["io.stat"])
}
