//! Where workloads run: places of the study as CPUs and nodes of this host.

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use assay_knob::KernelVersion;
use assay_run_folder::PlacementRecord;
use assay_study::{Bindings, Group, Place, Study, Templated};
use assay_units::{CpuChoice, CpuSet, MemoryPolicy, NodeSet};

use crate::refusal::Refusal;

/// The place of one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacementPlan {
    /// As it goes into the record.
    pub record: PlacementRecord,
    /// The CPUs that it may run on.
    pub cpus: Option<CpuSet>,
    /// Its memory policy.
    pub memory: Option<MemoryPolicy>,
    /// Its huge pages: `default`, `advised` or `never`.
    pub huge_pages: Option<String>,
}

impl PlacementPlan {
    /// ` on CPUs 0-1 with memory interleave:0-1`, as it follows what is placed.
    pub(crate) fn describe(&self) -> String {
        let cpus = self.cpus.as_ref().map(|cpus| format!(" on CPUs {cpus}"));
        let memory = self.memory.as_ref().map(|memory| format!(" with memory {memory}"));
        let huge = self.huge_pages.as_ref().map(|mode| format!(" and huge pages {mode}"));
        [cpus, memory, huge].into_iter().flatten().collect()
    }
}

/// Every workload of the trial that has a place, by its name in the trial.
pub(crate) fn plan_places(
    study: &Study,
    facts: &HostFacts,
    factors: &Bindings,
    refusals: &mut Vec<Refusal>,
) -> Vec<PlacementPlan> {
    let mut planner = Planner { study, facts, factors, refusals, plans: Vec::new() };
    planner.groups(&study.groups, None, &Place::default());
    planner.plans
}

struct Planner<'p> {
    study: &'p Study,
    facts: &'p HostFacts,
    factors: &'p Bindings,
    refusals: &'p mut Vec<Refusal>,
    plans: Vec<PlacementPlan>,
}

impl Planner<'_> {
    fn groups(&mut self, groups: &[Group], outer: Option<&str>, around: &Place) {
        for group in groups {
            let place = over(group.place.as_ref(), around);
            let count = group.count.resolve(self.factors).unwrap_or(1);
            for index in 1..=count {
                let own =
                    if count > 1 { format!("{}{index}", group.name) } else { group.name.clone() };
                let name = outer.map_or_else(|| own.clone(), |outer| format!("{outer}/{own}"));
                for workload in &group.run {
                    let place = over(self.study.workload_places.get(workload), &place);
                    if place != Place::default() {
                        self.workload(&name, workload, &place);
                    }
                }
                self.groups(&group.groups, Some(&name), &place);
            }
        }
    }

    fn workload(&mut self, group: &str, workload: &str, place: &Place) {
        let name = format!("{}.{workload}", group.replace('/', "."));
        // Members of a group need the same: said of the workload, it is said once.
        match plan(place, self.facts, self.factors, (group, &name), workload) {
            Ok(plan) => self.plans.push(plan),
            Err(refusal) => self.refusals.push(refusal),
        }
    }
}

/// What an inner place says, and what the one around it says for the rest.
fn over(inner: Option<&Place>, around: &Place) -> Place {
    let Some(inner) = inner else { return around.clone() };
    let first = |inner: &Option<Templated<String>>, around: &Option<Templated<String>>| {
        inner.clone().or_else(|| around.clone())
    };
    Place {
        cpus: first(&inner.cpus, &around.cpus),
        memory: first(&inner.memory, &around.memory),
        huge_pages: first(&inner.huge_pages, &around.huge_pages),
    }
}

fn plan(
    place: &Place,
    facts: &HostFacts,
    factors: &Bindings,
    (group, name): (&str, &str),
    workload: &str,
) -> Result<PlacementPlan, Refusal> {
    // The checker has resolved and parsed every value.
    let text = |value: &Option<Templated<String>>| value.as_ref()?.resolve(factors).ok();
    let (asked_cpus, asked_memory) = (text(&place.cpus), text(&place.memory));
    let cpus = match asked_cpus.as_deref().map(str::parse) {
        Some(Ok(choice)) => Some(cpus(&choice, facts, workload)?),
        _ => None,
    };
    let memory = match asked_memory.as_deref().map(str::parse) {
        Some(Ok(policy)) => Some(memory(policy, facts, workload)?),
        _ => None,
    };
    let huge_pages = text(&place.huge_pages);
    if let Some(mode) = &huge_pages {
        let since = if mode == "advised" { (6, 18) } else { (3, 15) };
        needs_kernel(facts, workload, &format!("huge_pages = {mode}"), since)?;
    }
    let record = PlacementRecord {
        workload: name.to_owned(),
        group: group.to_owned(),
        asked_cpus,
        cpus: cpus.clone(),
        memory: memory.clone(),
        huge_pages: huge_pages.clone(),
        pages: pages(memory.as_ref(), cpus.as_ref(), facts),
    };
    Ok(PlacementPlan { record, cpus, memory, huge_pages })
}

