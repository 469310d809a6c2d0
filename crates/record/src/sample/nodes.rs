//! The NUMA node of each CPU (/sys/devices/system/node/nodeN/cpulist).

use assay_sys::kernel::Root;
use assay_sys::units::CpuSet;

/// Limit on the number of nodes, which determines the length of rows.
const MOST: usize = 64;

/// The online nodes of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Nodes {
    ids: Vec<u16>,
    of_cpu: Vec<Option<u16>>,
}

impl Nodes {
    /// Reads the nodes; a kernel without NUMA has none, which is an error here.
    pub(crate) fn read(root: &Root) -> Result<Self, String> {
        let folder = "/sys/devices/system/node";
        let names = root.directories(folder).map_err(|error| error.to_string())?;
        let mut ids: Vec<u16> =
            names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
        ids.sort_unstable();
        if ids.is_empty() {
            return Err(format!("{folder} shows no node (CONFIG_NUMA)"));
        }
        if ids.len() > MOST {
            return Err(format!("{} nodes exceed the limit of {MOST}", ids.len()));
        }
        let mut nodes = Self { ids, of_cpu: Vec::new() };
        for id in nodes.ids.clone() {
            let text = root.read_trimmed(format!("{folder}/node{id}/cpulist")).unwrap_or_default();
            // A node with only memory has an empty list.
            let cpus = text.parse::<CpuSet>().unwrap_or_default();
            for cpu in cpus.iter() {
                let at = usize::from(cpu);
                if nodes.of_cpu.len() <= at {
                    nodes.of_cpu.resize(at + 1, None);
                }
                nodes.of_cpu[at] = Some(id);
            }
        }
        Ok(nodes)
    }

    /// Their numbers, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u16> + '_ {
        self.ids.iter().copied()
    }

    /// The index of a node in the order of [`Nodes::ids`], which is the order of columns.
    pub(crate) fn index_of(&self, node: u16) -> Option<usize> {
        self.ids.iter().position(|id| *id == node)
    }

    /// Number of nodes.
    pub(crate) fn count(&self) -> usize {
        self.ids.len()
    }

    /// The CPUs of a node, in order.
    pub(crate) fn cpus(&self, node: u16) -> impl Iterator<Item = u16> + '_ {
        let on_node = move |(cpu, of): (usize, &Option<u16>)| (*of == Some(node)).then_some(cpu);
        self.of_cpu.iter().enumerate().filter_map(on_node).filter_map(|cpu| u16::try_from(cpu).ok())
    }

    /// The node of a CPU; `None` if sysfs does not list it.
    pub(crate) fn of_cpu(&self, cpu: u16) -> Option<u16> {
        self.of_cpu.get(usize::from(cpu)).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_its_node_and_nodes_without_cpus_count() {
        let tree = tempfile::tempdir().unwrap();
        for (node, cpus) in [(0, "0-1,4\n"), (2, "2-3\n"), (10, "\n")] {
            let folder = tree.path().join(format!("sys/devices/system/node/node{node}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cpulist"), cpus).unwrap();
        }
        let nodes = Nodes::read(&Root::at(tree.path())).unwrap();
        assert_eq!(nodes.ids().collect::<Vec<_>>(), [0, 2, 10]);
        assert_eq!((nodes.of_cpu(4), nodes.of_cpu(3), nodes.of_cpu(5)), (Some(0), Some(2), None));
        assert_eq!(nodes.cpus(0).collect::<Vec<_>>(), [0, 1, 4]);
        assert_eq!(nodes.cpus(10).count(), 0);
        assert_eq!((nodes.index_of(10), nodes.index_of(1)), (Some(2), None));
    }
}
