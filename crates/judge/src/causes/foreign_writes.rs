//! C-FOREIGN-WRITES: on cgroup v2 writeback belongs to the group that owns the inode, which is the
//! one that dirtied most of it lately; where groups write one file, one of them is charged for all
//! (Documentation/admin-guide/cgroup-v2.rst, "Writeback").

use assay_facts::Hierarchy;

use super::{Strength, Suspicion};
use crate::judgement::Cause;
use crate::promise::Subject;
use crate::queue::is_measured;
use crate::wording::some_of;

const CODE: &str = "C-FOREIGN-WRITES";

/// Looks for buffered writers on v2; on v1 the gate `buffered-writes` speaks.
pub(super) fn suspect(subject: &Subject<'_>) -> Option<Suspicion> {
    let controller = subject.host.cgroup.controllers.get("io");
    if !matches!(controller.map(|io| &io.hierarchy), Some(Hierarchy::V2(_))) {
        return None;
    }
    let groups = subject.trial.groups.iter().filter(|group| is_measured(group));
    let buffered: Vec<String> = groups
        .flat_map(|group| &group.workloads)
        .filter(|workload| workload.io.writes && !workload.io.direct)
        .map(|workload| format!("`{}`", workload.name))
        .collect();
    if buffered.is_empty() {
        let why = "no measured workload writes through the page cache";
        return Some(Suspicion::RuledOut(format!("{CODE}: {why}")));
    }
    Some(Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: what is written back is charged to the group that owns the file"
                .to_owned(),
            evidence: vec![format!("{} write through the page cache", some_of(&buffered, ", "))],
            strength: None,
        },
        Strength::Fair,
    ))
}
