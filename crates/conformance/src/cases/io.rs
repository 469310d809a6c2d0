//! io (blkio on v1): caps, weights, classes and counters, on a disk created for the case.

mod backlog;
mod buffered;
mod cap;
mod class;
mod cost;
mod disk;
mod pauses;
mod scheduler;
mod stacked;
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
/// The counters of a v1 group that no scheduler makes.
const V1_STAT: Topic = IO
    .documented_in(
        "Documentation/admin-guide/cgroup-v1/blkio-controller.rst, blkio.throttle.io_service_bytes",
    )
    .needing(&[
        Need::OnV1("io"),
        Need::Root,
        Need::Loop,
        Need::File("blkio.throttle.io_service_bytes"),
    ]);
const THROTTLE: Topic = IO.documented_in(
    "Documentation/admin-guide/cgroup-v2.rst, io.max; cgroup-v1/blkio-controller.rst, \
     Throttling/Upper limit policy",
);
/// "The io controller, in conjunction with the memory controller, implements control of page cache writeback IOs."
const WRITEBACK: Topic =
    IO.documented_in("Documentation/admin-guide/cgroup-v2.rst, Writeback").needing(&[
        Need::OnV2("io"),
        Need::OnV2("memory"),
        Need::Root,
        Need::Loop,
        Need::File("io.max"),
    ]);
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

const COST: Topic =
    IO.needing(&[Need::OnV2("io"), Need::Root, Need::Loop, Need::File("io.weight")]);

pub(super) const CASES: &[Case] = &[
    THROTTLE.case(
        "max-caps-bytes",
        "A group reads no more bytes per second than io.max allows.",
        cap::bytes,
    ),
    THROTTLE.case(
        "max-caps-written-bytes",
        "A group writes no more bytes per second, with direct I/O, than io.max allows.",
        cap::written,
    ),
    WRITEBACK.case(
        "max-caps-buffered-writes",
        "What a group writes through the page cache reaches the disk no faster than io.max allows.",
        buffered::caps,
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
    THROTTLE.case(
        "max-caps-a-mapped-disk",
        "A group reads no more bytes per second from a disk of the device mapper than io.max allows.",
        stacked::caps_mapped,
    ),
    THROTTLE.case(
        "max-of-a-mapped-disk-leaves-the-disk-below-alone",
        "A limit on a disk of the device mapper does not apply to the disk below it.",
        stacked::below_mapped,
    ),
    THROTTLE.case(
        "max-caps-an-md-array",
        "A group reads no more bytes per second from an md array than io.max allows.",
        stacked::caps_array,
    ),
    THROTTLE.case(
        "max-of-an-md-array-leaves-its-disk-alone",
        "A limit on an md array does not apply to the disk that it consists of.",
        stacked::below_array,
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
    BFQ.case(
        "bfq-weights-hold-beyond-their-part-of-its-pool",
        "Groups that want more requests than their weights' part of BFQ's pool, which has room for all, get \
         disk time by weight.",
        scheduler::small_pool,
    ),
    BFQ.case(
        "bfq-weights-hold-within-their-part-of-its-pool",
        "The same groups with a pool of which each weight's part is more than the group wants get disk time by \
         weight.",
        scheduler::large_pool,
    ),
    BFQ.case(
        "bfq-weights-hold-after-pauses",
        "Groups get disk time by weight again after one of their readers was held up several times.",
        pauses::weights,
    ),
    BFQ.case(
        "bfq-equal-weights-hold-after-pauses",
        "The same with equal weights: each group gets as much as the others.",
        pauses::equal,
    ),
    BFQ.case(
        "bfq-weights-do-nothing-under-none",
        "Without a scheduler, BFQ weights 1:8 do not divide the disk.",
        scheduler::none,
    ),
    BFQ.case(
        "bfq-weights-do-nothing-under-mq-deadline",
        "Under mq-deadline, BFQ weights 1:8 do not divide the disk.",
        scheduler::mq_deadline,
    ),
    BFQ.case(
        "bfq-weights-do-nothing-under-kyber",
        "Under kyber, BFQ weights 1:8 do not divide the disk.",
        scheduler::kyber,
    ),
    COST.case(
        "iocost-weights-divide-a-saturated-disk",
        "Backlogged groups with io.weight 1:2:4 get the capacity of the cost model 1:2:4.",
        weight::iocost,
    ),
    COST.case(
        "iocost-serves-what-its-model-allows",
        "With min = max = 100 and a model of 100 reads a second, 90 to 110 are served.",
        cost::reads,
    ),
    COST.case(
        "iocost-that-is-off-limits-nothing",
        "The same model with enable=0 limits no reads.",
        cost::reads_off,
    ),
    COST.case(
        "iocost-serves-writes-as-its-model-allows",
        "With min = max = 100 and a model of 10 writes a second, 8 to 12 are served.",
        cost::writes,
    ),
    COST.case(
        "iocost-that-is-off-limits-no-writes",
        "The same model with enable=0 limits no writes.",
        cost::writes_off,
    ),
    CLASS.case(
        "idle-class-yields",
        "On a saturated disk, a group of the class idle yields to one of the class best-effort.",
        class::idle,
    ),
    IO.case(
        "stat-counts-what-was-read",
        "The counters of a group grow by exactly what its processes have read, on v1 once some group has a limit for the disk.",
        stat::counts_own,
    ),
    V1_STAT.case(
        "stat-counts-without-any-limit",
        "The counters of a group of v1 grow by exactly what its processes have read from a disk for which no group has a limit.",
        stat::counts_without_limit,
    ),
    IO.case(
        "stat-leaves-others-out",
        "The counters of a group do not grow by a sibling's reads.",
        stat::ignores_others,
    ),
];
