//! Placement of workloads: `place` of the study as CPUs and nodes of this host.

use std::collections::BTreeMap;

use crate::{Bindings, Group, Placement, Study, Templated};
use assay_host::facts::HostFacts;
use assay_host::knob::KernelVersion;
use assay_record::run_folder::PlacementRecord;
use assay_sys::units::{CpuChoice, CpuSet, MemoryPolicy, NodeSet};

use crate::plan::members::members;
use crate::plan::refusal::Refusal;

/// Every workload of the trial that has a placement, by its name in the trial.
pub(crate) fn plan_placements(
    study: &Study,
    facts: &HostFacts,
    factors: &Bindings,
    refusals: &mut Vec<Refusal>,
) -> Vec<PlacementRecord> {
    let mut planner = Planner { study, facts, factors, refusals, plans: Vec::new() };
    planner.groups(&study.groups, None, &Placement::default());
    planner.plans
}

struct Planner<'p> {
    study: &'p Study,
    facts: &'p HostFacts,
    factors: &'p Bindings,
    refusals: &'p mut Vec<Refusal>,
    plans: Vec<PlacementRecord>,
}

impl Planner<'_> {
    fn groups(&mut self, groups: &[Group], outer: Option<&str>, outer_placement: &Placement) {
        for group in groups {
            let placement = inherit(group.place.as_ref(), outer_placement);
            for (_, name) in members(group, self.factors, outer) {
                for workload in &group.run {
                    let own = self.study.workloads.get(workload);
                    let own = own.and_then(|workload| workload.place.as_ref());
                    let placement = inherit(own, &placement);
                    if placement != Placement::default() {
                        self.workload(&name, workload, &placement);
                    }
                }
                self.groups(&group.groups, Some(&name), &placement);
            }
        }
    }

    fn workload(&mut self, group: &str, workload: &str, placement: &Placement) {
        let name = format!("{}.{workload}", group.replace('/', "."));
        // Members of a group need the same; equal refusals are merged later.
        match plan(placement, self.facts, self.factors, (group, &name), workload) {
            Ok(plan) => self.plans.push(plan),
            Err(refusal) => self.refusals.push(refusal),
        }
    }
}

/// The inner placement, completed by that of the group around it.
fn inherit(inner: Option<&Placement>, outer: &Placement) -> Placement {
    let Some(inner) = inner else { return outer.clone() };
    let first = |inner: &Option<Templated<String>>, outer: &Option<Templated<String>>| {
        inner.clone().or_else(|| outer.clone())
    };
    Placement {
        cpus: first(&inner.cpus, &outer.cpus),
        memory: first(&inner.memory, &outer.memory),
        huge_pages: first(&inner.huge_pages, &outer.huge_pages),
    }
}

fn plan(
    placement: &Placement,
    facts: &HostFacts,
    factors: &Bindings,
    (group, name): (&str, &str),
    workload: &str,
) -> Result<PlacementRecord, Refusal> {
    // The checker has resolved and parsed every value.
    let text = |value: &Option<Templated<String>>| value.as_ref()?.resolve(factors).ok();
    let (asked_cpus, asked_memory) = (text(&placement.cpus), text(&placement.memory));
    let cpus = match asked_cpus.as_deref().map(str::parse) {
        Some(Ok(choice)) => Some(cpus(&choice, facts, workload)?),
        _ => None,
    };
    let memory = match asked_memory.as_deref().map(str::parse) {
        Some(Ok(policy)) => Some(memory(policy, facts, workload)?),
        _ => None,
    };
    let huge_pages = text(&placement.huge_pages);
    if let Some(mode) = &huge_pages {
        let since = if mode == "advised" { (6, 18) } else { (3, 15) };
        needs_kernel(facts, workload, &format!("huge_pages = {mode}"), since)?;
    }
    Ok(PlacementRecord {
        workload: name.to_owned(),
        group: group.to_owned(),
        asked_cpus,
        pages: pages(memory.as_ref(), cpus.as_ref(), facts),
        cpus,
        memory,
        huge_pages,
    })
}

fn cpus(choice: &CpuChoice, facts: &HostFacts, workload: &str) -> Result<CpuSet, Refusal> {
    let subject = format!("`cpus = {choice}` of workload `{workload}`");
    let cpus = match choice {
        CpuChoice::List(cpus) => cpus.clone(),
        CpuChoice::Nodes(nodes) => cpus_of_nodes(nodes, facts, &subject)?,
        CpuChoice::Siblings(count) => siblings(*count, facts, &subject)?,
        CpuChoice::SeparateCores(count) => separate(*count, facts, &subject)?,
    };
    let absent: CpuSet = cpus.iter().filter(|cpu| !facts.cpus.allowed.contains(*cpu)).collect();
    if !absent.is_empty() {
        return Err(Refusal::new(
            format!(
                "{subject} needs the CPUs {absent}; this process may use {}",
                facts.cpus.allowed
            ),
            "name available CPUs, or run in a guest (`assay lab run`)",
        ));
    }
    Ok(cpus)
}

fn cpus_of_nodes(nodes: &NodeSet, facts: &HostFacts, subject: &str) -> Result<CpuSet, Refusal> {
    let mut cpus = Vec::new();
    for id in nodes.iter() {
        let node = facts.nodes.iter().find(|node| node.id == id);
        let node = node.filter(|node| !node.cpus.is_empty());
        let Some(node) = node else { return Err(needs_nodes(subject, facts)) };
        cpus.extend(node.cpus.iter());
    }
    Ok(cpus.into_iter().collect())
}

