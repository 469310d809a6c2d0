//! Host properties that may affect a verdict, and the hosts that differ in them.

use std::collections::{BTreeMap, BTreeSet};

use assay_host::facts::{Available, Hierarchy, HostFacts, Layout};
use assay_judge::verdict::{Differs, FleetHost, HostDifference};
use assay_record::run_folder::Manifest;

/// The properties of a run's host, by name; alike hosts have equal text.
#[must_use]
pub fn traits(manifest: &Manifest) -> BTreeMap<String, String> {
    let host = &manifest.host;
    let mut traits = BTreeMap::new();
    let mut put = |name: &str, value: String| {
        if traits.len() < MOST {
            traits.insert(excerpt(name), excerpt(&value));
        }
    };
    put("kernel", host.kernel.clone());
    put("architecture", host.architecture.clone());
    put("distribution", host.distribution.clone());
    put("control groups", control_groups(host));
    put("processor", host.cpus.model.clone());
    put("topology", topology(host));
    put("caches", caches(host));
    put("memory", memory(host));
    put("machine", host.virtual_machine.clone().unwrap_or_else(|| "no virtual machine".to_owned()));
    put("assay", manifest.assay.clone());
    for (disk, scheduler) in schedulers(manifest) {
        put(&format!("scheduler of {disk}"), scheduler);
    }
    for (tool, version) in tools(manifest) {
        put(&tool, version);
    }
    traits
}

/// Properties of one host, and signs of each: every property of one host is compared with all others.
const MOST: usize = 64;
const LONGEST: usize = 300;

fn excerpt(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

fn control_groups(host: &HostFacts) -> String {
    let layout = match host.cgroup.layout {
        Layout::V1 => "v1",
        Layout::V2 => "v2",
        Layout::Hybrid => "hybrid",
        Layout::None => "none",
    };
    let homes = host.cgroup.controllers.iter().filter_map(|(name, controller)| {
        let home = match controller.hierarchy {
            Hierarchy::V1(_) => "v1",
            Hierarchy::V2(_) => "v2",
            Hierarchy::Absent(_) => return None,
        };
        Some(format!("{name} {home}"))
    });
    format!("{layout} ({})", homes.collect::<Vec<_>>().join(", "))
}

fn topology(host: &HostFacts) -> String {
    let cpus = host.cpus.online.iter().count();
    let allowed = host.cpus.allowed.iter().count();
    let mut text =
        format!("{cpus} CPUs on {} cores and {} nodes", host.cpus.cores.len(), host.nodes.len());
    if allowed != cpus {
        text.push_str(&format!(", {allowed} CPUs allowed"));
    }
    if host.nodes.len() > 1 {
        let distances: Vec<String> =
            host.nodes.iter().map(|node| format!("{:?}", node.distances)).collect();
        text.push_str(&format!(", distances {}", distances.join(" ")));
    }
    text
}

fn caches(host: &HostFacts) -> String {
    let mut counted: BTreeMap<(u8, &str, u64), usize> = BTreeMap::new();
    for cache in &host.caches {
        *counted.entry((cache.level, &cache.kind, cache.size.get())).or_default() += 1;
    }
    let line = |((level, kind, size), count): (&(u8, &str, u64), &usize)| {
        format!("{count} x L{level} {kind} {} KiB", size >> 10)
    };
    let lines: Vec<String> = counted.iter().map(line).collect();
    if lines.is_empty() { "not available from sysfs".to_owned() } else { lines.join(", ") }
}

/// Rounded to a tenth of a GiB: firmware reserves a varying number of pages.
fn memory(host: &HostFacts) -> String {
    format!("{:.1} GiB", host.memory.get() as f64 / f64::from(1 << 30))
}

/// The scheduler that each disk of the study actually had.
fn schedulers(manifest: &Manifest) -> BTreeMap<String, String> {
    let mut schedulers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let repeats = manifest.trials.iter().flat_map(|trial| &trial.repeats);
    for queue in repeats.flat_map(|repeat| &repeat.queues) {
        schedulers.entry(&queue.disk).or_default().insert(&queue.scheduler_at_start);
    }
    let words = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    schedulers.into_iter().map(|(disk, names)| (disk.to_owned(), words(names))).collect()
}

/// Versions of the tools used.
fn tools(manifest: &Manifest) -> BTreeMap<String, String> {
    let groups = manifest.trials.iter().flat_map(|trial| &trial.groups);
    let used: BTreeSet<&str> =
        groups.flat_map(|group| &group.workloads).map(|workload| workload.tool.as_str()).collect();
    used.into_iter()
        .filter_map(|name| {
            let version = match &manifest.host.tools.get(name)?.found {
                Available::Value(version) => version.clone(),
                Available::NotAvailable(why) => format!("not available: {why}"),
            };
            Some((format!("tool {name}"), version))
        })
        .collect()
}

/// The properties in which hosts differ. The most frequent value is usual; among equals, the first.
#[must_use]
pub fn differences(hosts: &[FleetHost]) -> Vec<HostDifference> {
    let known: Vec<&FleetHost> = hosts.iter().filter(|host| !host.traits.is_empty()).collect();
    let names: BTreeSet<&String> = known.iter().flat_map(|host| host.traits.keys()).collect();
    names.into_iter().filter_map(|name| difference(name, &known)).collect()
}

fn difference(name: &str, hosts: &[&FleetHost]) -> Option<HostDifference> {
    let of = |host: &FleetHost| {
        host.traits.get(name).cloned().unwrap_or_else(|| "not recorded".to_owned())
    };
    let mut counted: Vec<(String, usize)> = Vec::new();
    for value in hosts.iter().map(|host| of(host)) {
        match counted.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counted.push((value, 1)),
        }
    }
    if counted.len() < 2 {
        return None;
    }
    let most = counted.iter().map(|(_, count)| *count).max()?;
    let (usual, alike) = counted.into_iter().find(|(_, count)| *count == most)?;
    let others = hosts
        .iter()
        .map(|host| Differs { node: host.node.clone(), is: of(host) })
        .filter(|differs| differs.is != usual)
        .collect();
    Some(HostDifference { what: name.to_owned(), usual, alike, others })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(node: &str, kernel: &str) -> FleetHost {
        let traits = [("kernel", kernel), ("memory", "8.0 GiB")];
        let traits = traits.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let known = traits.into_iter().filter(|_| !kernel.is_empty()).collect();
        FleetHost { node: node.to_owned(), traits: known, ..crate::collect::blank() }
    }

    #[test]
    fn a_host_with_another_kernel_is_named_with_the_usual_one() {
        let hosts = [host("a", "6.1"), host("b", "6.12"), host("c", "6.1"), host("lost", "")];
        let found = differences(&hosts);
        assert_eq!(found.len(), 1, "memory is alike: {found:?}");
        assert_eq!((found[0].what.as_str(), found[0].usual.as_str()), ("kernel", "6.1"));
        assert_eq!(found[0].alike, 2);
        assert_eq!(found[0].others, [Differs { node: "b".to_owned(), is: "6.12".to_owned() }]);
    }

    #[test]
    fn hosts_that_are_alike_have_no_difference() {
        assert_eq!(differences(&[host("a", "6.1"), host("b", "6.1")]), []);
        assert_eq!(differences(&[host("a", "6.1")]), []);
    }
}
