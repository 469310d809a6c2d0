//! Programs that see fewer nodes than the machine has, and so cannot place anything by node.

use crate::verdict::Cause;
use crate::verdict::wording::{percent, some_of};

use crate::subject::Subject;

/// Metric of the number of nodes that a program sees.
const SEEN: &str = "nodes_seen";

/// The cause of a broken promise on the nodes that a workload sees, with the location of its
/// memory; `None` for any other metric, and where it saw all nodes.
pub(crate) fn blind(subject: &Subject<'_>, measure: &str) -> Option<Cause> {
    let (workload, metric) = measure.split_once('.')?;
    let nodes = subject.host.memory_nodes.len();
    if metric != SEEN || nodes < 2 {
        return None;
    }
    let suffix = format!(".{workload}");
    let (mut evidence, mut saw) = (Vec::new(), None);
    for repeat in &subject.repeats {
        for result in repeat.record.workloads.iter().filter(|one| one.workload.ends_with(&suffix)) {
            let seen = result.metrics.get(SEEN).copied().filter(|seen| *seen < nodes as f64);
            saw = saw.or(seen);
            if seen.is_some() {
                evidence.extend(result.findings.iter().cloned());
            }
        }
        evidence.extend(whereabouts(repeat.record.placements.iter(), &suffix));
    }
    let saw = saw?;
    evidence.sort();
    evidence.dedup();
    evidence.insert(0, format!("it saw {saw} of the {nodes} nodes with memory"));
    let summary = "the program saw fewer nodes than the host has, so that its own options for nodes \
                   placed nothing and changed nothing";
    Some(Cause::new("C-PLACE-BLIND", summary, evidence))
}

/// Where its memory actually lay, by the kernel's record.
fn whereabouts<'r>(
    readings: impl Iterator<Item = &'r assay_record::run_folder::PlacementReading>,
    suffix: &str,
) -> Vec<String> {
    let of_one = |reading: &assay_record::run_folder::PlacementReading| {
        let pages = reading.pages.as_ref()?.value()?;
        let all = pages.values().sum::<u64>().max(1) as f64;
        let parts: Vec<String> = pages
            .iter()
            .map(|(node, bytes)| format!("{} on node {node}", percent(*bytes as f64 / all)))
            .collect();
        (!parts.is_empty()).then(|| format!("its memory lay {}", some_of(&parts, ", ")))
    };
    readings.filter(|one| one.workload.ends_with(suffix)).filter_map(of_one).collect()
}
