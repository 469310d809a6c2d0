//! Why threads or pages were not in place, by the kernel's record.

use std::collections::BTreeMap;

use assay_host::facts::Available;
use assay_judge::placement::PlacedWorkload;
use assay_judge::verdict::Cause;
use assay_judge::verdict::wording::{percent, some_of};
use assay_record::terms::PlacementMeasure;
use assay_sys::units::{CpuSet, NodeSet};

/// The causes that fit the record of the workload that broke the promise.
pub(crate) fn find(seen: &PlacedWorkload<'_>, what: PlacementMeasure) -> Vec<Cause> {
    let mut causes = Vec::new();
    match what {
        PlacementMeasure::Threads => causes.extend(affinity(seen)),
        PlacementMeasure::Pages => {
            causes.extend(nodes_forbidden(seen));
            causes.extend(policy(seen));
            causes.extend(node_full(seen));
            causes.extend(balanced(seen));
        }
        PlacementMeasure::FilePages => {
            causes.extend(nodes_forbidden(seen));
            causes.extend(read_earlier(seen));
        }
    }
    if causes.is_empty() {
        causes.push(Cause::new(
            "C-UNKNOWN",
            "none of the known causes fits what was recorded",
            vec![
                "examined: what threads were allowed, policies of areas, full nodes, balancing, \
                 files"
                    .to_owned(),
            ],
        ));
    }
    causes
}

/// Sums of counts over all repeats.
fn added<'r>(
    seen: &PlacedWorkload<'r>,
    part: impl Fn(&'r assay_record::run_folder::PlacementReading) -> &'r BTreeMap<String, u64>,
) -> BTreeMap<&'r str, u64> {
    let mut sum = BTreeMap::new();
    for (reading, _) in &seen.readings {
        for (text, count) in part(reading) {
            *sum.entry(text.as_str()).or_insert(0) += count;
        }
    }
    sum
}

/// Threads that were allowed other CPUs than requested.
fn affinity(seen: &PlacedWorkload<'_>) -> Option<Cause> {
    let asked = seen.asked.cpus.as_ref()?;
    let allowed = added(seen, |reading| &reading.allowed_cpus);
    let others: Vec<(&str, u64)> = allowed
        .iter()
        .filter(|(text, _)| text.parse::<CpuSet>().ok().as_ref() != Some(asked))
        .map(|(text, count)| (*text, *count))
        .collect();
    let (all, wrong): (u64, u64) =
        (allowed.values().sum(), others.iter().map(|(_, count)| count).sum());
    let lists: Vec<String> = others.iter().map(|(text, _)| format!("`{text}`")).collect();
    let evidence = vec![format!(
        "threads were given `{asked}`; {} of the readings of their affinity show {}",
        percent(wrong as f64 / all.max(1) as f64),
        some_of(&lists, ", ")
    )];
    match wrong {
        0 => None,
        _ if wrong == all => Some(Cause::new(
            "C-PLACE-NOT-APPLIED",
            "no thread had the CPUs that its process was started with: the program, or another \
             process, changed them",
            evidence,
        )),
        _ => Some(Cause::new(
            "C-PLACE-TOOL",
            "some threads had other CPUs than their process was started with: the program places \
             threads itself",
            evidence,
        )),
    }
}

/// A cpuset that leaves out nodes of the policy.
fn nodes_forbidden(seen: &PlacedWorkload<'_>) -> Option<Cause> {
    let asked = seen.asked.memory.as_ref()?.nodes()?;
    let allowed = added(seen, |reading| &reading.allowed_nodes);
    let narrow = allowed
        .keys()
        .find(|text| text.parse::<NodeSet>().is_ok_and(|nodes| !asked.is_subset(&nodes)))?;
    Some(Cause::new(
        "C-PLACE-CPUSET",
        "the cpuset of the group leaves out nodes that the policy names",
        vec![format!("the policy names the nodes {asked}; threads were allowed `{narrow}`")],
    ))
}

