//! What the host counts of placement, before and after.

use std::collections::BTreeMap;

use assay_facts::Available;
use assay_kernel::Root;
use assay_kernel::counters::keyed;
use assay_record::NodeCounts;

const NODES: &str = "/sys/devices/system/node";
const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

/// Counters at one moment.
pub(super) struct Counts {
    missed: BTreeMap<u16, u64>,
    moved: Available<u64>,
    balancing: Available<String>,
    weights: BTreeMap<u16, u64>,
}

impl Counts {
    pub(super) fn read(root: &Root) -> Self {
        let balancing = root.read_trimmed("/proc/sys/kernel/numa_balancing");
        Self {
            missed: by_node(root, NODES, |path| {
                let text = root.read(format!("{path}/numastat")).ok()?;
                keyed(text.as_bytes(), "numa_miss")
            }),
            moved: moved(root),
            balancing: match balancing {
                Ok(text) => Available::Value(text),
                Err(error) => Available::NotAvailable(error.to_string()),
            },
            weights: by_node(root, WEIGHTS, |path| root.read_trimmed(path).ok()?.parse().ok()),
        }
    }

    /// What was counted since.
    pub(super) fn until_now(self, root: &Root) -> NodeCounts {
        let now = Self::read(root);
        let since = |(node, after): (&u16, &u64)| {
            let before = self.missed.get(node).copied().unwrap_or(0);
            (*node, after.saturating_sub(before))
        };
        NodeCounts {
            missed_pages: now.missed.iter().map(since).collect(),
            moved_pages: match (self.moved, now.moved) {
                (Available::Value(before), Available::Value(after)) => {
                    Available::Value(after.saturating_sub(before))
                }
                (_, after) => after,
            },
            balancing: self.balancing,
            weights: self.weights,
        }
    }
}

fn by_node(root: &Root, folder: &str, read: impl Fn(&str) -> Option<u64>) -> BTreeMap<u16, u64> {
    let names = root.list(folder).unwrap_or_default();
    let nodes = names.iter().filter_map(|name| {
        let node = name.strip_prefix("node")?.parse().ok()?;
        Some((node, read(&format!("{folder}/{name}"))?))
    });
    nodes.collect()
}

fn moved(root: &Root) -> Available<u64> {
    let text = root.read("/proc/vmstat").unwrap_or_default();
    match keyed(text.as_bytes(), "numa_pages_migrated") {
        Some(pages) => Available::Value(pages),
        None => Available::NotAvailable(
            "/proc/vmstat has no numa_pages_migrated (CONFIG_NUMA_BALANCING)".to_owned(),
        ),
    }
}
