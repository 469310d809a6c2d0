//! Memory that the programs of a trial need for themselves, as generators predict it, and swap; and a host without
//! it. What the page cache would hold of their files is not needed.

use assay_host::facts::HostFacts;
use assay_record::run_folder::PlacementRecord;
use assay_sys::units::{Bytes, MemoryPolicy, NodeSet};

use crate::plan::footprint::Predictions;
use crate::plan::refusal::Refusal;
use crate::plan::trial::{AfterPlan, Trial, WorkloadPlan};

/// The largest amount in use at the same time. Of workloads that start when others have ended only the
/// largest counts.
pub(crate) fn needed(trial: &Trial, predictions: &Predictions) -> u64 {
    needed_by(trial, predictions, &|_| true)
}

fn needed_by(
    trial: &Trial,
    predictions: &Predictions,
    counts: &dyn Fn(&WorkloadPlan) -> bool,
) -> u64 {
    let workloads = trial.groups.iter().flat_map(|group| &group.workloads);
    let own = workloads.filter(|workload| counts(workload)).map(|workload| {
        let follows = matches!(workload.after, Some(AfterPlan::Workload(_)));
        (follows, predictions.own_memory(workload))
    });
    let (following, first): (Vec<_>, Vec<_>) = own.partition(|(follows, _)| *follows);
    let largest = following.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    first.iter().map(|(_, bytes)| *bytes).sum::<u64>() + largest
}

/// Refuses a trial whose programs need more memory than there is, or than the nodes have to which they are bound.
pub(crate) fn too_little(
    trial: &Trial,
    facts: &HostFacts,
    predictions: &Predictions,
) -> Option<Refusal> {
    let whole = needed(trial, predictions);
    if whole > facts.memory.get() {
        return Some(refusal(whole, "this host has", facts.memory));
    }
    let bound: Vec<&NodeSet> = trial.placements.iter().filter_map(bound_to).collect();
    bound.iter().find_map(|nodes| {
        let is_there = |workload: &WorkloadPlan| {
            let place = trial.placements.iter().find(|one| one.workload == workload.name);
            place.and_then(bound_to) == Some(*nodes)
        };
        let needed = needed_by(trial, predictions, &is_there);
        let memory: u64 = facts
            .nodes
            .iter()
            .filter(|node| nodes.contains(node.id))
            .map(|node| node.memory.get())
            .sum();
        let what = format!("the nodes {nodes} have");
        (needed > memory).then(|| refusal(needed, &what, Bytes::new(memory)))
    })
}

fn bound_to(place: &PlacementRecord) -> Option<&NodeSet> {
    match &place.memory {
        Some(MemoryPolicy::Bind(nodes)) => Some(nodes),
        _ => None,
    }
}

fn refusal(needed: u64, who: &str, has: Bytes) -> Refusal {
    let rounded = |bytes: u64| Bytes::new(bytes >> 20 << 20);
    Refusal::new(
        format!(
            "the programs need {} of memory for themselves, and {who} {}",
            rounded(needed),
            rounded(has.get())
        ),
        "make the data smaller with `--set`, or leave `--published` out",
    )
}

/// Whether a knob lets a group swap on a host that has no swap.
pub(crate) fn lacks_swap(knob: &str, value: &str, facts: &HostFacts) -> bool {
    knob == "memory.swap.max" && facts.swap.get() == 0 && !matches!(value.trim(), "0" | "max")
}

#[cfg(test)]
mod tests {
    use assay_sys::units::Bytes;
    use assay_test_support::hosts::host;

    use super::*;

    #[test]
    fn only_a_limit_that_allows_swap_needs_some() {
        let without = HostFacts { swap: Bytes::new(0), ..host(true) };
        let with = HostFacts { swap: Bytes::mebi(1), ..host(true) };
        let lacks = |value: &str, facts| lacks_swap("memory.swap.max", value, facts);
        assert!(lacks("1048576", &without) && !lacks("1048576", &with));
        assert!(!lacks("0", &without) && !lacks("max", &without));
        assert!(!lacks_swap("memory.max", "1048576", &without));
    }
}
