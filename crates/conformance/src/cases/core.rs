//! core: the `cgroup.*` files of v2, and the files of every v1 hierarchy.

mod delegate;
mod limits;
mod threaded;
mod v1;
mod wakes;

use super::freeze;
use crate::case::{Case, Topic};
use crate::need::Need;

const CORE: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, Core Interface Files");
const FREEZE: Topic = CORE.needing(&[Need::V2, Need::File("cgroup.freeze")]);
const NO_INTERNAL_PROCESSES: Topic =
    v2("Documentation/admin-guide/cgroup-v2.rst, No Internal Process Constraint").needing(DOMAIN);
const TOP_DOWN: Topic =
    v2("Documentation/admin-guide/cgroup-v2.rst, Top-down Constraint").needing(DOMAIN);
const PROCESSES: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, Processes");
const THREADS: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, Threads");
const EVENTS: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, [Un]populated Notification");
const PRESSURE: Topic = v2("Documentation/accounting/psi.rst, Monitoring for pressure thresholds")
    .needing(&[Need::V2, Need::Pressure, Need::File("cpu.pressure")]);
const DELEGATION: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, Delegation Containment")
    .needing(&[Need::OnV2("pids"), Need::Root, Need::File("pids.max")]);
const V1: Topic =
    Topic::new("core", "Documentation/admin-guide/cgroup-v1/cgroups.rst", &[Need::AnyV1]);

/// Controllers to which the no-internal-process constraint applies (the others are threaded).
const DOMAIN: &[Need] = &[Need::AnyOnV2(&["memory", "io", "hugetlb", "rdma", "misc"])];

const fn v2(document: &'static str) -> Topic {
    Topic::new("core", document, &[Need::V2])
}

pub(super) const CASES: &[Case] = &[
    CORE.case(
        "a-depth-limit-refuses",
        "mkdir below cgroup.max.depth succeeds and beyond it fails with EAGAIN.",
        limits::depth,
    ),
    CORE.case(
        "a-limit-of-descendants-refuses",
        "mkdir up to cgroup.max.descendants succeeds and beyond it fails with EAGAIN.",
        limits::descendants,
    ),
    CORE.case(
        "stat-counts-descendants",
        "nr_descendants in cgroup.stat is the number of groups below.",
        limits::count,
    ),
    NO_INTERNAL_PROCESSES.case(
        "no-internal-processes",
        "A group with processes cannot enable a domain controller, and processes cannot enter a \
         group that has one enabled.",
        limits::no_internal_processes,
    ),
    TOP_DOWN.case(
        "subtree-control-is-top-down",
        "A controller can be enabled only if the parent enables it, and not disabled while a \
         child uses it.",
        limits::subtree_control,
    ),
    PROCESSES.case(
        "rmdir-of-a-populated-group-fails",
        "rmdir of a group with a process fails with EBUSY, and succeeds once the process has \
         ended.",
        limits::rmdir,
    ),
    PROCESSES.case(
        "rmdir-of-a-group-with-children-fails",
        "rmdir of a group with a child group fails with EBUSY.",
        limits::rmdir_of_a_parent,
    ),
    CORE.needing(&[Need::V2, Need::File("cgroup.kill")]).case(
        "kill-empties-the-subtree",
        "cgroup.kill kills every process of a subtree, including concurrent forks, and none \
         outside it.",
        limits::kill,
    ),
    FREEZE.case(
        "a-frozen-group-makes-no-progress",
        "A group with cgroup.freeze 1 uses no CPU time once cgroup.events reports frozen 1.",
        freeze::stops,
    ),
    FREEZE.case(
        "a-thawed-group-goes-on",
        "A thawed group resumes where it stopped and receives the input sent meanwhile.",
        freeze::goes_on,
    ),
    FREEZE.case(
        "siblings-of-a-frozen-group-go-on",
        "Freezing a group does not affect its siblings.",
        freeze::sibling,
    ),
    FREEZE.case(
        "freezing-reaches-descendants",
        "Groups below a frozen group are frozen until it is thawed.",
        freeze::descendants,
    ),
    FREEZE.case(
        "newcomers-freeze",
        "A process moved into a frozen group freezes.",
        freeze::newcomer,
    ),
    FREEZE.case(
        "a-frozen-process-can-be-killed",
        "A fatal signal ends a process in a frozen group.",
        freeze::killed,
    ),
    THREADS.case(
        "threads-of-one-process-go-apart",
        "Threads of one process can be in different threaded groups of one domain.",
        threaded::apart,
    ),
    THREADS.case(
        "threads-are-accounted-apart",
        "cpu.stat of a threaded group counts the threads inside it, not the whole process.",
        threaded::accounted_apart,
    ),
    THREADS.case(
        "threads-stay-in-their-domain",
        "A thread cannot be moved to a group of another domain.",
        threaded::stays_in_domain,
    ),
    THREADS.case(
        "threaded-is-one-way",
        "Making a group threaded makes its parent a threaded domain, and is irreversible.",
        threaded::types,
    ),
    THREADS.needing(&[Need::V2, Need::File("cgroup.kill")]).case(
        "kill-of-a-threaded-group-fails",
        "Writing cgroup.kill in a threaded group fails with EOPNOTSUPP and kills nobody.",
        threaded::kill,
    ),
    THREADS.case(
        "procs-of-a-threaded-group-take-whole-processes",
        "Writing to cgroup.procs of a threaded group moves every thread of the process there.",
        threaded::whole_process,
    ),
    EVENTS.case(
        "events-wake-a-poller",
        "cgroup.events wakes a poller when populated changes, in both directions.",
        wakes::populated,
    ),
    EVENTS.case(
        "events-are-silent-when-nothing-changes",
        "cgroup.events wakes no poller when a second process enters.",
        wakes::nothing_changes,
    ),
    PRESSURE.case(
        "pressure-triggers-wake-a-poller",
        "A trigger on cpu.pressure wakes a poller when the group stalls longer than its \
         threshold.",
        wakes::pressure,
    ),
    PRESSURE.case(
        "pressure-triggers-are-silent-without-pressure",
        "A trigger on cpu.pressure of a sleeping group wakes no poller.",
        wakes::no_pressure,
    ),
    DELEGATION.case(
        "a-namespace-is-a-boundary",
        "With nsdelegate, a process in a cgroup namespace cannot write to the limits of the namespace's root \
         (EPERM) and cannot leave it (ENOENT).",
        delegate::boundary,
    ),
    CORE.needing(&[Need::V2, Need::Pressure, Need::File("cgroup.pressure")]).case(
        "pressure-that-is-off-is-not-counted",
        "With cgroup.pressure 0 a group's stalls are not counted, those of groups below are, and with 1 \
         they are counted again.",
        wakes::pressure_off,
    ),
    V1.case(
        "v1-tasks-move-one-thread",
        "On v1, writing to tasks moves one thread, writing to cgroup.procs the whole process.",
        v1::tasks_move_one_thread,
    ),
    V1.case(
        "v1-inner-groups-hold-processes",
        "On v1, a group with children may hold processes.",
        v1::inner_nodes,
    ),
    V1.case(
        "v1-notify-on-release-is-inherited",
        "On v1, a new group inherits notify_on_release from its parent.",
        v1::release,
    ),
    V1.case(
        "v1-rmdir-of-a-populated-group-fails",
        "On v1, rmdir of a group with a process fails with EBUSY, and succeeds once the process \
         has ended.",
        limits::rmdir,
    ),
];
