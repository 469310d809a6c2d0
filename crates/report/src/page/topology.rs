//! Picture of CPUs, caches and memory that needs no code and no network: an inline SVG, styled by
//! the page and therefore light or dark with it.

use std::fmt::Write as _;

use assay_escape::html;
use assay_facts::{Cluster, HostFacts, NodeParts, memory_access, topology};

/// Width of the picture; the page scales it.
const WIDTH: usize = 720;
/// Padding.
const GAP: usize = 10;
/// Size of a CPU's box.
const CPU: usize = 34;
const ROW: usize = 30;
/// Height of a line of text.
const LINE: usize = 18;
/// Maximum number of CPUs drawn.
const MAX_CPUS: usize = 512;

/// The picture, or the reason why there is none.
pub(super) fn picture(host: &HostFacts) -> Result<String, String> {
    let nodes = topology(host);
    let cpus: usize = nodes.iter().flat_map(|node| &node.clusters).map(cpus_of).sum();
    if cpus == 0 {
        return Err("no CPUs are recorded for this host".to_owned());
    }
    if cpus > MAX_CPUS {
        return Err(format!("{cpus} CPUs are too many to draw; see the lists above"));
    }
    let mut drawing = Drawing { svg: String::new(), y: GAP };
    for node in &nodes {
        drawing.node(node);
    }
    if nodes.len() > 1 {
        drawing.distances(&nodes);
    }
    let about = description(&nodes);
    Ok(format!(
        "<svg class=\"topology\" role=\"img\" aria-labelledby=\"topology-title topology-about\" \
         viewBox=\"0 0 {WIDTH} {}\">\
         <title id=\"topology-title\">CPUs, caches and memory of this machine</title>\
         <desc id=\"topology-about\">{}</desc>{}</svg>",
        drawing.y,
        html(&about),
        drawing.svg
    ))
}

fn cpus_of(cluster: &Cluster<'_>) -> usize {
    cluster.cores.iter().map(|core| core.len()).sum()
}

/// A text description for readers who cannot see the picture.
fn description(nodes: &[NodeParts<'_>]) -> String {
    let of_node = |parts: &NodeParts<'_>| {
        let clusters: Vec<String> = parts.clusters.iter().map(cluster_words).collect();
        let inside = match clusters.is_empty() {
            true => "no CPUs".to_owned(),
            false => clusters.join("; "),
        };
        format!("Node {} with {}: {inside}.", parts.node.id, memory(parts))
    };
    let mut words: Vec<String> = nodes.iter().map(of_node).collect();
    for parts in nodes.iter().filter(|_| nodes.len() > 1) {
        let distances: Vec<String> = nodes
            .iter()
            .zip(&parts.node.distances)
            .map(|(to, distance)| format!("{distance} to node {}", to.node.id))
            .collect();
        words.push(format!("Distances of node {}: {}.", parts.node.id, distances.join(", ")));
    }
    words.join(" ")
}

fn cluster_words(cluster: &Cluster<'_>) -> String {
    let cores: Vec<String> =
        cluster.cores.iter().map(|core| core_words(core.len(), *core)).collect();
    format!("{}, {}", cache(cluster), cores.join(", "))
}

fn core_words(count: usize, core: &impl std::fmt::Display) -> String {
    match count {
        1 => format!("CPU {core}"),
        _ => format!("SMT siblings {core}"),
    }
}

fn cache(cluster: &Cluster<'_>) -> String {
    cluster.cache.map_or_else(
        || "no cache is known to be shared".to_owned(),
        |cache| format!("L{} {}", cache.level, cache.size),
    )
}

fn memory(parts: &NodeParts<'_>) -> String {
    format!("{:.1} GiB", parts.node.memory.get() as f64 / f64::from(1 << 30))
}

/// The SVG drawn so far and the current position.
struct Drawing {
    svg: String,
    y: usize,
}

impl Drawing {
    fn node(&mut self, parts: &NodeParts<'_>) {
        let (top, inside) = (self.y, WIDTH - 4 * GAP);
        let before = std::mem::take(&mut self.svg);
        self.y += LINE + GAP;
        for cluster in &parts.clusters {
            self.cluster(cluster, 2 * GAP, inside);
        }
        let contents = std::mem::replace(&mut self.svg, before);
        let access =
            memory_access(parts.node).map(|access| format!("; {access}")).unwrap_or_default();
        self.rectangle("node", GAP, top, WIDTH - 2 * GAP, self.y - top);
        let label = format!("node {} - {}{access}", parts.node.id, memory(parts));
        self.text("label", 2 * GAP, top + LINE, &label);
        self.svg.push_str(&contents);
        self.y += GAP;
    }

