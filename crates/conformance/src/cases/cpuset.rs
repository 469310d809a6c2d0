//! cpuset: the CPUs that threads run on and the nodes that pages come from.

mod bind;
mod nodes;
mod partition;
mod v1;

use crate::case::Case;
use crate::need::Need;

const V2: &str = "Documentation/admin-guide/cgroup-v2.rst, Cpuset Interface Files";
const V1: &str = "Documentation/admin-guide/cgroup-v1/cpusets.rst";

pub(super) const CASES: &[Case] = &[
    Case {
        controller: "cpuset",
        behaviour: "threads-run-on-their-groups-cpus",
        promise: "Threads of a group may use, and run on, only the CPUs of its cpuset.cpus.",
        documented: V2,
        needs: &[Need::Controller("cpuset"), Need::Cpus(2)],
        run: bind::threads,
    },
    Case {
        controller: "cpuset",
        behaviour: "threads-follow-a-changed-list",
        promise: "Running threads move at once when cpuset.cpus changes.",
        documented: V2,
        needs: &[Need::Controller("cpuset"), Need::Cpus(2)],
        run: bind::moved,
    },
    Case {
        controller: "cpuset",
        behaviour: "a-group-without-a-list-binds-nothing",
        promise: "Without a list of its own, a group lets its threads run on every CPU of its parent.",
        documented: V2,
        needs: &[Need::Controller("cpuset"), Need::Cpus(2)],
        run: bind::unbound,
    },
    Case {
        controller: "cpuset",
        behaviour: "a-child-gets-no-cpu-its-parent-lacks",
        promise: "A child never runs on a CPU that its parent lacks: v1 refuses it, v2 ignores it.",
        documented: V2,
        needs: &[Need::Controller("cpuset"), Need::Cpus(2)],
        run: bind::outside_parent,
    },
    Case {
        controller: "cpuset",
        behaviour: "pages-come-from-their-groups-nodes",
        promise: "Pages are allocated only on the nodes of cpuset.mems.",
        documented: V2,
        needs: &[Need::Controller("cpuset"), Need::Nodes(2)],
        run: nodes::come_from,
    },
    Case {
        controller: "cpuset",
        behaviour: "pages-follow-a-changed-list",
        promise: "Pages move to the new nodes when cpuset.mems changes (v1: with cpuset.memory_migrate).",
        documented: V2,
        needs: &[Need::Controller("cpuset"), Need::Nodes(2)],
        run: nodes::follow,
    },
    Case {
        controller: "cpuset",
        behaviour: "v1-pages-stay-without-memory-migrate",
        promise: "On v1, pages stay where they are when cpuset.mems changes without cpuset.memory_migrate.",
        documented: V1,
        needs: &[Need::OnV1("cpuset"), Need::Nodes(2)],
        run: nodes::stay,
    },
    Case {
        controller: "cpuset",
        behaviour: "a-partition-root-has-its-cpus-for-itself",
        promise: "CPUs of a partition root are removed from every group outside it.",
        documented: V2,
        needs: &[Need::OnV2("cpuset"), Need::Cpus(2)],
        run: partition::root,
    },
    Case {
        controller: "cpuset",
        behaviour: "a-member-shares-its-cpus",
        promise: "A group that is not a partition removes no CPU from others.",
        documented: V2,
        needs: &[Need::OnV2("cpuset"), Need::Cpus(2)],
        run: partition::member,
    },
    Case {
        controller: "cpuset",
        behaviour: "an-isolated-partition-is-not-balanced",
        promise: "The scheduler does not move threads between CPUs of an isolated partition.",
        documented: V2,
        needs: &[Need::OnV2("cpuset"), Need::Kernel(6, 1), Need::Cpus(3)],
        run: partition::isolated,
    },
    Case {
        controller: "cpuset",
        behaviour: "exclusive-cpus-are-refused-to-siblings",
        promise: "A CPU in one group's cpuset.cpus.exclusive is refused in its sibling's.",
        documented: V2,
        needs: &[Need::OnV2("cpuset"), Need::File("cpuset.cpus.exclusive")],
        run: partition::exclusive,
    },
    Case {
        controller: "cpuset",
        behaviour: "v1-lists-come-before-processes",
        promise: "On v1, a group without cpuset.cpus and cpuset.mems refuses processes with ENOSPC.",
        documented: V1,
        needs: &[Need::OnV1("cpuset")],
        run: v1::attach_before_lists,
    },
    Case {
        controller: "cpuset",
        behaviour: "v1-exclusive-cpus-are-refused-to-siblings",
        promise: "On v1, a CPU of a group with cpuset.cpu_exclusive is refused to its siblings.",
        documented: V1,
        needs: &[Need::OnV1("cpuset")],
        run: v1::exclusive,
    },
    Case {
        controller: "cpuset",
        behaviour: "v1-clone-children-copies-the-lists",
        promise: "On v1, children of a group with cgroup.clone_children start with its lists.",
        documented: V1,
        needs: &[Need::OnV1("cpuset")],
        run: v1::clone_children,
    },
];
