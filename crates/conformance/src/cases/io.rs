//! io (blkio on v1): caps, weights, classes and counters, on a disk created for the case.

mod cap;
mod class;
mod disk;
mod stat;
mod weight;

use assay_kernel::Error;

use crate::case::Case;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::Outcome;

const V2: &str = "Documentation/admin-guide/cgroup-v2.rst, IO Interface Files";
const THROTTLE: &str = "Documentation/admin-guide/cgroup-v2.rst, io.max; cgroup-v1/blkio-controller.rst, Throttling/Upper limit policy";
const BFQ: &str = "Documentation/block/bfq-iosched.rst, 4. BFQ group scheduling";

/// blkio.throttle or io.max, on a loop disk.
const CAPPED: &[Need] = &[
    Need::Controller("io"),
    Need::Root,
    Need::Loop,
    Need::FileBy("blkio.throttle.read_bps_device", "io.max"),
];
/// BFQ's weights, on a loop disk.
const WEIGHTED: &[Need] = &[
    Need::Controller("io"),
    Need::Root,
    Need::Loop,
    Need::FileBy("blkio.bfq.weight", "io.bfq.weight"),
];

const fn case(
    behaviour: &'static str,
    promise: &'static str,
    documented: &'static str,
    needs: &'static [Need],
    run: fn(&mut Fixture) -> Result<Outcome, Error>,
) -> Case {
    Case { controller: "io", behaviour, promise, documented, needs, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "max-caps-bytes",
        "A group reads no more bytes per second than io.max allows.",
        THROTTLE,
        CAPPED,
        cap::bytes,
    ),
    case(
        "max-caps-requests",
        "A group makes no more requests per second than io.max allows.",
        THROTTLE,
        CAPPED,
        cap::requests,
    ),
    case(
        "max-leaves-siblings-alone",
        "A limit of one group does not apply to its sibling.",
        THROTTLE,
        CAPPED,
        cap::sibling,
    ),
    case(
        "max-far-above-use-does-nothing",
        "A group below its limit is not slowed down.",
        THROTTLE,
        CAPPED,
        cap::below_capacity,
    ),
    case(
        "bfq-weights-divide-a-saturated-disk",
        "Backlogged groups with BFQ weights 1:2:4 get disk time 1:2:4.",
        BFQ,
        WEIGHTED,
        weight::bfq,
    ),
    case(
        "bfq-weights-do-nothing-on-a-disk-with-room",
        "BFQ weights take nothing from groups that together leave the disk partly idle.",
        BFQ,
        WEIGHTED,
        weight::bfq_room,
    ),
    case(
        "iocost-weights-divide-a-saturated-disk",
        "Backlogged groups with io.weight 1:2:4 get the capacity of the cost model 1:2:4.",
        V2,
        &[Need::OnV2("io"), Need::Root, Need::Loop, Need::File("io.weight")],
        weight::iocost,
    ),
    case(
        "idle-class-yields",
        "On a saturated disk, a group of the class idle yields to one of the class best-effort.",
        "Documentation/admin-guide/cgroup-v2.rst, IO Priority",
        &[
            Need::Controller("io"),
            Need::Root,
            Need::Loop,
            Need::FileBy("blkio.prio.class", "io.prio.class"),
        ],
        class::idle,
    ),
    case(
        "stat-counts-what-was-read",
        "The counters of a group grow by exactly what its processes have read.",
        V2,
        CAPPED,
        stat::counts_own,
    ),
    case(
        "stat-leaves-others-out",
        "The counters of a group do not grow by a sibling's reads.",
        V2,
        CAPPED,
        stat::ignores_others,
    ),
];