fn cpus(choice: &CpuChoice, facts: &HostFacts, workload: &str) -> Result<CpuSet, Refusal> {
    let of = format!("`cpus = {choice}` of workload `{workload}`");
    let found = match choice {
        CpuChoice::List(cpus) => cpus.clone(),
        CpuChoice::Nodes(nodes) => of_nodes(nodes, facts, &of)?,
        CpuChoice::Siblings(count) => siblings(*count, facts, &of)?,
        CpuChoice::SeparateCores(count) => separate(*count, facts, &of)?,
    };
    let absent: CpuSet = found.iter().filter(|cpu| !facts.cpus.allowed.contains(*cpu)).collect();
    if !absent.is_empty() {
        return Err(Refusal::new(
            format!("{of} needs the CPUs {absent}; this process may use {}", facts.cpus.allowed),
            "name CPUs that are there, or run in a guest (`assay lab run`)",
        ));
    }
    Ok(found)
}

fn of_nodes(nodes: &NodeSet, facts: &HostFacts, of: &str) -> Result<CpuSet, Refusal> {
    let mut cpus = Vec::new();
    for id in nodes.iter() {
        let node = facts.nodes.iter().find(|node| node.id == id);
        let node = node.filter(|node| !node.cpus.is_empty());
        let Some(node) = node else { return Err(needs_nodes(of, facts)) };
        cpus.extend(node.cpus.iter());
    }
    Ok(cpus.into_iter().collect())
}

/// Threads per core of the fullest core.
fn threads(facts: &HostFacts) -> usize {
    facts.cpus.cores.iter().map(CpuSet::len).max().unwrap_or(1)
}

fn siblings(count: Option<u16>, facts: &HostFacts, of: &str) -> Result<CpuSet, Refusal> {
    let threads = threads(facts);
    if threads < 2 {
        return Err(Refusal::new(
            format!(
                "{of} needs a core with two threads (SMT), and every core of this host has one"
            ),
            "run it on a machine with SMT switched on: /sys/devices/system/cpu/smt/active is 1 there",
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
                "{of} needs whole cores of {threads} threads; this host has {}",
                full.len() / threads
            ),
            format!("write a multiple of {threads}, at most {}", full.len()),
        ));
    }
    Ok(full.into_iter().take(count).collect())
}

fn separate(count: Option<u16>, facts: &HostFacts, of: &str) -> Result<CpuSet, Refusal> {
    let count = count.map_or_else(|| threads(facts).max(2), usize::from);
    let firsts: Vec<u16> = facts.cpus.cores.iter().filter_map(|core| core.iter().next()).collect();
    // Cores of one node, if it has enough of them: else memory would differ as well.
    let within = facts.nodes.iter().find_map(|node| {
        let inside: Vec<u16> =
            firsts.iter().copied().filter(|cpu| node.cpus.contains(*cpu)).collect();
        (inside.len() >= count).then_some(inside)
    });
    let cores = within.unwrap_or(firsts);
    if cores.len() < count {
        return Err(Refusal::new(
            format!("{of} needs {count} cores; this host has {}", cores.len()),
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
    let of = format!("`memory = {policy}` of workload `{workload}`");
    if let Some(nodes) = policy.nodes()
        && !nodes.is_subset(&facts.memory_nodes)
    {
        return Err(needs_nodes(&of, facts));
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

fn needs_nodes(of: &str, facts: &HostFacts) -> Refusal {
    let most = facts.nodes.len();
    Refusal::new(
        format!(
            "{of} needs NUMA nodes that this host lacks: it has {most} ({} with memory)",
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
            "leave it out, or run on a newer kernel (`assay lab run STUDY --kernel`)",
        )),
        _ => Ok(()),
    }
}

/// The part of anonymous memory that should be on each node; empty where nothing is promised of
/// single nodes. Weights of weighted interleaving are known only when the trial runs.
fn pages(
    memory: Option<&MemoryPolicy>,
    cpus: Option<&CpuSet>,
    facts: &HostFacts,
) -> BTreeMap<u16, f64> {
    let all_on = |nodes: &[u16]| match nodes {
        [only] => BTreeMap::from([(*only, 1.0)]),
        _ => BTreeMap::new(),
    };
    match memory {
        Some(MemoryPolicy::Interleave(nodes)) => {
            nodes.iter().map(|node| (node, 1.0 / nodes.len() as f64)).collect()
        }
        Some(MemoryPolicy::Bind(nodes) | MemoryPolicy::Preferred(nodes)) => {
            all_on(&nodes.iter().collect::<Vec<u16>>())
        }
        Some(MemoryPolicy::PreferredMany(_) | MemoryPolicy::WeightedInterleave(_)) => {
            BTreeMap::new()
        }
        // Where it runs is where its memory comes from, also without a policy of its own.
        Some(MemoryPolicy::FirstTouch | MemoryPolicy::Local) | None => {
            let Some(cpus) = cpus else { return BTreeMap::new() };
            let holds = |node: &&assay_facts::Node| node.cpus.iter().any(|cpu| cpus.contains(cpu));
            let nodes: Vec<u16> = facts.nodes.iter().filter(holds).map(|node| node.id).collect();
            all_on(&nodes)
        }
    }
}
