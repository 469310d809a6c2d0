//! The groups of the controller `cpu`: where they are, and which of them have a quota. On cgroup2 also those without the
//! controller, whose threads the kernel schedules in a group above.

use std::path::{Path, PathBuf};

use assay_host::facts::{CgroupLayout, HostFacts};
use assay_sys::kernel::Root;
use assay_sys::units::CpuSet;

use super::WatchError;
use crate::watch::group_tree::GroupTree;

/// CPUs that the programs have room for.
const CPUS: usize = 256;

/// The hierarchy of the controller `cpu`.
#[derive(Debug, Clone)]
pub struct CpuHierarchy {
    pub(crate) tree: GroupTree,
    /// The CPUs from 0 to the highest one.
    pub cpus: usize,
}

impl CpuHierarchy {
    /// Where this host has it.
    ///
    /// # Errors
    /// It has none, or more CPUs than the programs have room for.
    pub fn new(facts: &HostFacts) -> Result<Self, WatchError> {
        Self::from_layout(&facts.cgroup, &facts.cpus.online)
    }

    /// The same, from the control groups and online CPUs alone.
    ///
    /// # Errors
    /// As [`CpuHierarchy::new`].
    pub fn from_layout(layout: &CgroupLayout, online: &CpuSet) -> Result<Self, WatchError> {
        let cpus = online.iter().max().map_or(1, |highest| highest as usize + 1);
        if cpus > CPUS {
            let most = CPUS - 1;
            return Err(WatchError::Host(format!("the programs have room for CPUs 0 to {most}")));
        }
        Ok(Self { tree: GroupTree::new(layout, "cpu")?, cpus })
    }

    /// A group's path below the mount, from the path of its directory or one without the slash.
    #[must_use]
    pub fn path(&self, given: &str) -> String {
        self.tree.path(given)
    }

    /// Whether it is cgroup2.
    #[must_use]
    pub const fn is_v2(&self) -> bool {
        self.tree.is_v2
    }

    /// Whether these are the controllers of its line in /proc/PID/cgroup.
    #[must_use]
    pub fn has(&self, controllers: &[String]) -> bool {
        if self.tree.is_v2 {
            controllers.is_empty()
        } else {
            controllers.iter().any(|name| name == "cpu")
        }
    }

    /// Refuses what cannot be watched as a group.
    pub(super) fn check_group(&self, root: &Root, path: &str) -> Result<(), WatchError> {
        self.tree.check_group(root, path, "cpu")
    }

    /// Whether the group, or one above it, has a quota.
    pub(super) fn is_limited(&self, root: &Root, path: &str) -> bool {
        let above = Path::new(path).ancestors().filter_map(Path::to_str);
        above.into_iter().any(|group| self.has_quota(root, group))
    }

    /// Whether the group itself has one.
    #[must_use]
    pub fn has_quota(&self, root: &Root, path: &str) -> bool {
        #[cfg(test)]
        tests::QUOTAS.set(tests::QUOTAS.get() + 1);
        let file = if self.tree.is_v2 { "cpu.max" } else { "cpu.cfs_quota_us" };
        let text = root.read_trimmed(self.directory(path).join(file)).unwrap_or_default();
        !(text.is_empty() || text.starts_with("max") || text == "-1")
    }

    /// The directory of a group.
    #[must_use]
    pub fn directory(&self, path: &str) -> PathBuf {
        self.tree.directory(path)
    }

    /// All groups but the root, those of the host by their levels, then those of containers and users. What is above a group
    /// precedes it.
    #[must_use]
    pub fn groups(&self, root: &Root) -> Vec<String> {
        self.tree.groups(root)
    }
}

#[cfg(test)]
pub(super) mod tests;
