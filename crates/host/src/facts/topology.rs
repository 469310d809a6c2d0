//! Topology of CPUs, caches and memory, ordered for display.

use assay_sys::units::CpuSet;

use crate::facts::{Cache, HostFacts, Node};

/// Cores that share a last-level cache.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cluster<'f> {
    /// The cache; `None` if the kernel reports none for these cores.
    pub cache: Option<&'f Cache>,
    /// The cores, each with its CPUs; several CPUs are SMT siblings.
    pub cores: Vec<&'f CpuSet>,
}

fn clusters<'f>(host: &'f HostFacts, node: &Node, last: &[&'f Cache]) -> Vec<Cluster<'f>> {
    let mut clusters: Vec<Cluster<'f>> = Vec::new();
    for core in &host.cpus.cores {
        let Some(first) = core.iter().find(|cpu| node.cpus.contains(*cpu)) else { continue };
        let cache = last.iter().copied().find(|cache| cache.shared_by.contains(first));
        match clusters.iter_mut().find(|cluster| cluster.cache == cache) {
            Some(cluster) => cluster.cores.push(core),
            None => clusters.push(Cluster { cache, cores: vec![core] }),
        }
    }
    clusters
}

/// Memory performance of a node as reported by the firmware, in words; `None` if not reported.
#[must_use]
pub fn memory_access(node: &Node) -> Option<String> {
    let texts = node.access.iter().map(|access| {
        let number = |what: &str, value: Option<u64>, unit: &str| {
            value.map(|value| format!("{what} {value} {unit}"))
        };
        let numbers = [
            number("reads", access.read_bandwidth, "MB/s"),
            number("writes", access.write_bandwidth, "MB/s"),
            number("a read takes", access.read_latency, "ns"),
            number("a write", access.write_latency, "ns"),
        ];
        let numbers: Vec<String> = numbers.into_iter().flatten().collect();
        format!(
            "from node {} (access{}): {}",
            access.initiators,
            access.class,
            if numbers.is_empty() { "no numbers".to_owned() } else { numbers.join(", ") }
        )
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Each node with its caches and cores, and the distances between nodes.
#[must_use]
pub fn topology_lines(host: &HostFacts) -> Vec<String> {
    let level = host.caches.iter().map(|cache| cache.level).max();
    let is_last = |cache: &&Cache| Some(cache.level) == level && cache.kind != "Instruction";
    let last: Vec<&Cache> = host.caches.iter().filter(is_last).collect();
    let mut lines = Vec::new();
    for node in &host.nodes {
        lines_of(node, &clusters(host, node, &last), &mut lines);
    }
    if host.nodes.len() < 2 {
        return lines;
    }
    let names: Vec<String> = host.nodes.iter().map(|node| format!("{:>6}", node.id)).collect();
    lines.push(format!("  distances{}", names.concat()));
    for node in &host.nodes {
        let row = node.distances.iter().map(|distance| format!("{distance:>6}"));
        lines.push(format!("  {:>9}{}", node.id, row.collect::<String>()));
    }
    lines
}

fn lines_of(node: &Node, clusters: &[Cluster<'_>], lines: &mut Vec<String>) {
    let cpus = match node.cpus.is_empty() {
        true => "no CPUs".to_owned(),
        false => format!("CPUs {}", node.cpus),
    };
    let memory = node.memory.get() as f64 / f64::from(1 << 30);
    let access = memory_access(node)
        .unwrap_or_else(|| "not available: the firmware reports none (ACPI HMAT)".to_owned());
    lines.push(format!("  node {}  {cpus}, {memory:.1} GiB; bandwidth {access}", node.id));
    for cluster in clusters {
        let cache = cluster.cache.map_or_else(
            || "no known shared cache".to_owned(),
            |cache| format!("L{} {}", cache.level, cache.size),
        );
        let cores: Vec<String> = cluster.cores.iter().map(ToString::to_string).collect();
        let pairs = if cluster.cores.iter().any(|core| core.len() > 1) {
            "cores of SMT siblings"
        } else {
            "cores"
        };
        lines.push(format!("          {cache}: {pairs} {}", cores.join(" | ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::NodeAccess;
    use assay_sys::units::Bytes;

    #[test]
    fn reported_memory_performance_is_described() {
        let mut node = Node {
            id: 1,
            cpus: "2-3".parse().unwrap(),
            memory: Bytes::mebi(1024),
            distances: vec![20, 10],
            access: Vec::new(),
        };
        assert_eq!(memory_access(&node), None);
        node.access.push(NodeAccess {
            class: 0,
            initiators: "1".parse().unwrap(),
            read_bandwidth: Some(12_000),
            write_bandwidth: None,
            read_latency: Some(90),
            write_latency: None,
        });
        let text = memory_access(&node).unwrap();
        assert_eq!(text, "from node 1 (access0): reads 12000 MB/s, a read takes 90 ns");
    }
}
