//! Huge pages, one set of files per size.

use crate::knob::entry::build::{reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{read_only, read_write};
use crate::knob::range::ValueRange as R;

// The text for no limit differs: `max` in some kernels, and 2^63 less a page in a new group of
// Linux 6.18, which reads `max` only after `max` was written. So the table has no default.

const HUGETLB: &str = "hugetlb";
const RESET: R = R::Integer { low: 0, high: 0 };

pub(super) const SOURCE: &str =
    "cgroup-v2.rst, \"HugeTLB Interface Files\"; cgroup-v1/hugetlb.rst; mm/hugetlb_cgroup.c";

pub(super) static KNOBS: &[Knob] = &[
    setting("hugetlb.<size>.max", HUGETLB, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(5, 6).inside())
        .as_files(&["hugetlb.<size>.limit_in_bytes"])
        .about("limit on huge pages in use; a page beyond it raises SIGBUS"),
    setting("hugetlb.<size>.rsvd.max", HUGETLB, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(5, 7).inside())
        .as_files(&["hugetlb.<size>.rsvd.limit_in_bytes"])
        .about("limit on reserved huge pages; mmap beyond it fails"),
    reading("hugetlb.<size>.current", HUGETLB, Unit::Bytes)
        .v2(read_only(5, 6).inside().reads("0"))
        .as_files(&["hugetlb.<size>.usage_in_bytes"])
        .about("huge pages in use"),
    reading("hugetlb.<size>.rsvd.current", HUGETLB, Unit::Bytes)
        .v2(read_only(5, 7).inside().reads("0"))
        .as_files(&["hugetlb.<size>.rsvd.usage_in_bytes"])
        .about("huge pages reserved or in use"),
    reading("hugetlb.<size>.events", HUGETLB, Unit::Table)
        .v2(read_only(5, 6).inside().reads("max 0"))
        .as_files(&["hugetlb.<size>.failcnt", "hugetlb.<size>.rsvd.failcnt"])
        .about("how often huge pages or reservations of the group and its descendants were refused, by any group's limit"),
    reading("hugetlb.<size>.events.local", HUGETLB, Unit::Table)
        .v2(read_only(5, 6).inside().reads("max 0"))
        .without_counterpart("v1 counts in the group whose limit refused")
        .about("how often huge pages or reservations of this group itself were refused, by its limit or one above"),
    reading("hugetlb.<size>.numa_stat", HUGETLB, Unit::Table)
        .v2(read_only(5, 17).inside())
        .v1(read_only(5, 17))
        .about("huge pages in use on each memory node"),
    setting("hugetlb.<size>.limit_in_bytes", HUGETLB, Unit::Bytes, R::BytesOrMinusOne)
        .v1(read_write(3, 6))
        .as_files(&["hugetlb.<size>.max"])
        .about("limit on huge pages in use; a page beyond it raises SIGBUS"),
    setting("hugetlb.<size>.rsvd.limit_in_bytes", HUGETLB, Unit::Bytes, R::BytesOrMinusOne)
        .v1(read_write(5, 7))
        .as_files(&["hugetlb.<size>.rsvd.max"])
        .about("limit on reserved huge pages; mmap beyond it fails"),
    reading("hugetlb.<size>.usage_in_bytes", HUGETLB, Unit::Bytes)
        .v1(read_only(3, 6).reads("0"))
        .as_files(&["hugetlb.<size>.current"])
        .about("huge pages in use"),
    reading("hugetlb.<size>.rsvd.usage_in_bytes", HUGETLB, Unit::Bytes)
        .v1(read_only(5, 7).reads("0"))
        .as_files(&["hugetlb.<size>.rsvd.current"])
        .about("huge pages reserved or in use"),
    setting("hugetlb.<size>.max_usage_in_bytes", HUGETLB, Unit::Bytes, RESET)
        .v1(read_write(3, 6).reads("0"))
        .without_counterpart("v2 has no peak of huge pages")
        .about("peak of huge pages in use; writing 0 resets it"),
    setting("hugetlb.<size>.rsvd.max_usage_in_bytes", HUGETLB, Unit::Bytes, RESET)
        .v1(read_write(5, 7).reads("0"))
        .without_counterpart("v2 has no peak of huge pages")
        .about("peak of reserved huge pages; writing 0 resets it"),
    setting("hugetlb.<size>.failcnt", HUGETLB, Unit::Count, RESET)
        .v1(read_write(3, 6).reads("0"))
        .as_files(&["hugetlb.<size>.events"])
        .about("how often the limit was hit; writing 0 resets it"),
    setting("hugetlb.<size>.rsvd.failcnt", HUGETLB, Unit::Count, RESET)
        .v1(read_write(5, 7).reads("0"))
        .as_files(&["hugetlb.<size>.events"])
        .about("how often the limit on reservations was hit; writing 0 resets it"),
];
