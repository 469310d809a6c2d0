//! The groups of one repeat in all hierarchies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Ledger;
use crate::facts::UsedHierarchy;
use assay_sys::kernel::process::Membership;
use assay_sys::kernel::{Error, Root};

use crate::cgroup::{own, ungrouped};

/// A top group `assay-<run>` in each hierarchy in use, and the groups inside it. On v1 every hierarchy
/// has its own copy of each group; on v2 there is one. The empty name means the top group.
#[derive(Debug, Clone)]
pub struct Tree {
    root: Root,
    top: String,
    hierarchies: Vec<UsedHierarchy>,
    outside: Option<PathBuf>,
    /// Groups that exist, by name: their paths below the mounts.
    existing: BTreeMap<String, String>,
}

impl Tree {
    /// Creates the top group in every hierarchy. It is recorded in the ledger, and restoring removes
    /// everything below it too, so the groups inside need no entries of their own.
    pub fn create(
        root: &Root,
        ledger: &mut Ledger,
        hierarchies: &[UsedHierarchy],
        top: &str,
    ) -> Result<Self, Error> {
        let tree = Self::begin(root, ledger, hierarchies, top)?;
        for hierarchy in hierarchies {
            tree.make_ready(hierarchy, &tree.directory_in(hierarchy, ""))?;
        }
        Ok(tree)
    }

    /// Creates a top group that takes processes itself and has no groups inside: on cgroup v2 a group
    /// that enables controllers for its children could not contain processes
    /// (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint").
    pub fn create_single(
        root: &Root,
        ledger: &mut Ledger,
        hierarchies: &[UsedHierarchy],
        top: &str,
    ) -> Result<Self, Error> {
        let tree = Self::begin(root, ledger, hierarchies, top)?;
        for hierarchy in hierarchies.iter().filter(|hierarchy| !hierarchy.is_v2) {
            tree.make_ready(hierarchy, &tree.directory_in(hierarchy, ""))?;
        }
        Ok(tree)
    }

    /// Creates nothing: for groups that exist.
    #[must_use]
    pub fn without_groups(root: &Root, hierarchies: &[UsedHierarchy], top: &str) -> Self {
        Self {
            root: root.clone(),
            top: top.to_owned(),
            hierarchies: hierarchies.to_vec(),
            outside: None,
            existing: BTreeMap::new(),
        }
    }

    /// Gives a group that exists a name. It is only read.
    pub fn adopt(&mut self, group: &str, path: &str) {
        self.existing.insert(group.to_owned(), path.trim_start_matches('/').to_owned());
    }

    fn begin(
        root: &Root,
        ledger: &mut Ledger,
        hierarchies: &[UsedHierarchy],
        top: &str,
    ) -> Result<Self, Error> {
        let tree = Self::without_groups(root, hierarchies, top);
        for hierarchy in hierarchies.iter().filter(|hierarchy| hierarchy.is_v2) {
            tree.enable_at_base(ledger, hierarchy)?;
        }
        let tops: Vec<PathBuf> =
            hierarchies.iter().map(|hierarchy| hierarchy.base.join(top)).collect();
        ledger.make_groups(root, &tops)?;
        Ok(tree)
    }

    /// Creates a group in every hierarchy; its parents must exist. `has_children` says that groups will be
    /// created inside it, which cgroup v2 must be prepared for.
    pub fn make(&self, group: &str, has_children: bool) -> Result<(), Error> {
        for hierarchy in &self.hierarchies {
            let path = self.directory_in(hierarchy, group);
            self.root.make_dir(&path)?;
            if has_children || !hierarchy.is_v2 {
                self.make_ready(hierarchy, &path)?;
            }
        }
        Ok(())
    }

    /// Creates the group of the ungrouped workloads, recorded in the ledger too.
    pub fn make_outside(&mut self, ledger: &mut Ledger) -> Result<(), Error> {
        let name = format!("{}-outside", self.top);
        self.outside = Some(ungrouped::make(&self.root, ledger, &self.hierarchies, &name)?);
        Ok(())
    }

    /// Creates a group only in those cgroup v1 hierarchies that serve one of these controllers, and
    /// returns its directories.
    pub fn make_on_v1(&self, group: &str, controllers: &[&str]) -> Result<Vec<PathBuf>, Error> {
        let serves = |hierarchy: &&UsedHierarchy| {
            controllers.iter().any(|name| hierarchy.controllers.contains(*name))
        };
        let mut directories = Vec::new();
        for hierarchy in self.hierarchies.iter().filter(|hierarchy| !hierarchy.is_v2).filter(serves)
        {
            let path = self.directory_in(hierarchy, group);
            self.root.make_dir(&path)?;
            self.make_ready(hierarchy, &path)?;
            directories.push(path);
        }
        Ok(directories)
    }

    /// The directory of a group in the hierarchy that serves `controller`, if one does.
    #[must_use]
    pub fn directory(&self, group: &str, controller: &str) -> Option<PathBuf> {
        let hierarchy =
            self.hierarchies.iter().find(|hierarchy| hierarchy.controllers.contains(controller))?;
        Some(self.directory_in(hierarchy, group)).filter(|path| self.is_there(group, path))
    }

    /// The group's directory in every hierarchy.
    #[must_use]
    pub fn directories(&self, group: &str) -> Vec<PathBuf> {
        let each = self.hierarchies.iter().map(|hierarchy| self.directory_in(hierarchy, group));
        each.filter(|path| self.is_there(group, path)).collect()
    }

    /// A group that exists need not be in every hierarchy of v1.
    fn is_there(&self, group: &str, path: &Path) -> bool {
        !self.existing.contains_key(group) || self.root.exists(path)
    }

