//! Which node each CPU belongs to (/sys/devices/system/node/nodeN/cpulist).

use assay_kernel::Root;
use assay_units::CpuSet;

/// With more nodes rows would be longer than they are worth.
const MOST: usize = 64;

/// The nodes of the machine that are online.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Nodes {
    ids: Vec<u16>,
    of_cpu: Vec<Option<u16>>,
}

impl Nodes {
    /// Reads them; a kernel without NUMA shows none, which is an error here.
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
            return Err(format!(
                "{} nodes are more than the {MOST} that are told apart",
                ids.len()
            ));
        }
        let mut nodes = Self { ids, of_cpu: Vec::new() };
        for id in nodes.ids.clone() {
            let text = root.read_trimmed(format!("{folder}/node{id}/cpulist")).unwrap_or_default();
            // A node of memory alone has an empty list.
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

    /// The place of a node in the order of [`Nodes::ids`], which is the order of columns.
    pub(crate) fn place(&self, node: u16) -> Option<usize> {
        self.ids.iter().position(|id| *id == node)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.ids.len()
    }

    /// The largest number and one, for files that list nodes by number.
    pub(crate) fn room(&self) -> usize {
        self.ids.last().map_or(0, |last| usize::from(*last) + 1)
    }

    /// The CPUs of a node, in order.
    pub(crate) fn cpus(&self, node: u16) -> impl Iterator<Item = u16> + '_ {
        let of = move |(cpu, of): (usize, &Option<u16>)| (*of == Some(node)).then_some(cpu);
        self.of_cpu.iter().enumerate().filter_map(of).filter_map(|cpu| u16::try_from(cpu).ok())
    }

    /// The node of a CPU; `None` where sysfs does not tell.
    pub(crate) fn of_cpu(&self, cpu: u16) -> Option<u16> {
        self.of_cpu.get(usize::from(cpu)).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_finds_its_node_and_a_node_without_cpus_is_one() {
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
        assert_eq!((nodes.place(10), nodes.place(1), nodes.room()), (Some(2), None, 11));
    }
}
