//! The columns of `pages`, and what an exact reading and an estimate put into them.

use std::collections::BTreeMap;

use assay_sys::kernel::parse::numa_maps::{Policy, areas};

use crate::sample::nodes::Nodes;

/// Columns that do not depend on the nodes. The policies are in exact readings only.
pub(crate) const FIXED: [&str; 7] = [
    "resident_bytes",
    "sampled_pages",
    "default_bytes",
    "local_bytes",
    "preferred_bytes",
    "bind_bytes",
    "interleave_bytes",
];

/// Columns for each node: all pages, and in exact readings those of either kind.
const KINDS: [&str; 3] = ["", "anon_", "file_"];

/// The columns of a machine with these nodes.
pub(super) struct Columns {
    nodes: Nodes,
    pub(super) names: Vec<String>,
}

impl Columns {
    pub(super) fn new(nodes: Nodes) -> Self {
        let mut names: Vec<String> = FIXED.map(str::to_owned).to_vec();
        for kind in KINDS {
            names.extend(nodes.ids().map(|node| format!("{kind}node{node}_bytes")));
        }
        Self { nodes, names }
    }

    /// The bytes on each node, by kind and by policy, of a memory map.
    pub(super) fn exact(&self, resident: u64, text: &str) -> Vec<Option<u64>> {
        let mut values = vec![Some(0); self.names.len()];
        values[0] = Some(resident);
        values[1] = None;
        let count = self.nodes.count();
        let mut add = |at: usize, bytes: u64| values[at] = values[at].map(|sum| sum + bytes);
        for area in areas(text) {
            let kind = if area.anonymous { 1 } else { 2 };
            for (node, bytes) in area.on {
                if let Some(index) = self.nodes.index_of(node) {
                    add(FIXED.len() + index, bytes);
                    add(FIXED.len() + kind * count + index, bytes);
                }
                if let Some(policy) = area.policy {
                    add(policy_at(policy), bytes);
                }
            }
        }
        values
    }

    /// Each node's estimated part of the resident bytes; empty if no page was found.
    pub(super) fn estimated(
        &self,
        resident: u64,
        pages_by_node: &BTreeMap<u16, u64>,
    ) -> Vec<Option<u64>> {
        let mut values = vec![None; self.names.len()];
        values[0] = Some(resident);
        let all: u64 = pages_by_node.values().sum();
        values[1] = Some(all);
        if all > 0 {
            for (index, node) in self.nodes.ids().enumerate() {
                let part = pages_by_node.get(&node).copied().unwrap_or(0) as f64 / all as f64;
                values[FIXED.len() + index] = Some((resident as f64 * part).round() as u64);
            }
        }
        values
    }
}

/// The column of a policy.
const fn policy_at(policy: Policy) -> usize {
    match policy {
        Policy::Default => 2,
        Policy::Local => 3,
        Policy::Preferred => 4,
        Policy::Bind => 5,
        Policy::Interleave => 6,
    }
}
