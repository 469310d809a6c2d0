//! cpu: weights, quotas, scheduling classes, and the counters of cpu.stat.

pub(super) mod account;
mod class;
mod hierarchy;
mod quota;
mod quota_beside;
mod storm;
mod threads;
pub(super) mod weight;

use crate::case::{Case, Topic};
use crate::need::Need;

const V2: &str = "Documentation/admin-guide/cgroup-v2.rst, CPU Interface Files";
const CPU: Topic = Topic::new("cpu", V2, &[Need::Controller("cpu")]);
/// cpu.stat has the time used without the controller, too.
const STAT: Topic = CPU.needing(&[Need::V2]);
const BANDWIDTH: Topic = CPU.documented_in("Documentation/scheduler/sched-bwc.rst");
/// The file exists since Linux 5.15; its documentation is newer.
const IDLE: Topic = CPU
    .documented_in("Documentation/admin-guide/cgroup-v2.rst, cpu.idle")
    .needing(&[Need::Controller("cpu"), Need::File("cpu.idle")]);
const REAL_TIME: Topic = CPU
    .documented_in("Documentation/scheduler/sched-rt-group.rst")
    .needing(&[Need::OnV1("cpu"), Need::File("cpu.rt_runtime_us")]);

const STORM: Topic = CPU
    .documented_in("Documentation/scheduler/sched-eevdf.rst")
    .needing(&[Need::Controller("cpu"), Need::Cpus(2)]);
/// What to expect of a kernel that breaks these promises.
const STARVES: &str = "on some kernels this leaves all other work on two CPUs without any CPU time \
                       for a second, three in an emulated machine; it ends by itself";
/// What a group's threads do to its weight. The modes are in no document: kernel/sched/fair.c, `calc_group_shares`.
const THREADS: Topic = CPU
    .documented_in("Documentation/admin-guide/cgroup-v2.rst, Weights")
    .needing(&[Need::Controller("cpu"), Need::Cpus(2)]);
/// In guests only: writing the mode patches the kernel's code, and has ended in a panic.
const MODES: Topic = THREADS.needing(&[
    Need::Controller("cpu"),
    Need::Cpus(2),
    Need::Root,
    Need::WeightModes,
    Need::Emulated,
]);
/// Said before a case that sets `cgroup_mode`.
const WHOLE_HOST: &str = "for some seconds weights of CPU divide by another mode on the whole machine; an emulated guest of \
                          7.3.4 once ended with a kernel panic, since the kernel patches its code for that";
const BURST: Topic = BANDWIDTH.needing(&[Need::Controller("cpu"), Need::Kernel(5, 14)]);

