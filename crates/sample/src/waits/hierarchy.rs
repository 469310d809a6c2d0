//! The groups of the controller `cpu`: where they are, and which of them have a quota.

use std::path::{Path, PathBuf};

use assay_facts::{CgroupLayout, Hierarchy as Mounted, HostFacts};
use assay_kernel::Root;

use super::WatchError;

/// CPUs that the programs have room for.
const CPUS: usize = 256;

/// The hierarchy of the controller `cpu`.
#[derive(Debug, Clone)]
pub struct CpuHierarchy {
    mount: PathBuf,
    is_v2: bool,
    /// The CPUs from 0 to the highest one.
    pub(super) cpus: usize,
}

impl CpuHierarchy {
    /// Where this host has it.
    ///
    /// # Errors
    /// It has none, or more CPUs than the programs have room for.
    pub fn new(facts: &HostFacts) -> Result<Self, WatchError> {
        let cpus = facts.cpus.online.iter().max().map_or(1, |highest| highest as usize + 1);
        if cpus > CPUS {
            let most = CPUS - 1;
            return Err(WatchError::Host(format!("the programs have room for CPUs 0 to {most}")));
        }
        let (mount, is_v2) = mounted(&facts.cgroup).map_err(|reason| {
            WatchError::Host(format!("no groups of the controller `cpu`: {reason}"))
        })?;
        Ok(Self { mount: mount.to_owned(), is_v2, cpus })
    }

    /// A group's path below the mount, from the path of its directory or one without the slash.
    #[must_use]
    pub fn path(&self, given: &str) -> String {
        let below = Path::new(given).strip_prefix(&self.mount).unwrap_or(Path::new(given));
        format!("/{}", below.display().to_string().trim_matches('/'))
    }

    /// Whether it is cgroup2.
    #[must_use]
    pub const fn is_v2(&self) -> bool {
        self.is_v2
    }

    /// Whether these are the controllers of its line in /proc/PID/cgroup.
    #[must_use]
    pub fn has(&self, controllers: &[String]) -> bool {
        if self.is_v2 {
            controllers.is_empty()
        } else {
            controllers.iter().any(|name| name == "cpu")
        }
    }

    /// Refuses what cannot be watched as a group.
    pub(super) fn check_group(&self, root: &Root, path: &str) -> Result<(), WatchError> {
        if path == "/" {
            let reason = "all groups are below `/`\n  hint: name one of them";
            return Err(WatchError::Target(reason.to_owned()));
        }
        if !root.is_directory(self.directory(path)) {
            let mount = self.mount.display();
            return Err(WatchError::Target(format!(
                "there is no group `{path}` in {mount}\n  hint: assay groups --controller cpu"
            )));
        }
        if self.is_v2 && !root.exists(self.directory(path).join("cpu.max")) {
            return Err(WatchError::Host(format!(
                "`{path}` has no controller `cpu`, so that the kernel schedules its threads in a group above\n  \
                 hint: name that group, or a process with --pid"
            )));
        }
        Ok(())
    }

    /// Whether the group, or one above it, has a quota.
    pub(super) fn is_limited(&self, root: &Root, path: &str) -> bool {
        let above = Path::new(path).ancestors().filter_map(Path::to_str);
        above.into_iter().any(|group| self.has_quota(root, group))
    }

    /// Whether the group itself has one.
    #[must_use]
    pub fn has_quota(&self, root: &Root, path: &str) -> bool {
        let file = if self.is_v2 { "cpu.max" } else { "cpu.cfs_quota_us" };
        let text = root.read_trimmed(self.directory(path).join(file)).unwrap_or_default();
        !(text.is_empty() || text.starts_with("max") || text == "-1")
    }

    /// The directory of a group.
    #[must_use]
    pub fn directory(&self, path: &str) -> PathBuf {
        self.mount.join(path.trim_start_matches('/'))
    }

    /// All groups but the root, those of a level before those below.
    #[must_use]
    pub fn groups(&self, root: &Root) -> Vec<String> {
        groups_below(root, &self.mount)
    }
}

/// Where the controller `cpu` is mounted, and whether that is cgroup2.
fn mounted(layout: &CgroupLayout) -> Result<(&Path, bool), &str> {
    match layout.controllers.get("cpu").map(|controller| &controller.hierarchy) {
        Some(Mounted::V1(mount)) => Ok((mount, false)),
        Some(Mounted::V2(mount)) => Ok((mount, true)),
        Some(Mounted::Absent(reason)) => Err(reason),
        None => Err("this kernel does not list it"),
    }
}

/// All groups of a hierarchy but the root, those of a level before those below.
pub(crate) fn groups_below(root: &Root, mount: &Path) -> Vec<String> {
    let mut paths = vec![String::new()];
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        // A group that has just been removed has no listing.
        let directory = mount.join(path.trim_start_matches('/'));
        let mut below = root.directories(directory).unwrap_or_default();
        below.sort();
        paths.extend(below.iter().map(|name| format!("{path}/{name}")));
    }
    paths.split_off(1)
}

#[cfg(test)]
pub(super) mod tests;
