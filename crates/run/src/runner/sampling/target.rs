//! What a recording follows, and the files to sample for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_host::facts::{Hierarchy, HostFacts};
use assay_record::sample::{
    CpuFile, DiskTarget, GroupTarget, MemoryFiles, ProcessTarget, Processes, Targets,
};
use assay_sys::kernel::{Error, Root};

/// What to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowTarget {
    /// A command that the recording starts, with its arguments.
    Command(Vec<OsString>),
    /// An existing process with all its descendants.
    Process(u32),
    /// A control group and its descendants, by its path below the mounts.
    Group(String),
}

impl FollowTarget {
    /// `command`, `process`, `group`.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Process(_) => "process",
            Self::Group(_) => "group",
        }
    }

    /// The command line, the process, the path.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Command(words) => {
                let words = words.iter().map(|word| word.to_string_lossy());
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Process(pid) => pid.to_string(),
            Self::Group(path) => path.clone(),
        }
    }

    /// A one-line title for headings.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Command(_) => self.name(),
            Self::Process(pid) => format!("process {pid}"),
            Self::Group(path) => format!("group {path}"),
        }
    }

    /// Fails if there is no such process or group.
    ///
    /// # Errors
    /// Its name, with a hint.
    pub fn check(&self, root: &Root, facts: &HostFacts) -> Result<(), Error> {
        self.targets(root, facts).map(drop)
    }

    /// Everything that is sampled. Fails if there is no such process or group.
    pub(super) fn targets(&self, root: &Root, facts: &HostFacts) -> Result<Targets, Error> {
        let disks = facts.disks.iter().filter(|disk| disk.size.get() > 0);
        let disks = disks.map(|disk| DiskTarget { device: disk.name.clone() }).collect();
        let (name, of, groups) = match self {
            Self::Command(words) => {
                let program = words.first().map(PathBuf::from).unwrap_or_default();
                let name = program.file_name().map(|name| name.to_string_lossy().into_owned());
                let of = Processes::Tree { pid: std::process::id(), itself: false };
                (name.unwrap_or_default(), of, Vec::new())
            }
            Self::Process(pid) => {
                let name = root.read_trimmed(format!("/proc/{pid}/comm")).map_err(|error| {
                    error.with_hint("no process has this id; `assay top` and ps(1) list them")
                })?;
                let of = Processes::Tree { pid: *pid, itself: true };
                (name, of, Vec::new())
            }
            Self::Group(path) => {
                let places = Places::find(root, facts, path)?;
                let name = path.trim_matches('/');
                let name = if name.is_empty() { "root" } else { name };
                let of = Processes::Group(places.directories());
                (name.to_owned(), of, vec![places.target(name)])
            }
        };
        // The name of a thread's subject separates target and thread by a colon.
        let name = name.replace(':', "_");
        Ok(Targets {
            groups,
            disks,
            processes: Ok(vec![ProcessTarget { name, of }]),
            throttles: Err("only a study divides CPU time or sets quotas".to_owned()),
        })
    }
}

/// The directories of one path in all hierarchies that have it, each with its controllers.
struct Places(Vec<(String, bool, PathBuf)>);

impl Places {
    fn find(root: &Root, facts: &HostFacts, path: &str) -> Result<Self, Error> {
        let below = path.trim_matches('/');
        let mut places = Vec::new();
        for (name, controller) in &facts.cgroup.controllers {
            let (is_v2, mount) = match &controller.hierarchy {
                Hierarchy::V1(mount) => (false, mount),
                Hierarchy::V2(mount) => (true, mount),
                Hierarchy::Absent(_) => continue,
            };
            let directory = mount.join(below);
            if root.is_directory(&directory) {
                places.push((name.clone(), is_v2, directory));
            }
        }
        // A group of cgroup2 alone has pressure files and processes, whatever its controllers.
        if let Some(mount) = &facts.cgroup.v2_mount
            && root.is_directory(mount.join(below))
            && !places.iter().any(|(_, is_v2, _)| *is_v2)
        {
            places.push((assay_host::facts::CORE.to_owned(), true, mount.join(below)));
        }
        if places.is_empty() {
            return Err(Error::unexpected(
                "follow the group",
                Path::new(path),
                "no hierarchy has it; `assay top` lists all, with paths below the mounts",
            ));
        }
        Ok(Self(places))
    }

    /// Each directory once: several controllers of v1 may share one.
    fn directories(&self) -> Vec<PathBuf> {
        let mut directories: Vec<PathBuf> = Vec::new();
        for (_, _, directory) in &self.0 {
            if !directories.contains(directory) {
                directories.push(directory.clone());
            }
        }
        directories
    }

    fn directory_of(&self, controller: &str) -> Option<&(String, bool, PathBuf)> {
        self.0.iter().find(|(name, ..)| name == controller)
    }

    fn target(&self, name: &str) -> GroupTarget {
        let missing = |controller: &str| {
            format!("no hierarchy that serves the controller `{controller}` has this group")
        };
        let cpu = match (self.directory_of("cpuacct"), self.directory_of("cpu")) {
            (Some((_, false, directory)), _) => {
                Ok(CpuFile::Cpuacct(directory.join("cpuacct.usage")))
            }
            (_, Some((_, true, directory))) => Ok(CpuFile::CpuStat(directory.join("cpu.stat"))),
            _ => Err(missing("cpu")),
        };
        let memory = self.directory_of("memory").map(|(_, is_v2, directory)| MemoryFiles {
            directory: directory.clone(),
            is_v2: *is_v2,
        });
        let v2 = self.0.iter().find(|(_, is_v2, _)| *is_v2);
        GroupTarget {
            name: name.to_owned(),
            io: Err("a recording ties its group to no single disk; the table `disk` has all".into()),
            cpu,
            pressure: v2.map(|(_, _, directory)| directory.clone()),
            memory: memory.ok_or_else(|| missing("memory")),
        }
    }
}

#[cfg(test)]
mod tests;