pub(super) const CASES: &[Case] = &[
    CPU.case(
        "weights-divide-a-saturated-cpu",
        "Groups with weights 1:2:4:8 on one saturated CPU get its time 1:2:4:8.",
        weight::divide,
    ),
    CPU.case(
        "weights-do-nothing-on-a-cpu-with-room",
        "Weights 1:8 take no time from groups that together leave the CPU partly idle.",
        weight::below_capacity,
    ),
    CPU.case(
        "a-light-group-yields-to-heavy-ones",
        "A group of weight 1 beside two of weight 10000 leaves them the CPU, in equal parts.",
        hierarchy::light_beside_heavy,
    ),
    CPU.case(
        "light-groups-alone-share-equally",
        "Three groups of weight 1 that are alone on a CPU get a third of it each.",
        hierarchy::light_alone,
    ),
    CPU.case(
        "a-weight-changed-under-load-takes-effect",
        "When a weight changes from 1:1 to 1:4 while both groups run, they then get 1:4.",
        hierarchy::reweight,
    ),
    CPU.case(
        "writing-the-same-weight-changes-nothing",
        "Writing the weight that a running group has, hundreds of times, takes no time from it.",
        hierarchy::rewrite,
    ),
    CPU.case(
        "weights-divide-at-each-of-three-levels",
        "In a tree of three levels each level divides by weight what the one above got.",
        hierarchy::three_levels,
    ),
    CPU.case(
        "depth-alone-changes-nothing",
        "A group three levels down gets as much as a sibling of its ancestor with the same weight.",
        hierarchy::depth,
    ),
    THREADS.case(
        "weights-count-whatever-the-number-of-threads",
        "Groups of equal weight with one thread and four on one CPU get a half of it each.",
        threads::one_beside_four,
    ),
    THREADS.case(
        "weights-in-proportion-to-threads-count-once",
        "Groups with weights 1:2, with two threads and four on one CPU, get its time 1:2.",
        threads::two_beside_four,
    ),
    THREADS.case(
        "weights-divide-among-groups-with-as-many-threads",
        "Groups with weights 1:2 and four threads each on one CPU get its time 1:2.",
        threads::four_beside_four,
    ),
    THREADS.case(
        "a-group-beside-single-threads-counts-as-one",
        "A group with threads on two CPUs, beside one thread in a group of equal weight on each, gets a \
         third of both.",
        threads::beside_single_threads,
    ),
    THREADS.case(
        "weights-count-whatever-the-number-of-free-threads",
        "Groups of equal weight, with threads for half of the CPUs and for twice all of them, get a half \
         of all each.",
        threads::free,
    ),
    THREADS.case(
        "weights-divide-among-groups-with-as-many-free-threads",
        "Groups with weights 1:2 and twice as many threads as CPUs get the CPUs 1:2.",
        threads::free_and_equal,
    ),
    MODES
        .case(
            "with-smp-weights-count-whatever-the-number-of-threads",
            "With cgroup_mode smp, groups of equal weight with one thread and four on one CPU get a half \
             of it each.",
            threads::one_beside_four_with_smp,
        )
        .warning(WHOLE_HOST),
    MODES
        .case(
            "each-mode-divides-by-its-law",
            "With each cgroup_mode, groups of equal weight with one thread and four on one CPU get what \
             the mode's law says.",
            threads::each_mode,
        )
        .warning(WHOLE_HOST),
    STORM
        .case(
            "a-storm-of-wakeups-leaves-siblings-the-cpu",
            "A group makes progress beside a sibling of equal weight in which, two levels down, two \
             pairs of processes on two CPUs wake each other.",
            storm::nested,
        )
        .warning(STARVES),
    STORM
        .case(
            "a-flat-storm-of-wakeups-leaves-siblings-the-cpu",
            "The same with both pairs directly in the sibling.",
            storm::flat,
        )
        .warning(STARVES),
    STORM.case(
        "a-storm-of-wakeups-in-a-group-for-each-cpu",
        "The same with a group for each pair, so that no group has tasks on two CPUs.",
        storm::apart,
    ),
    STORM.case(
        "a-storm-of-one-pair-leaves-siblings-the-cpu",
        "A group makes progress beside a sibling in which, two levels down, one pair of processes \
         wakes each other.",
        storm::one_pair,
    ),
    CPU.needing(&[Need::OnV2("cpu"), Need::File("cpu.weight.nice")]).case(
        "weight-nice-weighs-as-nice-does",
        "Groups with cpu.weight.nice 0 and 5 divide a saturated CPU like tasks of these nice \
         values.",
        class::by_nice,
    ),
    IDLE.case(
        "an-idle-group-yields-to-a-busy-one",
        "A group with cpu.idle gets almost nothing of a CPU that another group keeps busy.",
        class::idle_beside_busy,
    ),
    IDLE.case(
        "an-idle-group-alone-gets-the-cpu",
        "A group with cpu.idle that is alone on its CPU gets all of it.",
        class::idle_alone,
    ),
    IDLE.case(
        "an-idle-group-gets-less-than-weight-1",
        "A group with cpu.idle gets less than a sibling of weight 1, the lightest.",
        quota_beside::idle_beside_light,
    ),
    IDLE.documented_in("Documentation/admin-guide/cgroup-v2.rst, cpu.weight")
        .needing(&[Need::OnV2("cpu"), Need::File("cpu.idle")])
        .case(
            "the-weight-of-an-idle-group-reads-0",
            "cpu.weight of a group with cpu.idle shows as a 0.",
            class::idle_weight,
        ),
    IDLE.case(
        "idle-groups-share-equally",
        "Two groups with cpu.idle that are alone on a CPU get a half of it each.",
        quota_beside::idle_beside_idle,
    ),
    BANDWIDTH.case(
        "a-quota-caps-and-counts",
        "A group uses no more than its quota in a period, and throttling is counted.",
        quota::caps,
    ),
    BANDWIDTH.case(
        "a-quota-far-above-the-use-does-nothing",
        "A quota far above what a group uses never throttles it.",
        quota::far_above,
    ),
    BANDWIDTH.case(
        "a-childs-quota-is-bounded-by-its-parents",
        "A child cannot exceed its parent's quota: v1 refuses the setting, v2 caps the time.",
        quota::of_child,
    ),
    BANDWIDTH.case(
        "a-quota-below-the-weighted-share-leaves-the-rest",
        "What a quota takes from a heavy group, its light sibling gets.",
        quota_beside::binds,
    ),
    BANDWIDTH.case(
        "a-quota-above-the-weighted-share-does-nothing",
        "A quota above a group's share by weight leaves the shares 1:3.",
        quota_beside::does_not_bind,
    ),
    BANDWIDTH.needing(&[Need::Controller("cpu"), Need::Cpus(2)]).case(
        "a-quota-counts-bound-threads-on-all-cpus",
        "Threads bound to two CPUs use no more than the quota of their group together.",
        quota_beside::bound_threads,
    ),
    BANDWIDTH.case(
        "bound-threads-below-their-quota-run-freely",
        "Threads bound to one CPU, with a quota of more than one, are never throttled.",
        quota_beside::bound_below_quota,
    ),
    BURST.case(
        "a-burst-carries-unused-quota-over",
        "A group that saved quota may later exceed it by its burst.",
        quota::burst,
    ),
    BURST.case(
        "a-burst-gives-a-busy-group-nothing",
        "A group that always uses up its quota never exceeds it, whatever its burst.",
        quota_beside::burst_without_savings,
    ),
    CPU.needing(&[Need::Controller("cpu"), Need::File("cpu.uclamp.max")]).case(
        "uclamp-max-clamps-tasks",
        "Tasks of a group are clamped to its cpu.uclamp.max.",
        class::clamp,
    ),
    REAL_TIME.case(
        "without-rt-runtime-no-task-is-real-time",
        "A group with cpu.rt_runtime_us 0 has no real-time tasks.",
        class::no_real_time,
    ),
    STAT.case(
        "usage-is-the-time-of-its-threads",
        "usage_usec in cpu.stat grows by the CPU time that threads of the group use.",
        account::usage,
    ),
    STAT.case(
        "usage-of-a-sleeper-is-nothing",
        "usage_usec of a sleeping group does not grow, whatever its siblings do.",
        account::sleeper,
    ),
    STAT.case(
        "usage-is-user-and-system",
        "user_usec and system_usec add up to usage_usec.",
        account::parts,
    ),
];
