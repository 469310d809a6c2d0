//! `group_nodes`: on which nodes the memory of each group lies, from `memory.numa_stat`
//! (Documentation/admin-guide/cgroup-v2.rst, 5.10; cgroup-v1/memory.rst section 5.6).

use std::time::Duration;

use assay_sys::kernel::anonymous_memory::page_size;
use assay_sys::kernel::counters::on_nodes;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, SECOND, Source, boxed};
use crate::sample::nodes::Nodes;
use crate::sample::registry::{Inclusion, SourceInfo};
use crate::sample::target::Targets;

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "group_nodes",
    inclusion: Inclusion::OnRequest,
    open: |root, targets| boxed(GroupNodes::open(root, targets)),
};

/// Kinds of memory, with their keys on v2 and on v1, where only the hierarchical lines include descendants.
const KINDS: [(&str, &str, &str); 2] =
    [("anon", "anon", "hierarchical_anon"), ("file", "file", "hierarchical_file")];

/// Memory of all groups by node.
pub(super) struct GroupNodes {
    groups: Vec<(String, RereadFile, bool)>,
    nodes: Nodes,
    columns: Vec<String>,
    by_number: Vec<Option<u64>>,
    values: Vec<Option<u64>>,
    buffer: Vec<u8>,
}

impl GroupNodes {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let nodes = Nodes::read(root)?;
        let mut groups = Vec::new();
        for group in &targets.groups {
            let memory = group.memory.as_ref().map_err(Clone::clone)?;
            let path = memory.directory.join("memory.numa_stat");
            let file = root.open_reread(path).map_err(|error| error.to_string())?;
            groups.push((group.name.clone(), file, memory.is_v2));
        }
        if groups.is_empty() {
            return Err("no group is sampled".to_owned());
        }
        let columns: Vec<String> = KINDS
            .iter()
            .flat_map(|(kind, ..)| nodes.ids().map(move |node| format!("{kind}_node{node}_bytes")))
            .collect();
        Ok(Self {
            groups,
            by_number: vec![None; nodes.number_limit()],
            values: vec![None; columns.len()],
            nodes,
            columns,
            buffer: Vec::new(),
        })
    }
}

impl Source for GroupNodes {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.groups.iter().map(|(name, ..)| name.clone()).collect()
    }

    fn files(&self) -> usize {
        self.groups.len()
    }

    fn period(&self) -> Duration {
        SECOND
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        let count = self.nodes.count();
        for (index, (_, file, is_v2)) in self.groups.iter().enumerate() {
            self.values.fill(None);
            if let Ok(text) = file.read(&mut self.buffer) {
                for ((_, v2, v1), values) in KINDS.iter().zip(self.values.chunks_mut(count)) {
                    on_nodes(text, if *is_v2 { v2 } else { v1 }, &mut self.by_number);
                    let unit = if *is_v2 { 1 } else { page_size() as u64 };
                    for (node, value) in self.nodes.ids().zip(values) {
                        let amount = self.by_number.get(usize::from(node)).copied().flatten();
                        *value = amount.and_then(|value| value.checked_mul(unit));
                    }
                }
            }
            rows.add(index, &self.values);
        }
    }
}
