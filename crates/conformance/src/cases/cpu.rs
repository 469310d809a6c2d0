//! cpu: weights, quotas, scheduling classes, and the counters of cpu.stat.

pub(super) mod account;
mod class;
mod quota;
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
    BANDWIDTH.needing(&[Need::Controller("cpu"), Need::Kernel(5, 14)]).case(
        "a-burst-carries-unused-quota-over",
        "A group that saved quota may later exceed it by its burst.",
        quota::burst,
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
