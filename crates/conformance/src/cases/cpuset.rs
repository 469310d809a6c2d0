//! cpuset: the CPUs that threads run on and the nodes that pages come from.

mod bind;
mod nodes;
mod partition;
mod v1;

use crate::case::{Case, Topic};
use crate::need::Need;

const CPUS: Topic = Topic::new(
    "cpuset",
    "Documentation/admin-guide/cgroup-v2.rst, Cpuset Interface Files",
    &[Need::Controller("cpuset"), Need::Cpus(2)],
);
const NODES: Topic = CPUS.needing(&[Need::Controller("cpuset"), Need::Nodes(2)]);
const PARTITIONS: Topic = CPUS.needing(&[Need::OnV2("cpuset"), Need::Cpus(2)]);
const V1: Topic = CPUS
    .documented_in("Documentation/admin-guide/cgroup-v1/cpusets.rst")
    .needing(&[Need::OnV1("cpuset")]);

pub(super) const CASES: &[Case] = &[
    CPUS.case(
        "threads-run-on-their-groups-cpus",
        "Threads of a group may use, and run on, only the CPUs of its cpuset.cpus.",
        bind::threads,
    ),
    CPUS.case(
        "threads-follow-a-changed-list",
        "Running threads move at once when cpuset.cpus changes.",
        bind::moved,
    ),
    CPUS.case(
        "a-group-without-a-list-binds-nothing",
        "Without a list of its own, a group lets its threads run on every CPU of its parent.",
        bind::unbound,
    ),
    CPUS.case(
        "a-child-gets-no-cpu-its-parent-lacks",
        "A child never runs on a CPU that its parent lacks: v1 refuses it, v2 ignores it.",
        bind::outside_parent,
    ),
    NODES.case(
        "pages-come-from-their-groups-nodes",
        "Pages are allocated only on the nodes of cpuset.mems.",
        nodes::come_from,
    ),
    NODES.case(
        "pages-follow-a-changed-list",
        "Pages move to the new nodes when cpuset.mems changes (v1: with cpuset.memory_migrate).",
        nodes::follow,
    ),
    V1.needing(&[Need::OnV1("cpuset"), Need::Nodes(2)]).case(
        "v1-pages-stay-without-memory-migrate",
        "On v1, pages stay where they are when cpuset.mems changes without cpuset.memory_migrate.",
        nodes::stay,
    ),
    PARTITIONS.case(
        "a-partition-root-has-its-cpus-for-itself",
        "CPUs of a partition root are removed from every group outside it.",
        partition::root,
    ),
    PARTITIONS.case(
        "a-member-shares-its-cpus",
        "A group that is not a partition removes no CPU from others.",
        partition::member,
    ),
    PARTITIONS.needing(&[Need::OnV2("cpuset"), Need::Kernel(6, 1), Need::Cpus(3)]).case(
        "an-isolated-partition-is-not-balanced",
        "The scheduler does not move threads between CPUs of an isolated partition.",
        partition::isolated,
    ),
    PARTITIONS
        .needing(&[
            Need::OnV2("cpuset"),
            Need::Root,
            Need::Cpus(2),
            Need::File("cpuset.cpus.exclusive"),
        ])
        .case(
            "a-remote-partition-needs-exclusive-cpus",
            "A group below one that is no partition becomes a partition root if all groups above hand its \
             CPUs down in cpuset.cpus.exclusive, and only then.",
            partition::remote,
        ),
    PARTITIONS.needing(&[Need::OnV2("cpuset"), Need::File("cpuset.cpus.exclusive")]).case(
        "exclusive-cpus-are-refused-to-siblings",
        "A CPU in one group's cpuset.cpus.exclusive is refused in its sibling's.",
        partition::exclusive,
    ),
    PARTITIONS.needing(&[Need::OnV2("cpuset"), Need::File("cpuset.cpus.exclusive")]).case(
        "cpus-that-are-not-exclusive-are-shared",
        "A CPU in cpuset.cpus of one group is accepted in its sibling's, and both may run on it.",
        partition::shared,
    ),
    V1.case(
        "v1-lists-come-before-processes",
        "On v1, a group without cpuset.cpus and cpuset.mems refuses processes with ENOSPC.",
        v1::attach_before_lists,
    ),
    V1.case(
        "v1-exclusive-cpus-are-refused-to-siblings",
        "On v1, a CPU of a group with cpuset.cpu_exclusive is refused to its siblings.",
        v1::exclusive,
    ),
    V1.case(
        "v1-cpus-that-are-not-exclusive-are-shared",
        "On v1, a CPU of a group without cpuset.cpu_exclusive is accepted in its sibling's list.",
        v1::shared,
    ),
    V1.case(
        "v1-clone-children-copies-the-lists",
        "On v1, children of a group with cgroup.clone_children start with its lists.",
        v1::clone_children,
    ),
];
