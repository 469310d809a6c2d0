//! `buffered-writes`: on cgroup v1 the group that writes through the page cache is not the one
//! that is charged.

use assay_facts::Hierarchy;

use super::{Evidence, Scope, ValidityCheck};
use crate::queue::is_measured;
use assay_verdict::Check;
use assay_verdict::wording::some_of;

/// Fails for measured workloads that write without O_DIRECT while `io` is on a v1 hierarchy:
/// the kernel's flusher threads write those pages out, and they belong to the root group.
pub(super) fn gate(evidence: &Evidence<'_>) -> ValidityCheck {
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
