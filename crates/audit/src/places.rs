//! Where disks stand in a snapshot: looked up for each line of each group, of which a snapshot may have millions.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::snapshot::Disk;
use crate::value::{device_lines, field};

/// Where iocost is switched on.
pub(crate) const COSTS: &str = "io.cost.qos";

/// Where each disk stands in the snapshot, by numbers and by names, its partitions' included.
pub(crate) struct Places {
    by_device: HashMap<String, usize>,
    by_name: HashMap<String, usize>,
    /// Devices that io.cost divides, as far as its file can be seen.
    by_iocost: HashSet<String>,
    /// Where the disks at the bottom of each are, once somebody asked.
    bottoms: Vec<OnceCell<Vec<usize>>>,
}

impl Places {
    pub(crate) fn new(disks: &[Disk], costs: Option<&str>) -> Self {
        let (mut by_device, mut by_name) = (HashMap::new(), HashMap::new());
        for (at, disk) in disks.iter().enumerate() {
            for device in std::iter::once(&disk.device).chain(disk.partitions.values()) {
                by_device.entry(device.clone()).or_insert(at);
            }
            for name in std::iter::once(&disk.name).chain(disk.partitions.keys()) {
                by_name.entry(name.clone()).or_insert(at);
            }
        }
        let lines = costs.into_iter().flat_map(device_lines);
        let enabled = lines.filter(|(_, line)| field(line, "enable") == Some("1"));
        let by_iocost = enabled.map(|(device, _)| device.to_owned()).collect();
        let bottoms = vec![OnceCell::new(); disks.len()];
        Self { by_device, by_name, by_iocost, bottoms }
    }

    pub(crate) fn of_device(&self, device: &str) -> Option<usize> {
        self.by_device.get(device).copied()
    }

    pub(crate) fn of_name(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The disks at the bottom of that at a place.
    pub(crate) fn bottom(&self, at: usize, find: impl FnOnce() -> Vec<usize>) -> &[usize] {
        self.bottoms.get(at).map_or(&[], |found| found.get_or_init(find))
    }

    pub(crate) fn is_by_iocost(&self, device: &str) -> bool {
        self.by_iocost.contains(device)
    }
}
