//! cpu: weights, quotas, idle groups, and what cpu.stat counts.

mod weight;

use crate::case::Case;
use crate::need::Need;

const V2: &str = "Documentation/admin-guide/cgroup-v2.rst, CPU Interface Files";

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
        promise: "Weights 1:8 take nothing from groups that together leave the CPU idle at times.",
        documented: V2,
        needs: &[Need::Controller("cpu")],
        run: weight::room,
    },
];