/// Threads of the core with the most threads.
fn threads(facts: &HostFacts) -> usize {
    facts.cpus.cores.iter().map(CpuSet::len).max().unwrap_or(1)
}

fn siblings(count: Option<u16>, facts: &HostFacts, subject: &str) -> Result<CpuSet, Refusal> {
    let threads = threads(facts);
    if threads < 2 {
        return Err(Refusal::new(
            format!(
                "{subject} needs a core with two threads (SMT), but every core of this host has one"
            ),
            "run it on a machine with SMT enabled (/sys/devices/system/cpu/smt/active is 1)",
        ));
    }
    let count = count.map_or(threads, usize::from);
    let full: Vec<u16> = facts
        .cpus
        .cores
        .iter()
        .filter(|core| core.len() == threads)
        .flat_map(CpuSet::iter)
        .collect();
    if !count.is_multiple_of(threads) || full.len() < count {
        return Err(Refusal::new(
            format!(
                "{subject} needs whole cores of {threads} threads; this host has {}",
                full.len() / threads
            ),
            format!("write a multiple of {threads}, at most {}", full.len()),
        ));
    }
    Ok(full.into_iter().take(count).collect())
}

fn separate(count: Option<u16>, facts: &HostFacts, subject: &str) -> Result<CpuSet, Refusal> {
    let count = count.map_or_else(|| threads(facts).max(2), usize::from);
    let firsts: Vec<u16> = facts.cpus.cores.iter().filter_map(|core| core.iter().next()).collect();
    // Prefer cores of one node, because otherwise memory would differ as well.
    let within = facts.nodes.iter().find_map(|node| {
        let inside: Vec<u16> =
            firsts.iter().copied().filter(|cpu| node.cpus.contains(*cpu)).collect();
        (inside.len() >= count).then_some(inside)
    });
    let cores = within.unwrap_or(firsts);
    if cores.len() < count {
        return Err(Refusal::new(
            format!("{subject} needs {count} cores; this host has {}", cores.len()),
            "write fewer, or run on a machine with more cores",
        ));
    }
    Ok(cores.into_iter().take(count).collect())
}

fn memory(
    policy: MemoryPolicy,
    facts: &HostFacts,
    workload: &str,
) -> Result<MemoryPolicy, Refusal> {
    let subject = format!("`memory = {policy}` of workload `{workload}`");
    if let Some(nodes) = policy.nodes()
        && !nodes.is_subset(&facts.memory_nodes)
    {
        return Err(needs_nodes(&subject, facts));
    }
    let since = match policy {
        MemoryPolicy::Local => (3, 8),
        MemoryPolicy::PreferredMany(_) => (5, 15),
        MemoryPolicy::WeightedInterleave(_) => (6, 9),
        _ => return Ok(policy),
    };
    needs_kernel(facts, workload, &format!("memory = {policy}"), since)?;
    Ok(policy)
}

fn needs_nodes(subject: &str, facts: &HostFacts) -> Refusal {
    let count = facts.nodes.len();
    Refusal::new(
        format!(
            "{subject} needs NUMA nodes that this host lacks: it has {count} ({} with memory)",
            facts.memory_nodes
        ),
        "run it on a NUMA machine, or in a guest: `assay lab run STUDY --nodes 2`",
    )
}

fn needs_kernel(
    facts: &HostFacts,
    workload: &str,
    what: &str,
    since: (u16, u16),
) -> Result<(), Refusal> {
    let since = KernelVersion::new(since.0, since.1);
    match KernelVersion::parse(&facts.kernel) {
        Some(kernel) if kernel < since => Err(Refusal::new(
            format!("`{what}` of workload `{workload}` needs Linux {since}; this is {kernel}"),
            "remove it, or run on a newer kernel (`assay lab run STUDY --kernel`)",
        )),
        _ => Ok(()),
    }
}

/// The fraction of anonymous memory expected on each node; empty if the policy does not determine
/// it. Weights of weighted interleaving are known only when the trial runs.
fn pages(
    memory: Option<&MemoryPolicy>,
    cpus: Option<&CpuSet>,
    facts: &HostFacts,
) -> BTreeMap<u16, f64> {
    let on_single = |nodes: &[u16]| match nodes {
        [only] => BTreeMap::from([(*only, 1.0)]),
        _ => BTreeMap::new(),
    };
    match memory {
        Some(MemoryPolicy::Interleave(nodes)) => {
            nodes.iter().map(|node| (node, 1.0 / nodes.len() as f64)).collect()
        }
        Some(MemoryPolicy::Bind(nodes) | MemoryPolicy::Preferred(nodes)) => {
            on_single(&nodes.iter().collect::<Vec<u16>>())
        }
        Some(MemoryPolicy::PreferredMany(_) | MemoryPolicy::WeightedInterleave(_)) => {
            BTreeMap::new()
        }
        // Memory comes from the node of the CPU, with and without these policies.
        Some(MemoryPolicy::FirstTouch | MemoryPolicy::Local) | None => {
            let Some(cpus) = cpus else { return BTreeMap::new() };
            let holds =
                |node: &&assay_host::facts::Node| node.cpus.iter().any(|cpu| cpus.contains(cpu));
            let nodes: Vec<u16> = facts.nodes.iter().filter(holds).map(|node| node.id).collect();
            on_single(&nodes)
        }
    }
}
