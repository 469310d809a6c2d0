//! io (blkio on v1): caps, weights, classes and counters, on a disk created for the case.

mod cap;
mod class;
mod disk;
mod stat;
mod weight;

use crate::case::{Case, Topic};
use crate::need::Need;

/// What the cases have in common, which create a loop disk; each names a file of its own.
const IO: Topic = Topic::new(
    "io",
    "Documentation/admin-guide/cgroup-v2.rst, IO Interface Files",
    &[
        Need::Controller("io"),
        Need::Root,
        Need::Loop,
        Need::FileBy("blkio.throttle.read_bps_device", "io.max"),
    ],
);
const THROTTLE: Topic = IO.documented_in(
    "Documentation/admin-guide/cgroup-v2.rst, io.max; cgroup-v1/blkio-controller.rst, \
     Throttling/Upper limit policy",
);
const BFQ: Topic =
    IO.documented_in("Documentation/block/bfq-iosched.rst, 4. BFQ group scheduling").needing(&[
        Need::Controller("io"),
        Need::Root,
        Need::Loop,
        Need::FileBy("blkio.bfq.weight", "io.bfq.weight"),
    ]);
const CLASS: Topic =
    IO.documented_in("Documentation/admin-guide/cgroup-v2.rst, IO Priority").needing(&[
        Need::Controller("io"),
        Need::Root,
        Need::Loop,
        Need::FileBy("blkio.prio.class", "io.prio.class"),
    ]);

pub(super) const CASES: &[Case] = &[
    THROTTLE.case(
        "max-caps-bytes",
        "A group reads no more bytes per second than io.max allows.",
        cap::bytes,
    ),
    THROTTLE.case(
        "max-caps-requests",
        "A group makes no more requests per second than io.max allows.",
        cap::requests,
    ),
    THROTTLE.case(
        "max-leaves-siblings-alone",
        "A limit of one group does not apply to its sibling.",
        cap::sibling,
    ),
    THROTTLE.case(
        "max-far-above-use-does-nothing",
        "A group below its limit is not slowed down.",
        cap::below_capacity,
    ),
    BFQ.case(
        "bfq-weights-divide-a-saturated-disk",
        "Backlogged groups with BFQ weights 1:2:4 get disk time 1:2:4.",
        weight::bfq,
    ),
    BFQ.case(
        "bfq-weights-do-nothing-on-a-disk-with-room",
        "BFQ weights take nothing from groups that together leave the disk partly idle.",
        weight::bfq_room,
    ),
    IO.needing(&[Need::OnV2("io"), Need::Root, Need::Loop, Need::File("io.weight")]).case(
        "iocost-weights-divide-a-saturated-disk",
        "Backlogged groups with io.weight 1:2:4 get the capacity of the cost model 1:2:4.",
        weight::iocost,
    ),
    CLASS.case(
        "idle-class-yields",
        "On a saturated disk, a group of the class idle yields to one of the class best-effort.",
        class::idle,
    ),
    IO.case(
        "stat-counts-what-was-read",
        "The counters of a group grow by exactly what its processes have read.",
        stat::counts_own,
    ),
    IO.case(
        "stat-leaves-others-out",
        "The counters of a group do not grow by a sibling's reads.",
        stat::ignores_others,
    ),
];
