//! The groups of one repeat in all hierarchies.

use std::path::{Path, PathBuf};

use assay_facts::Home;
use assay_host::Ledger;
use assay_kernel::process::Membership;
use assay_kernel::{Error, Root};

use crate::{own, ungrouped};

/// A top group `assay-<run>` in each hierarchy (home), and the groups inside it. On v1 every hierarchy
/// has its own copy of each group; on v2 there is one. The empty name means the top group.
#[derive(Debug, Clone)]
pub struct Tree {
    root: Root,
    top: String,
    homes: Vec<Home>,
    outside: Option<PathBuf>,
}

impl Tree {
    /// Creates the top group in every home. It is recorded in the ledger, and restoring removes
    /// everything below it too, so the groups inside need no entries of their own.
    pub fn create(
        root: &Root,
        ledger: &mut Ledger,
        homes: &[Home],
        top: &str,
    ) -> Result<Self, Error> {
        let tree = Self::begin(root, ledger, homes, top)?;
        for home in homes {
            tree.make_ready(home, &tree.place(home, ""))?;
        }
        Ok(tree)
    }

    /// Creates a top group that takes processes itself and has no groups inside: on cgroup v2 a group
    /// that enables controllers for its children could not contain processes
    /// (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint").
    pub fn create_single(
        root: &Root,
        ledger: &mut Ledger,
        homes: &[Home],
        top: &str,
    ) -> Result<Self, Error> {
        let tree = Self::begin(root, ledger, homes, top)?;
        for home in homes.iter().filter(|home| !home.is_v2) {
            tree.make_ready(home, &tree.place(home, ""))?;
        }
        Ok(tree)
    }

    fn begin(root: &Root, ledger: &mut Ledger, homes: &[Home], top: &str) -> Result<Self, Error> {
        let tree =
            Self { root: root.clone(), top: top.to_owned(), homes: homes.to_vec(), outside: None };
        for home in homes.iter().filter(|home| home.is_v2) {
            tree.enable_at_base(ledger, home)?;
        }
        let tops: Vec<PathBuf> = homes.iter().map(|home| home.base.join(top)).collect();
        ledger.make_groups(root, &tops)?;
        Ok(tree)
    }

    /// Creates a group in every home; its parents must exist. `has_children` says that groups will be
    /// created inside it, which cgroup v2 must be prepared for.
    pub fn make(&self, group: &str, has_children: bool) -> Result<(), Error> {
        for home in &self.homes {
            let path = self.place(home, group);
            self.root.make_dir(&path)?;
            if has_children || !home.is_v2 {
                self.make_ready(home, &path)?;
            }
        }
        Ok(())
    }

    /// Creates the group of the ungrouped workloads, recorded in the ledger too.
    pub fn make_outside(&mut self, ledger: &mut Ledger) -> Result<(), Error> {
        let name = format!("{}-outside", self.top);
        self.outside = Some(ungrouped::make(&self.root, ledger, &self.homes, &name)?);
        Ok(())
    }

    /// Creates a group only in those cgroup v1 hierarchies that serve one of these controllers, and
    /// returns its directories.
    pub fn make_on_v1(&self, group: &str, controllers: &[&str]) -> Result<Vec<PathBuf>, Error> {
        let serves = |home: &&Home| controllers.iter().any(|name| home.controllers.contains(*name));
        let mut directories = Vec::new();
        for home in self.homes.iter().filter(|home| !home.is_v2).filter(serves) {
            let path = self.place(home, group);
            self.root.make_dir(&path)?;
            self.make_ready(home, &path)?;
            directories.push(path);
        }
        Ok(directories)
    }

    /// The directory of a group in the hierarchy that serves `controller`, if one does.
    #[must_use]
    pub fn directory(&self, group: &str, controller: &str) -> Option<PathBuf> {
        let home = self.homes.iter().find(|home| home.controllers.contains(controller))?;
        Some(self.place(home, group))
    }

    /// The group's directory in every home.
    #[must_use]
    pub fn directories(&self, group: &str) -> Vec<PathBuf> {
        self.homes.iter().map(|home| self.place(home, group)).collect()
    }

    /// The root directory of the hierarchy that serves `controller`, if one does.
    #[must_use]
    pub fn mount(&self, controller: &str) -> Option<&Path> {
        let home = self.homes.iter().find(|home| home.controllers.contains(controller))?;
        Some(&home.mount)
    }

    /// The group's directory on cgroup v2, if this run uses v2.
    #[must_use]
    pub fn v2_directory(&self, group: &str) -> Option<PathBuf> {
        self.homes.iter().find(|home| home.is_v2).map(|home| self.place(home, group))
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

    /// For starting processes in a group, in every home.
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

    /// Processes of the run: in its groups, in any home, and ungrouped.
    #[must_use]
    pub fn all_processes(&self) -> Vec<u32> {
        let mut groups = self.directories("");
        groups.extend(self.outside.clone());
        self.below(groups)
    }

    /// Processes in a group, in any home, each once.
    pub fn processes(&self, group: &str) -> Result<Vec<u32>, Error> {
        let mut ids = Vec::new();
        for home in &self.homes {
            let text = self.root.read(self.place(home, group).join("cgroup.procs"))?;
            ids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Processes in a group or in groups below it, in any home, each once. Groups that vanish meanwhile
    /// count as empty.
    #[must_use]
    pub fn processes_below(&self, group: &str) -> Vec<u32> {
        self.below(self.directories(group))
    }

    fn below(&self, mut open: Vec<PathBuf>) -> Vec<u32> {
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

    fn place(&self, home: &Home, group: &str) -> PathBuf {
        let top = home.base.join(&self.top);
        if group.is_empty() { top } else { top.join(group) }
    }

    fn file(&self, group: &str, controller: &str, file: &str) -> Result<PathBuf, Error> {
        self.directory(group, controller).map(|directory| directory.join(file)).ok_or_else(|| {
            let hint = format!("no hierarchy of this run serves the controller `{controller}`");
            Error::unexpected("find", Path::new(file), hint)
        })
    }

    /// Prepares a new group for processes or groups inside it.
    fn make_ready(&self, home: &Home, path: &Path) -> Result<(), Error> {
        if home.is_v2 {
            let to_enable: Vec<String> = home.enabled().map(|name| format!("+{name}")).collect();
            if to_enable.is_empty() {
                return Ok(());
            }
            return self.root.write(path.join("cgroup.subtree_control"), &to_enable.join(" "));
        }
        if home.controllers.contains("cpuset") {
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
    fn enable_at_base(&self, ledger: &mut Ledger, home: &Home) -> Result<(), Error> {
        own::step_aside(&self.root, ledger, &home.base)?;
        let path = home.base.join("cgroup.subtree_control");
        let enabled = self.root.read(&path)?;
        let enabled: Vec<&str> = enabled.split_whitespace().collect();
        for name in home.enabled().filter(|name| !enabled.contains(name)) {
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
