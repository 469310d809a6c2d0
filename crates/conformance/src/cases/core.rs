//! core: the `cgroup.*` files of v2, and the files of every v1 hierarchy.

mod limits;
mod threaded;
mod v1;
mod wakes;

use super::freeze;
use crate::case::Case;
use crate::need::Need;

const CORE: &str = "Documentation/admin-guide/cgroup-v2.rst, Core Interface Files";
const THREADS: &str = "Documentation/admin-guide/cgroup-v2.rst, Threads";
const EVENTS: &str = "Documentation/admin-guide/cgroup-v2.rst, [Un]populated Notification";
const PRESSURE: &str = "Documentation/accounting/psi.rst, Monitoring for pressure thresholds";
const V1: &str = "Documentation/admin-guide/cgroup-v1/cgroups.rst";

/// Controllers to which the no-internal-process constraint applies (the others are threaded).
const DOMAIN: &[&str] = &["memory", "io", "hugetlb", "rdma", "misc"];

pub(super) const CASES: &[Case] = &[
    Case {
        controller: "core",
        behaviour: "a-depth-limit-refuses",
        promise: "mkdir below cgroup.max.depth succeeds and beyond it fails with EAGAIN.",
        documented: CORE,
        needs: &[Need::V2],
        run: limits::depth,
    },
    Case {
        controller: "core",
        behaviour: "a-limit-of-descendants-refuses",
        promise: "mkdir up to cgroup.max.descendants succeeds and beyond it fails with EAGAIN.",
        documented: CORE,
        needs: &[Need::V2],
        run: limits::descendants,
    },
    Case {
        controller: "core",
        behaviour: "stat-counts-descendants",
        promise: "nr_descendants in cgroup.stat is the number of groups below.",
        documented: CORE,
        needs: &[Need::V2],
        run: limits::count,
    },
    Case {
        controller: "core",
        behaviour: "no-internal-processes",
        promise: "A group with processes cannot enable a domain controller, and processes cannot enter a group that has one enabled.",
        documented: "Documentation/admin-guide/cgroup-v2.rst, No Internal Process Constraint",
        needs: &[Need::AnyOnV2(DOMAIN)],
        run: limits::no_internal_processes,
    },
    Case {
        controller: "core",
        behaviour: "subtree-control-is-top-down",
        promise: "A controller can be enabled only if the parent enables it, and not disabled while a child uses it.",
        documented: "Documentation/admin-guide/cgroup-v2.rst, Top-down Constraint",
        needs: &[Need::AnyOnV2(DOMAIN)],
        run: limits::subtree_control,
    },
    Case {
        controller: "core",
        behaviour: "rmdir-of-a-populated-group-fails",
        promise: "rmdir of a group with a process fails with EBUSY, and succeeds once the process has ended.",
        documented: "Documentation/admin-guide/cgroup-v2.rst, Processes",
        needs: &[Need::V2],
        run: limits::rmdir,
    },
    Case {
        controller: "core",
        behaviour: "rmdir-of-a-group-with-children-fails",
        promise: "rmdir of a group with a child group fails with EBUSY.",
        documented: "Documentation/admin-guide/cgroup-v2.rst, Processes",
        needs: &[Need::V2],
        run: limits::rmdir_of_a_parent,
    },
    Case {
        controller: "core",
        behaviour: "kill-empties-the-subtree",
        promise: "cgroup.kill kills every process of a subtree, including concurrent forks, and none outside it.",
        documented: CORE,
        needs: &[Need::V2, Need::File("cgroup.kill")],
        run: limits::kill,
    },
    Case {
        controller: "core",
        behaviour: "a-frozen-group-makes-no-progress",
        promise: "A group with cgroup.freeze 1 uses no CPU time once cgroup.events reports frozen 1.",
        documented: CORE,
        needs: &[Need::V2, Need::File("cgroup.freeze")],
        run: freeze::stops,
    },
    Case {
        controller: "core",
        behaviour: "a-thawed-group-goes-on",
        promise: "A thawed group resumes where it stopped and receives the input sent meanwhile.",
        documented: CORE,
        needs: &[Need::V2, Need::File("cgroup.freeze")],
        run: freeze::goes_on,
    },
    Case {
        controller: "core",
        behaviour: "siblings-of-a-frozen-group-go-on",
        promise: "Freezing a group does not affect its siblings.",
        documented: CORE,
        needs: &[Need::V2, Need::File("cgroup.freeze")],
        run: freeze::sibling,
    },
    Case {
        controller: "core",
        behaviour: "freezing-reaches-descendants",
        promise: "Groups below a frozen group are frozen until it is thawed.",
        documented: CORE,
        needs: &[Need::V2, Need::File("cgroup.freeze")],
        run: freeze::descendants,
    },
    Case {
        controller: "core",
        behaviour: "newcomers-freeze",
        promise: "A process moved into a frozen group freezes.",
        documented: CORE,
        needs: &[Need::V2, Need::File("cgroup.freeze")],
        run: freeze::newcomer,
    },
    Case {
        controller: "core",
        behaviour: "a-frozen-process-can-be-killed",
        promise: "A fatal signal ends a process in a frozen group.",
        documented: CORE,
        needs: &[Need::V2, Need::File("cgroup.freeze")],
        run: freeze::killed,
    },
    Case {
        controller: "core",
        behaviour: "threads-of-one-process-go-apart",
        promise: "Threads of one process can be in different threaded groups of one domain.",
        documented: THREADS,
        needs: &[Need::V2],
        run: threaded::apart,
    },
    Case {
        controller: "core",
        behaviour: "threads-are-accounted-apart",
        promise: "cpu.stat of a threaded group counts the threads inside it, not the whole process.",
        documented: THREADS,
        needs: &[Need::V2],
        run: threaded::accounted_apart,
    },
    Case {
        controller: "core",
        behaviour: "threads-stay-in-their-domain",
        promise: "A thread cannot be moved to a group of another domain.",
        documented: THREADS,
        needs: &[Need::V2],
        run: threaded::stays_in_domain,
    },
    Case {
        controller: "core",
        behaviour: "threaded-is-one-way",
        promise: "Making a group threaded makes its parent a threaded domain, and is irreversible.",
        documented: THREADS,
        needs: &[Need::V2],
        run: threaded::types,
    },
    Case {
        controller: "core",
        behaviour: "events-wake-a-poller",
        promise: "cgroup.events wakes a poller when populated changes, in both directions.",
        documented: EVENTS,
        needs: &[Need::V2],
        run: wakes::populated,
    },
    Case {
        controller: "core",
        behaviour: "events-are-silent-when-nothing-changes",
        promise: "cgroup.events wakes no poller when a second process enters.",
        documented: EVENTS,
        needs: &[Need::V2],
        run: wakes::nothing_changes,
    },
    Case {
        controller: "core",
        behaviour: "pressure-triggers-wake-a-poller",
        promise: "A trigger on cpu.pressure wakes a poller when the group stalls longer than its threshold.",
        documented: PRESSURE,
        needs: &[Need::V2, Need::Pressure, Need::File("cpu.pressure")],
        run: wakes::pressure,
    },
    Case {
        controller: "core",
        behaviour: "pressure-triggers-are-silent-without-pressure",
        promise: "A trigger on cpu.pressure of a sleeping group wakes no poller.",
        documented: PRESSURE,
        needs: &[Need::V2, Need::Pressure, Need::File("cpu.pressure")],
        run: wakes::no_pressure,
    },
    Case {
        controller: "core",
        behaviour: "v1-tasks-move-one-thread",
        promise: "On v1, writing to tasks moves one thread, writing to cgroup.procs the whole process.",
        documented: V1,
        needs: &[Need::AnyV1],
        run: v1::tasks_move_one_thread,
    },
    Case {
        controller: "core",
        behaviour: "v1-inner-groups-hold-processes",
        promise: "On v1, a group with children may hold processes.",
        documented: V1,
        needs: &[Need::AnyV1],
        run: v1::inner_nodes,
    },
    Case {
        controller: "core",
        behaviour: "v1-notify-on-release-is-inherited",
        promise: "On v1, a new group inherits notify_on_release from its parent.",
        documented: V1,
        needs: &[Need::AnyV1],
        run: v1::release,
    },
    Case {
        controller: "core",
        behaviour: "v1-rmdir-of-a-populated-group-fails",
        promise: "On v1, rmdir of a group with a process fails with EBUSY, and succeeds once the process has ended.",
        documented: V1,
        needs: &[Need::AnyV1],
        run: limits::rmdir,
    },
];