    /// Cores below their cache, as many in a row as fit.
    fn cluster(&mut self, cluster: &Cluster<'_>, x: usize, width: usize) {
        let top = self.y;
        let before = std::mem::take(&mut self.svg);
        self.y += LINE + GAP / 2;
        let mut at = x + GAP;
        for core in &cluster.cores {
            let wide = core.len() * CPU + GAP / 2;
            if at + wide > x + width - GAP && at > x + GAP {
                (at, self.y) = (x + GAP, self.y + ROW + GAP / 2);
            }
            self.rectangle("core", at, self.y, wide, ROW);
            for (index, cpu) in core.iter().enumerate() {
                let middle = at + GAP / 4 + index * CPU + CPU / 2;
                self.text("cpu", middle, self.y + ROW - GAP, &cpu.to_string());
            }
            at += wide + GAP / 2;
        }
        self.y += ROW + GAP;
        let contents = std::mem::replace(&mut self.svg, before);
        self.rectangle("cache", x, top, width, self.y - top);
        self.text("label", x + GAP, top + LINE - 2, &cache(cluster));
        self.svg.push_str(&contents);
        self.y += GAP;
    }

    /// The distance table: farther is darker.
    fn distances(&mut self, nodes: &[NodeParts<'_>]) {
        self.text("label", GAP, self.y + LINE, "distances (10 is local memory)");
        self.y += LINE + GAP;
        let cell = ((WIDTH - 8 * GAP) / (nodes.len() + 1)).min(90);
        for (column, to) in nodes.iter().enumerate() {
            let x = GAP + (column + 1) * cell + cell / 2;
            self.text("cpu", x, self.y + LINE, &format!("node {}", to.node.id));
        }
        self.y += LINE + GAP / 2;
        for from in nodes {
            self.text("label", GAP, self.y + LINE + 2, &format!("node {}", from.node.id));
            for (column, distance) in from.node.distances.iter().enumerate().take(nodes.len()) {
                let x = GAP + (column + 1) * cell;
                // 10 is local, and 40 already four times as far.
                let shade = (distance.saturating_sub(10).min(30) / 10).min(3);
                self.rectangle(&format!("far far-{shade}"), x, self.y, cell - 4, ROW - 4);
                self.text("cpu", x + cell / 2 - 2, self.y + LINE, &distance.to_string());
            }
            self.y += ROW;
        }
        self.y += GAP;
    }

    fn rectangle(&mut self, class: &str, x: usize, y: usize, width: usize, height: usize) {
        // Writing to a String cannot fail.
        let _ = write!(
            self.svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" \
             height=\"{height}\" rx=\"4\"/>"
        );
    }

    fn text(&mut self, class: &str, x: usize, y: usize, text: &str) {
        let text = html(text);
        let _ = write!(self.svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
    }
}

#[cfg(test)]
mod tests {
    use assay_facts::{Cache, Node};
    use assay_units::{Bytes, CpuSet};

    use super::*;

    fn parts<'f>(node: &'f Node, cache: &'f Cache, cores: &'f [CpuSet]) -> NodeParts<'f> {
        let cores = cores.iter().collect();
        NodeParts { node, clusters: vec![Cluster { cache: Some(cache), cores }] }
    }

    #[test]
    fn description_has_nodes_caches_siblings_and_distances() {
        let node = |id, cpus: &str, distances| Node {
            id,
            cpus: cpus.parse().unwrap(),
            memory: Bytes::mebi(2048),
            distances,
            access: Vec::new(),
        };
        let (near, far) = (node(0, "0,2", vec![10, 31]), node(1, "1", vec![31, 10]));
        let cache = Cache {
            level: 3,
            kind: "Unified".to_owned(),
            size: Bytes::mebi(32),
            ways: 16,
            line: 64,
            shared_by: "0-2".parse().unwrap(),
        };
        let (pair, alone) = (["0,2".parse().unwrap()], ["1".parse().unwrap()]);
        let nodes = [parts(&near, &cache, &pair), parts(&far, &cache, &alone)];
        let text = description(&nodes);
        for words in [
            "Node 0 with 2.0 GiB: L3 32 MiB, SMT siblings 0,2.",
            "Node 1 with 2.0 GiB: L3 32 MiB, CPU 1.",
            "Distances of node 0: 10 to node 0, 31 to node 1.",
        ] {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        let mut drawing = Drawing { svg: String::new(), y: GAP };
        nodes.iter().for_each(|node| drawing.node(node));
        drawing.distances(&nodes);
        assert_eq!(drawing.svg.matches("class=\"core\"").count(), 2, "{}", drawing.svg);
        assert_eq!(drawing.svg.matches("class=\"far far-2\"").count(), 2, "{}", drawing.svg);
    }
}
