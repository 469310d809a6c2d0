//! The topology of CPUs, caches and memory in `assay host`.

use assay_facts::{HostFacts, NodeParts, memory_access, topology};

/// Each node with its caches and cores, and the distances between nodes.
pub(super) fn lines(facts: &HostFacts, lines: &mut Vec<String>) {
    let nodes = topology(facts);
    for parts in &nodes {
        node(parts, lines);
    }
    if nodes.len() < 2 {
        return;
    }
    let names: Vec<String> = nodes.iter().map(|parts| format!("{:>6}", parts.node.id)).collect();
    lines.push(format!("  distances{}", names.concat()));
    for parts in &nodes {
        let row = parts.node.distances.iter().map(|distance| format!("{distance:>6}"));
        lines.push(format!("  {:>9}{}", parts.node.id, row.collect::<String>()));
    }
}

fn node(parts: &NodeParts<'_>, lines: &mut Vec<String>) {
    let node = parts.node;
    let cpus = match node.cpus.is_empty() {
        true => "no CPUs".to_owned(),
        false => format!("CPUs {}", node.cpus),
    };
    let memory = node.memory.get() as f64 / f64::from(1 << 30);
    let access = memory_access(node)
        .unwrap_or_else(|| "not available: the firmware reports none (ACPI HMAT)".to_owned());
    lines.push(format!("  node {}  {cpus}, {memory:.1} GiB; bandwidth {access}", node.id));
    for cluster in &parts.clusters {
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
