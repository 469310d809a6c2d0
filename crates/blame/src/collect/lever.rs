//! What `--prove` changes for moments, and what it refuses to touch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_host::facts::{Hierarchy as Mounted, HostFacts};
use assay_sys::exit::Error;
use assay_sys::kernel::{Root, process};
use serde::{Deserialize, Serialize};

use super::members::{group_of, members};
use super::naming::{NamedBy, find};
use crate::watch::waits::CpuHierarchy;

/// The culprit that is the target's own quota.
const OWN_QUOTA: &str = "own_quota";
/// The culprit that is the target's own `memory.high`.
const OWN_MEMORY_HIGH: &str = "own_memory_high";

/// How a group is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HoldBy {
    /// It is frozen.
    #[default]
    Freezing,
    /// It has the least weight.
    Weight,
}

/// Who is held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Suspect {
    /// A group, by its path.
    Group(String),
    /// The quota of the target.
    OwnQuota,
    /// Its `memory.high`.
    OwnMemoryHigh,
}

/// A file of a group with the value that it gets for moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFile {
    /// The file.
    pub path: PathBuf,
    /// The value.
    pub value: String,
}

/// What holds a suspect back.
#[derive(Debug, Clone)]
pub(super) struct Lever {
    pub(super) suspect: Suspect,
    /// In this order.
    pub(super) files: Vec<GroupFile>,
    /// Processes that are held back.
    pub(super) processes: usize,
}

/// Where a lever is looked for.
#[derive(Clone, Copy)]
pub(super) struct Place<'h> {
    pub(super) root: &'h Root,
    pub(super) facts: &'h HostFacts,
    pub(super) hierarchy: &'h CpuHierarchy,
}

/// Whose waiting is measured, as far as it exists already.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    pub(super) group: Option<String>,
    pub(super) process: Option<u32>,
}