/// Areas under another policy than the process was started with.
fn policy(seen: &PlacedWorkload<'_>) -> Option<Cause> {
    let asked = seen.asked.memory.as_ref()?.as_kernel_shows();
    let policies = added(seen, |reading| &reading.policies);
    let all: u64 = policies.values().sum();
    let others: Vec<String> = policies
        .iter()
        .filter(|(policy, _)| **policy != asked)
        .map(|(policy, bytes)| {
            format!("{} under `{policy}`", percent(*bytes as f64 / all.max(1) as f64))
        })
        .collect();
    if others.is_empty() {
        return None;
    }
    let evidence =
        vec![format!("`{asked}` was set; of the anonymous memory {}", some_of(&others, ", "))];
    // Only the process itself sets its policies (set_mempolicy(2), mbind(2)): a specific policy is
    // the program's own, while the kernel's default remains when none is set.
    let default = ["default", "local"].contains(&asked.as_str());
    let own = |policy: &str| policy != asked && (default || policy != "default");
    if policies.keys().copied().any(own) {
        let summary = match policies.contains_key(asked.as_str()) {
            true => "the program places some of its memory itself",
            false => "the program places its memory itself, whatever it was started with",
        };
        return Some(Cause::new("C-PLACE-TOOL", summary, evidence));
    }
    Some(Cause::new(
        "C-PLACE-NOT-APPLIED",
        "memory was allocated under no policy although one was set: the program, or what started \
         it, removed it",
        evidence,
    ))
}

/// Files with pages on other nodes than the policy's, read before the program ran.
fn read_earlier(seen: &PlacedWorkload<'_>) -> Option<Cause> {
    let places = &seen.asked.pages;
    let mut lines = Vec::new();
    for (path, nodes) in seen.readings.iter().flat_map(|(reading, _)| &reading.files) {
        let all = nodes.values().sum::<u64>().max(1) as f64;
        for (node, bytes) in nodes {
            let part = *bytes as f64 / all;
            let more = part - places.get(node).copied().unwrap_or(0.0);
            if more > 0.01 {
                lines.push(format!(
                    "{} of the pages of `{path}` were on node {node}",
                    percent(part)
                ));
            }
        }
    }
    lines.sort();
    lines.dedup();
    let lines = match lines.is_empty() {
        true => return None,
        false => vec![some_of(&lines, "; ")],
    };
    Some(Cause::new(
        "C-PLACE-FILES",
        "suspected: pages of files were in the page cache before the program mapped them, on the \
         node of their first reader, and no policy moves them",
        lines,
    ))
}

fn node_full(seen: &PlacedWorkload<'_>) -> Option<Cause> {
    let mut missed: BTreeMap<u16, u64> = BTreeMap::new();
    for counts in seen.readings.iter().filter_map(|(_, counts)| *counts) {
        for (node, pages) in &counts.missed_pages {
            *missed.entry(*node).or_default() += pages;
        }
    }
    let lines: Vec<String> = missed
        .iter()
        .filter(|(_, pages)| **pages > 0)
        .map(|(node, pages)| format!("{pages} pages came from node {node} (numa_miss)"))
        .collect();
    (!lines.is_empty()).then(|| {
        Cause::new(
            "C-PLACE-NODE-FULL",
            "suspected: a node was full, and its pages were allocated on another",
            lines,
        )
    })
}

fn balanced(seen: &PlacedWorkload<'_>) -> Option<Cause> {
    let counts = seen.readings.iter().filter_map(|(_, counts)| *counts);
    let moved: u64 = counts.clone().filter_map(|counts| counts.moved_pages.value()).sum();
    let balancing = counts.clone().find_map(|counts| match &counts.balancing {
        Available::Value(text) if text != "0" => Some(text.as_str()),
        _ => None,
    })?;
    (moved > 0).then(|| {
        Cause::new(
            "C-NUMA-BALANCING",
            "suspected: automatic NUMA balancing moved pages",
            vec![format!(
                "kernel.numa_balancing is {balancing} and moved {moved} pages meanwhile; set it to \
                 0 in [sysctls] to test it"
            )],
        )
    })
}
