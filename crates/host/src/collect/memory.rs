//! Memory and NUMA nodes.

use std::path::Path;

use crate::facts::{Node, NodeAccess};
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::keyed;
use assay_sys::units::{Bytes, CpuSet};

use super::cpus::parsed;

const NODE: &str = "/sys/devices/system/node";

/// A value of /proc/meminfo.
pub(super) fn total(root: &Root, key: &str) -> Bytes {
    amount(root, Path::new("/proc/meminfo"), key)
}

fn amount(root: &Root, path: &Path, key: &str) -> Bytes {
    let text = root.read(path).unwrap_or_default();
    Bytes::new(keyed::kibibytes(&text, key).unwrap_or(0))
}

/// The NUMA nodes; a kernel without NUMA counts as one node with everything.
pub(super) fn nodes(root: &Root, online: &CpuSet, memory: Bytes) -> Vec<Node> {
    let names = root.list(NODE).unwrap_or_default();
    let mut ids: Vec<u16> =
        names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    ids.sort_unstable();
    if ids.is_empty() {
        let (cpus, distances) = (online.clone(), vec![10]);
        return vec![Node { id: 0, cpus, memory, distances, access: Vec::new() }];
    }
    ids.into_iter().map(|id| node(root, id)).collect()
}

fn node(root: &Root, id: u16) -> Node {
    let directory = Path::new(NODE).join(format!("node{id}"));
    let distances = root.read(directory.join("distance")).unwrap_or_default();
    Node {
        id,
        cpus: parsed(root, &directory.join("cpulist")).unwrap_or_default(),
        memory: amount(root, &directory.join("meminfo"), "MemTotal"),
        distances: distances.split_whitespace().filter_map(|word| word.parse().ok()).collect(),
        access: [0, 1].into_iter().filter_map(|class| access(root, &directory, class)).collect(),
    }
}

/// One access class, where the firmware has an HMAT (Documentation/admin-guide/mm/numaperf.rst).
fn access(root: &Root, directory: &Path, class: u8) -> Option<NodeAccess> {
    let folder = directory.join(format!("access{class}/initiators"));
    let names = root.list(&folder).ok()?;
    let number = |file: &str| parsed(root, &folder.join(file));
    Some(NodeAccess {
        class,
        initiators: names
            .iter()
            .filter_map(|name| name.strip_prefix("node")?.parse().ok())
            .collect(),
        read_bandwidth: number("read_bandwidth"),
        write_bandwidth: number("write_bandwidth"),
        read_latency: number("read_latency"),
        write_latency: number("write_latency"),
    })
}
