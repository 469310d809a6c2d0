//! cpu: weights, quotas, scheduling classes, and the counters of cpu.stat.

pub(super) mod account;
mod class;
mod quota;
pub(super) mod weight;

use crate::case::Case;
use crate::need::Need;

const V2: &str = "Documentation/admin-guide/cgroup-v2.rst, CPU Interface Files";
const BANDWIDTH: &str = "Documentation/scheduler/sched-bwc.rst";
/// The file exists since Linux 5.15; its documentation is newer.
const IDLE: &str = "Documentation/admin-guide/cgroup-v2.rst, cpu.idle";

pub(super) const CASES: &[Case] = &[
    Case {
        controller: "cpu",
        behaviour: "weights-divide-a-saturated-cpu",
        promise: "Groups with weights 1:2:4:8 on one saturated CPU get its time 1:2:4:8.",
        documented: V2,
        needs: &[Need::Controller("cpu")],
        run: weight::divide,
    },
    Case {
        controller: "cpu",
        behaviour: "weights-do-nothing-on-a-cpu-with-room",
        promise: "Weights 1:8 take no time from groups that together leave the CPU partly idle.",
        documented: V2,
        needs: &[Need::Controller("cpu")],
        run: weight::below_capacity,
    },
    Case {
        controller: "cpu",
        behaviour: "weight-nice-weighs-as-nice-does",
        promise: "Groups with cpu.weight.nice 0 and 5 divide a saturated CPU like tasks of these nice values.",
        documented: V2,
        needs: &[Need::OnV2("cpu"), Need::File("cpu.weight.nice")],
        run: class::by_nice,
    },
    Case {
        controller: "cpu",
        behaviour: "an-idle-group-yields-to-a-busy-one",
        promise: "A group with cpu.idle gets almost nothing of a CPU that another group keeps busy.",
        documented: IDLE,
        needs: &[Need::Controller("cpu"), Need::File("cpu.idle")],
        run: class::idle_beside_busy,
    },
    Case {
        controller: "cpu",
        behaviour: "an-idle-group-alone-gets-the-cpu",
        promise: "A group with cpu.idle that is alone on its CPU gets all of it.",
        documented: IDLE,
        needs: &[Need::Controller("cpu"), Need::File("cpu.idle")],
        run: class::idle_alone,
    },
    Case {
        controller: "cpu",
        behaviour: "a-quota-caps-and-counts",
        promise: "A group uses no more than its quota in a period, and throttling is counted.",
        documented: BANDWIDTH,
        needs: &[Need::Controller("cpu")],
        run: quota::caps,
    },
    Case {
        controller: "cpu",
        behaviour: "a-quota-far-above-the-use-does-nothing",
        promise: "A quota far above what a group uses never throttles it.",
        documented: BANDWIDTH,
        needs: &[Need::Controller("cpu")],
        run: quota::far_above,
    },
    Case {
        controller: "cpu",
        behaviour: "a-childs-quota-is-bounded-by-its-parents",
        promise: "A child cannot exceed its parent's quota: v1 refuses the setting, v2 caps the time.",
        documented: BANDWIDTH,
        needs: &[Need::Controller("cpu")],
        run: quota::of_child,
    },
    Case {
        controller: "cpu",
        behaviour: "a-burst-carries-unused-quota-over",
        promise: "A group that saved quota may later exceed it by its burst.",
        documented: BANDWIDTH,
        needs: &[Need::Controller("cpu"), Need::Kernel(5, 14)],
        run: quota::burst,
    },
    Case {
        controller: "cpu",
        behaviour: "uclamp-max-clamps-tasks",
        promise: "Tasks of a group are clamped to its cpu.uclamp.max.",
        documented: V2,
        needs: &[Need::Controller("cpu"), Need::File("cpu.uclamp.max")],
        run: class::clamp,
    },
    Case {
        controller: "cpu",
        behaviour: "without-rt-runtime-no-task-is-real-time",
        promise: "A group with cpu.rt_runtime_us 0 has no real-time tasks.",
        documented: "Documentation/scheduler/sched-rt-group.rst",
        needs: &[Need::OnV1("cpu"), Need::File("cpu.rt_runtime_us")],
        run: class::no_real_time,
    },
    Case {
        controller: "cpu",
        behaviour: "usage-is-the-time-of-its-threads",
        promise: "usage_usec in cpu.stat grows by the CPU time that threads of the group use.",
        documented: V2,
        needs: &[Need::V2],
        run: account::usage,
    },
    Case {
        controller: "cpu",
        behaviour: "usage-of-a-sleeper-is-nothing",
        promise: "usage_usec of a sleeping group does not grow, whatever its siblings do.",
        documented: V2,
        needs: &[Need::V2],
        run: account::sleeper,
    },
    Case {
        controller: "cpu",
        behaviour: "usage-is-user-and-system",
        promise: "user_usec and system_usec add up to usage_usec.",
        documented: V2,
        needs: &[Need::V2],
        run: account::parts,
    },
];
