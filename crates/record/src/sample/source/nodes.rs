//! `nodes`: memory of each NUMA node and intended nodes of allocations, from
//! /sys/devices/system/node/nodeN/{meminfo,numastat} (Documentation/admin-guide/numastat.rst).
//!
//! A node's counters are of allocations, not of accesses: a thread that keeps reading memory of another node
//! does not show here.

use assay_sys::kernel::Root;

use super::keyed_file::{Key, KeyedFile, count, kib, reasons};
use super::{Depth, Rows, SECOND, Source, boxed, names};
use crate::sample::nodes::Nodes;
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "nodes",
    inclusion: Inclusion::Always,
    open: |root, _| boxed(NodeMemory::open(root)),
};

/// Current amounts.
pub(crate) const MEMORY: [Key; 9] = [
    kib("total_bytes", "MemTotal"),
    kib("free_bytes", "MemFree"),
    kib("file_bytes", "FilePages"),
    kib("anon_bytes", "AnonPages"),
    kib("anon_huge_bytes", "AnonHugePages"),
    kib("shmem_bytes", "Shmem"),
    kib("slab_bytes", "Slab"),
    kib("dirty_bytes", "Dirty"),
    kib("writeback_bytes", "Writeback"),
];

/// Pages since boot.
pub(crate) const ALLOCATIONS: [Key; 6] = [
    count("numa_hit", "numa_hit"),
    count("numa_miss", "numa_miss"),
    count("numa_foreign", "numa_foreign"),
    count("interleave_hit", "interleave_hit"),
    count("local_node", "local_node"),
    count("other_node", "other_node"),
];

/// All nodes.
pub(super) struct NodeMemory {
    table: TableInfo,
    nodes: Vec<(KeyedFile, KeyedFile)>,
    values: Vec<Option<u64>>,
    buffer: Vec<u8>,
}

impl NodeMemory {
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        let online = Nodes::read(root)?;
        let open = |node: u16| {
            let folder = format!("/sys/devices/system/node/node{node}");
            let memory = KeyedFile::open(root, &format!("{folder}/meminfo"), &MEMORY)?;
            let allocations = KeyedFile::open(root, &format!("{folder}/numastat"), &ALLOCATIONS)?;
            Ok((memory, allocations))
        };
        let nodes = online.ids().map(open).collect::<Result<Vec<_>, String>>()?;
        let columns: Vec<&str> = MEMORY.iter().chain(&ALLOCATIONS).map(|key| key.column).collect();
        let subjects = online.ids().map(|node| format!("node{node}")).collect();
        let table = TableInfo::new(INFO.name, names(&columns), subjects);
        let table = TableInfo { files: nodes.len() * 2, period: SECOND, ..table };
        Ok(Self { table, nodes, values: vec![None; columns.len()], buffer: Vec::new() })
    }
}

impl Source for NodeMemory {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn reasons(&self) -> Vec<(String, String)> {
        let Some((memory, placed)) = self.nodes.first() else { return Vec::new() };
        let mut missing = reasons("nodes", "a node's meminfo", &MEMORY, memory.absent());
        missing.extend(reasons("nodes", "a node's numastat", &ALLOCATIONS, placed.absent()));
        missing
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        for (index, (memory, placed)) in self.nodes.iter().enumerate() {
            let (held, counted) = self.values.split_at_mut(MEMORY.len());
            memory.read(&mut self.buffer, held);
            placed.read(&mut self.buffer, counted);
            rows.add(index, &self.values);
        }
    }
}