impl Place<'_> {
    /// The suspect with this name: `own_quota`, `own_memory_high`, a path, or what an owner is called.
    pub(super) fn suspect(&self, name: &str) -> Result<Suspect, Error> {
        if name == OWN_QUOTA {
            return Ok(Suspect::OwnQuota);
        }
        if name == OWN_MEMORY_HIGH {
            return Ok(Suspect::OwnMemoryHigh);
        }
        if !name.starts_with('/') {
            let trees = std::slice::from_ref(&self.hierarchy.tree);
            return find(self.root, trees, NamedBy::Anything, name).map(Suspect::Group);
        }
        let path = self.hierarchy.path(name);
        match self.root.is_directory(self.hierarchy.directory(&path)) {
            true => Ok(Suspect::Group(path)),
            false => Err(Error::usage(format!(
                "there is no group `{path}` of the controller `cpu`\n  hint: name a group of the answer"
            ))),
        }
    }

    /// What holds `suspect` back, unless it must not be held back.
    pub(super) fn lever(
        &self,
        suspect: Suspect,
        by: HoldBy,
        waiting: &Waiting,
    ) -> Result<Lever, Error> {
        let (files, processes) = match &suspect {
            Suspect::OwnQuota => (self.quotas(waiting)?, 0),
            Suspect::OwnMemoryHigh => (self.memory_highs(waiting)?, 0),
            Suspect::Group(path) => {
                let processes = self.check(path, waiting)?;
                let file = match by {
                    HoldBy::Freezing => self.freezer(path, &processes)?,
                    HoldBy::Weight => self.weight(path)?,
                };
                (vec![file], processes.len())
            }
        };
        Ok(Lever { suspect, files, processes })
    }

    /// The processes of a group that may be held back.
    fn check(&self, path: &str, waiting: &Waiting) -> Result<BTreeSet<u32>, Error> {
        let refuse = |why: &str| {
            Err(Error::usage(format!(
                "`{path}` is not held back: {why}\n  hint: name another group"
            )))
        };
        if path == "/" {
            return refuse("it is the root, with every process of the host");
        }
        if let Some(target) = &waiting.group
            && Path::new(target).starts_with(path)
        {
            return refuse("the watched group is in it");
        }
        if let Some(target) = &waiting.group
            && waiting.process.is_none()
            && Path::new(path).starts_with(target)
        {
            return refuse("it is a part of the watched group");
        }
        let processes = members(self.root, &self.hierarchy.directory(path)).map_err(Error::host)?;
        if processes.is_empty() {
            return refuse("it has no processes");
        }
        if waiting.process.is_some_and(|process| processes.contains(&process)) {
            return refuse("the watched process is in it");
        }
        if processes.contains(&1) {
            return refuse("process 1 is in it");
        }
        if self.callers().iter().any(|caller| processes.contains(caller)) {
            return refuse("assay or a process that started it is in it");
        }
        if processes.iter().any(|one| process::is_kernel_thread(self.root, *one) == Some(true)) {
            return refuse("a thread of the kernel is in it");
        }
        Ok(processes)
    }

    /// This process, and those that started it.
    fn callers(&self) -> Vec<u32> {
        const DEEPEST: usize = 1000;
        let first = std::process::id();
        let above =
            |process: &u32| process::parent(self.root, *process).filter(|parent| *parent != 0);
        std::iter::successors(Some(first), above).take(DEEPEST).collect()
    }

    /// The freezer of exactly these processes: that of cgroup2, or of v1.
    fn freezer(&self, path: &str, processes: &BTreeSet<u32>) -> Result<GroupFile, Error> {
        let layout = &self.facts.cgroup;
        let v2 = layout.v2_mount.as_deref().and_then(|mount| {
            let group = group_of(self.root, mount, processes, <[String]>::is_empty)?;
            Some(GroupFile { path: group.join("cgroup.freeze"), value: "1".to_owned() })
        });
        let v1 = || match &layout.controllers.get("freezer")?.hierarchy {
            Mounted::V1(mount) => {
                let has = |controllers: &[String]| controllers.iter().any(|name| name == "freezer");
                let group = group_of(self.root, mount, processes, has)?;
                Some(GroupFile { path: group.join("freezer.state"), value: "FROZEN".to_owned() })
            }
            _ => None,
        };
        let exists = |file: &GroupFile| self.root.exists(&file.path);
        v2.filter(exists).or_else(|| v1().filter(exists)).ok_or_else(|| {
            Error::host(format!(
                "no freezer has exactly the processes of `{path}`\n  hint: --by weight"
            ))
        })
    }

    fn weight(&self, path: &str) -> Result<GroupFile, Error> {
        let (name, least) =
            if self.hierarchy.is_v2() { ("cpu.weight", "1") } else { ("cpu.shares", "2") };
        let file = self.hierarchy.directory(path).join(name);
        let now = self.root.read_trimmed(&file).map_err(Error::host)?;
        match now == least {
            true => Err(Error::host(format!("`{path}` has the least weight already ({least})"))),
            false => Ok(GroupFile { path: file, value: least.to_owned() }),
        }
    }

    /// The quotas in the path of the target and below it, those of upper levels first: v1 refuses a group more
    /// than the one above it has.
    fn quotas(&self, waiting: &Waiting) -> Result<Vec<GroupFile>, Error> {
        let Some(target) = &waiting.group else { return Ok(Vec::new()) };
        let (name, none) =
            if self.hierarchy.is_v2() { ("cpu.max", "max") } else { ("cpu.cfs_quota_us", "-1") };
        let is_related = |path: &&String| {
            Path::new(target).starts_with(path)
                || waiting.process.is_none() && Path::new(path).starts_with(target)
        };
        let groups = self.hierarchy.groups(self.root);
        let limited = groups.iter().filter(is_related);
        let files: Vec<GroupFile> = limited
            .filter(|path| self.hierarchy.has_quota(self.root, path))
            .map(|path| {
                let path = self.hierarchy.directory(path).join(name);
                GroupFile { path, value: none.to_owned() }
            })
            .collect();
        match files.is_empty() {
            true => Err(Error::usage(format!("`{target}` has no quota, nor has a group above it"))),
            false => Ok(files),
        }
    }

    /// The files `memory.high` in the path of the target that say anything.
    fn memory_highs(&self, waiting: &Waiting) -> Result<Vec<GroupFile>, Error> {
        const NONE: &str = "max";
        let target = waiting.group.as_deref().unwrap_or("/");
        let files = Path::new(target).ancestors().filter_map(|path| {
            let path = self.hierarchy.directory(path.to_str()?).join("memory.high");
            let is_set = self.root.read_trimmed(&path).is_ok_and(|value| value != NONE);
            is_set.then(|| GroupFile { path, value: NONE.to_owned() })
        });
        let files: Vec<GroupFile> = files.collect();
        match files.is_empty() {
            true => Err(Error::usage(format!(
                "`{target}` has no memory.high, nor has a group above it (cgroup v2 only)"
            ))),
            false => Ok(files),
        }
    }
}

impl Lever {
    /// Whether a group that Assay did not make is changed.
    pub(super) fn is_foreign(&self) -> bool {
        let is_own = |part: &str| part == "assay" || part.starts_with("assay-");
        let parts =
            |file: &GroupFile| file.path.iter().filter_map(|part| part.to_str()).any(is_own);
        !self.files.iter().all(parts)
    }

    /// What is done, in words: `write 1 to /sys/fs/cgroup/hog/cgroup.freeze (3 processes)`.
    pub(super) fn describe(&self) -> String {
        if self.files.is_empty() {
            return "lift the quota of the command".to_owned();
        }
        let write = |file: &GroupFile| format!("write {} to {}", file.value, file.path.display());
        let writes = self.files.iter().map(write).collect::<Vec<_>>().join(", ");
        match self.processes {
            0 => writes,
            1 => format!("{writes} (1 process)"),
            count => format!("{writes} ({count} processes)"),
        }
    }
}

#[cfg(test)]
mod tests;