    /// The root directory of the hierarchy that serves `controller`, if one does.
    #[must_use]
    pub fn mount(&self, controller: &str) -> Option<&Path> {
        let hierarchy =
            self.hierarchies.iter().find(|hierarchy| hierarchy.controllers.contains(controller))?;
        Some(&hierarchy.mount)
    }

    /// The group's directory on cgroup v2, if this run uses v2.
    #[must_use]
    pub fn v2_directory(&self, group: &str) -> Option<PathBuf> {
        self.hierarchies
            .iter()
            .find(|hierarchy| hierarchy.is_v2)
            .map(|hierarchy| self.directory_in(hierarchy, group))
            .filter(|path| self.is_there(group, path))
    }

    /// Writes an interface file of a group. An error names file and value.
    pub fn write(
        &self,
        group: &str,
        controller: &str,
        file: &str,
        value: &str,
    ) -> Result<(), Error> {
        self.root.write(self.file(group, controller, file)?, value)
    }

    /// Reads an interface file of a group, trimmed.
    pub fn read(&self, group: &str, controller: &str, file: &str) -> Result<String, Error> {
        self.root.read_trimmed(self.file(group, controller, file)?)
    }

    /// The same of the nearest group around it that has the file: on v2 a group has no files of a controller that its parent
    /// does not enable, and what holds for it is its parent's.
    #[must_use]
    pub fn read_around(&self, group: &str, controller: &str, file: &str) -> Option<String> {
        let (path, mount) = (self.directory(group, controller)?, self.mount(controller)?);
        let around = path.ancestors().skip(1).take_while(|path| path.starts_with(mount));
        around.map(|path| path.join(file)).find_map(|path| self.root.read_trimmed(path).ok())
    }

    /// For starting processes in a group, in every hierarchy.
    pub fn membership(&self, group: &str) -> Result<Membership, Error> {
        Membership::open(&self.root, &self.directories(group))
    }

    /// For starting processes in the group of the ungrouped workloads.
    pub fn membership_outside(&self) -> Result<Membership, Error> {
        let group = self.outside.clone().ok_or_else(|| {
            let hint = "no group was created for ungrouped workloads";
            Error::unexpected("find", Path::new(&self.top), hint)
        })?;
        Membership::open(&self.root, &[group])
    }

    /// Processes in a group, in any hierarchy, each once.
    pub fn processes(&self, group: &str) -> Result<Vec<u32>, Error> {
        let mut ids = Vec::new();
        for hierarchy in &self.hierarchies {
            let text = self.root.read(self.directory_in(hierarchy, group).join("cgroup.procs"))?;
            ids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Processes in a group or in groups below it, in any hierarchy, each once. Groups that vanish meanwhile
    /// count as empty.
    #[must_use]
    pub fn processes_below(&self, group: &str) -> Vec<u32> {
        let mut open = self.directories(group);
        let mut ids = Vec::new();
        while let Some(group) = open.pop() {
            let text = self.root.read(group.join("cgroup.procs")).unwrap_or_default();
            ids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
            let inside = self.root.directories(&group).unwrap_or_default();
            open.extend(inside.into_iter().map(|name| group.join(name)));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn directory_in(&self, hierarchy: &UsedHierarchy, group: &str) -> PathBuf {
        if let Some(path) = self.existing.get(group) {
            return hierarchy.mount.join(path);
        }
        let top = hierarchy.base.join(&self.top);
        if group.is_empty() { top } else { top.join(group) }
    }

    fn file(&self, group: &str, controller: &str, file: &str) -> Result<PathBuf, Error> {
        self.directory(group, controller).map(|directory| directory.join(file)).ok_or_else(|| {
            let hint = format!("no hierarchy of this run serves the controller `{controller}`");
            Error::unexpected("find", Path::new(file), hint)
        })
    }

    /// Prepares a new group for processes or groups inside it.
    fn make_ready(&self, hierarchy: &UsedHierarchy, path: &Path) -> Result<(), Error> {
        if hierarchy.is_v2 {
            let to_enable: Vec<String> =
                hierarchy.enabled().map(|name| format!("+{name}")).collect();
            if to_enable.is_empty() {
                return Ok(());
            }
            return self.root.write(path.join("cgroup.subtree_control"), &to_enable.join(" "));
        }
        if hierarchy.controllers.contains("cpuset") {
            // A new v1 cpuset is empty and accepts no process until both files are set
            // (Documentation/admin-guide/cgroup-v1/cpusets.rst).
            let parent = path.parent().unwrap_or(path);
            for file in ["cpuset.cpus", "cpuset.mems"] {
                let inherited = self.root.read_trimmed(parent.join(file))?;
                self.root.write(path.join(file), &inherited)?;
            }
        }
        Ok(())
    }

    /// Enables the controllers for the children of the base, but only those not yet enabled there: the
    /// ledger restores what this run has added.
    fn enable_at_base(&self, ledger: &mut Ledger, hierarchy: &UsedHierarchy) -> Result<(), Error> {
        own::step_aside(&self.root, ledger, &hierarchy.base)?;
        let path = hierarchy.base.join("cgroup.subtree_control");
        let enabled = self.root.read(&path)?;
        let enabled: Vec<&str> = enabled.split_whitespace().collect();
        for name in hierarchy.enabled().filter(|name| !enabled.contains(name)) {
            ledger.write_with_inverse(
                &self.root,
                &path,
                &format!("+{name}"),
                &format!("-{name}"),
            )?;
        }
        Ok(())
    }
}
