//! Huge pages, a set of files for each size: cgroup-v2.rst "HugeTLB", cgroup-v1/hugetlb.rst.

use crate::condition::Condition as C;
use crate::file::{read_only, read_write};
use crate::knob::build::{reading, setting};
use crate::knob::{Knob, Unit};
use crate::range::ValueRange as R;

// What stands for no limit differs: `max` in some kernels, and 2^63 less a page in a new group of
// Linux 6.18, which reads `max` only after `max` was written. So the table claims no default.

const HUGETLB: &str = "hugetlb";
const RESET: R = R::Integer { low: 0, high: 0 };

pub(super) static KNOBS: &[Knob] = &[
    setting("hugetlb.<size>.max", HUGETLB, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(5, 6).inside())
        .as_files(&["hugetlb.<size>.limit_in_bytes"])
        .when(&[C::WholeHugePages])
        .about("huge pages that a group may use; a page beyond ends in SIGBUS"),
    setting("hugetlb.<size>.rsvd.max", HUGETLB, Unit::Bytes, R::BytesOrMax)
        .v2(read_write(5, 7).inside())
        .as_files(&["hugetlb.<size>.rsvd.limit_in_bytes"])
        .when(&[C::WholeHugePages])
        .about("huge pages that a group may reserve; mmap beyond fails"),
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
        .as_files(&["hugetlb.<size>.failcnt"])
        .about("how often the limit was met, here and inside"),
    reading("hugetlb.<size>.events.local", HUGETLB, Unit::Table)
        .v2(read_only(5, 6).inside().reads("max 0"))
        .nowhere_else("v1 counts each group by itself in `failcnt`")
        .about("how often the limit was met by this group itself"),
    reading("hugetlb.<size>.numa_stat", HUGETLB, Unit::Table)
        .v2(read_only(5, 17).inside())
        .v1(read_only(5, 17))
        .about("huge pages in use on each memory node"),
    setting("hugetlb.<size>.limit_in_bytes", HUGETLB, Unit::Bytes, R::BytesOrMinusOne)
        .v1(read_write(3, 6))
        .as_files(&["hugetlb.<size>.max"])
        .when(&[C::WholeHugePages])
        .about("huge pages that a group may use; a page beyond ends in SIGBUS"),
    setting("hugetlb.<size>.rsvd.limit_in_bytes", HUGETLB, Unit::Bytes, R::BytesOrMinusOne)
        .v1(read_write(5, 7))
        .as_files(&["hugetlb.<size>.rsvd.max"])
        .when(&[C::WholeHugePages])
        .about("huge pages that a group may reserve; mmap beyond fails"),
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
        .nowhere_else("v2 keeps no peak of huge pages")
        .about("the most huge pages; writing 0 begins anew"),
    setting("hugetlb.<size>.rsvd.max_usage_in_bytes", HUGETLB, Unit::Bytes, RESET)
        .v1(read_write(5, 7).reads("0"))
        .nowhere_else("v2 keeps no peak of huge pages")
        .about("the most huge pages reserved; writing 0 begins anew"),
    setting("hugetlb.<size>.failcnt", HUGETLB, Unit::Count, RESET)
        .v1(read_write(3, 6).reads("0"))
        .as_files(&["hugetlb.<size>.events"])
        .about("how often the limit was met; writing 0 begins anew"),
    setting("hugetlb.<size>.rsvd.failcnt", HUGETLB, Unit::Count, RESET)
        .v1(read_write(5, 7).reads("0"))
        .nowhere_else("v2 counts no refused reservations")
        .about("how often the limit on reservations was met; writing 0 begins anew"),
];
