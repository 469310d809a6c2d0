//! C-FOREIGN-WRITES: on cgroup v2 writeback belongs to the group that owns the inode, the one that
//! dirtied most of it recently; where groups write the same file, one of them is charged for all
//! (Documentation/admin-guide/cgroup-v2.rst, "Writeback").

use assay_facts::Hierarchy;
use assay_run_folder::WorkloadResult;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};
use assay_verdict::wording::some_of;

use super::{Strength, Suspicion};
use crate::estimates::Estimates;
use crate::queue::is_measured;
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-FOREIGN-WRITES",
    what: "On cgroup v2 writeback belongs to the group that owns the inode, and where groups write the same file one of them is charged for all.",
    found_by: FoundBy::Suspicion,
    fingerprint: "Workloads that write without O_DIRECT while `io` is on v2.",
    confirm: "A file for each group, or `direct = 1`: bytes appear in the groups that write them.",
    tests: &["direct"],
    effects: &[PredictedEffect {
        of: &["direct"],
        expect: Expect::Vanishes,
        why: "every group moves its own bytes",
    }],
    remedy: "One file for each group, or `direct = 1`.",
    source: "Documentation/admin-guide/cgroup-v2.rst, writeback: an inode is owned by its majority dirtier",
};

const CODE: &str = ENTRY.code;

/// Examines buffered writers on v2; on v1 the validity check `buffered-writes` covers them.
pub(super) fn suspect(
    subject: &Subject<'_>,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
) -> Option<Suspicion> {
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
    let text = format!("{} write through the page cache", some_of(&buffered, ", "));
    let own: Option<Vec<f64>> = numbers.names().map(|name| written(repeat, name)).collect();
    let Some(own) = own else {
        return Some(Suspicion::Open(format!("{CODE}: {text}, and do not report how many bytes")));
    };
    if !is_charged_elsewhere(numbers, &own) {
        return Some(Suspicion::RuledOut(format!(
            "{CODE}: {text}, and each group is charged for about what its own workloads moved"
        )));
    }
    Some(Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: what is written back is charged to the group that owns the file"
                .to_owned(),
            evidence: vec![
                text,
                "by the bytes that the workloads report the error is smaller than by those \
                 charged to the groups"
                    .to_owned(),
            ],
            strength: None,
        },
        Strength::Fair,
    ))
}

/// Bytes reported by the workloads of a group.
fn written(repeat: &Repeat<'_>, name: &str) -> Option<f64> {
    let results = repeat.record.workloads.iter().filter(|result| result.group == name);
    let bytes = |result: &WorkloadResult| {
        let of = |metric: &str| result.metrics.get(metric).copied();
        Some(of("read_bytes").unwrap_or(0.0) + of("write_bytes")?)
    };
    results.map(bytes).sum::<Option<f64>>().filter(|bytes| *bytes > 0.0)
}

/// Whether shares by the reported bytes are nearer to the promise than the measured ones.
fn is_charged_elsewhere(numbers: &Estimates, own: &[f64]) -> bool {
    let all: f64 = own.iter().sum();
    let off = |share: f64, group: usize| (share / numbers.groups[group].expected_share - 1.0).abs();
    let worst = |share: &dyn Fn(usize) -> f64| {
        (0..own.len()).map(|group| off(share(group), group)).fold(0.0, f64::max)
    };
    worst(&|group| own[group] / all) < 0.5 * worst(&|group| numbers.groups[group].share)
}
