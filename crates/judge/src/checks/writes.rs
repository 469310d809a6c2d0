//! `buffered-writes`: on cgroup v1 buffered writes are not charged to the group that writes.

use assay_facts::Hierarchy;
use assay_verdict::Check;
use assay_verdict::wording::some_of;

use super::{Evidence, Scope, ValidityCheck};
use crate::queue::is_measured;

/// Fails for measured workloads that write without O_DIRECT while `io` is on a v1 hierarchy: the
/// kernel's flusher threads, which belong to the root group, write those pages out.
pub(super) fn check(evidence: &Evidence<'_>) -> ValidityCheck {
    let buffered: Vec<String> = evidence
        .trial
        .groups
        .iter()
        .filter(|group| is_measured(group))
        .flat_map(|group| &group.workloads)
        .filter(|workload| workload.io.writes && !workload.io.direct)
        .map(|workload| format!("`{}`", workload.name))
        .collect();
    let controller = evidence.host.cgroup.controllers.get("io");
    let on_v1 = matches!(controller.map(|io| &io.hierarchy), Some(Hierarchy::V1(_)));
    let (ok, text) = match (buffered.is_empty(), on_v1) {
        (true, _) => (true, "no measured workload writes through the page cache".to_owned()),
        (false, true) => (
            false,
            format!(
                "{} write through the page cache, and `io` is on cgroup v1, which charges \
                 writeback to the root group",
                some_of(&buffered, ", ")
            ),
        ),
        (false, false) => (
            true,
            format!(
                "{} write through the page cache; cgroup v2 charges writeback to the group that \
                 owns the inode",
                some_of(&buffered, ", ")
            ),
        ),
    };
    let check = Check { check: "buffered-writes".to_owned(), ok, evidence: text };
    let summary = "buffered writes are written out by the root group on cgroup v1, past every \
                   group's weight";
    ValidityCheck { check, scope: Scope::Io, proves: Some(("C-BUFFERED", summary)) }
}
