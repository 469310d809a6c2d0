//! Where the groups' counters leave requests out.
//!
//! On cgroup v1 the counters of BFQ (`blkio.bfq.*`) leave out requests that were merged into a
//! waiting one. The throttling layer counts all, but the run activates it only on its own disks.
//! Bytes missing in the groups are then no proof of their origin.

use assay_facts::Hierarchy;

use super::Evidence;
use crate::queue::{disk_of, is_measured};

/// The cause of bytes missing in the groups' counters where merging is possible: sequential
/// requests merge while they wait.
pub(super) fn cause(evidence: &Evidence<'_>) -> Option<(&'static str, &'static str)> {
    let io = evidence.host.cgroup.controllers.get("io")?;
    if !matches!(io.hierarchy, Hierarchy::V1(_)) {
        return None;
    }
    let of_users = |name: &str| {
        let mut disks = evidence.trial.disks.iter();
        disks.any(|disk| disk.name == name && !matches!(disk.source.as_str(), "loop" | "null_blk"))
    };
    let under_bfq = |name: &str| {
        let mut queues = evidence.repeats.iter().flat_map(|repeat| &repeat.record.queues);
        queues.any(|queue| queue.disk == name && queue.scheduler_at_start == "bfq")
    };
    let mut groups = evidence.trial.groups.iter().filter(|group| is_measured(group));
    let merges = groups.any(|group| {
        let disk = disk_of(evidence.trial, group);
        group.workloads.iter().any(|workload| workload.io.sequential)
            && disk.is_some_and(|disk| of_users(disk) && under_bfq(disk))
    });
    let summary = "the groups' counters leave out requests that were merged, so that bytes are \
                   missing in them";
    merges.then_some(("C-MERGED", summary))
}
