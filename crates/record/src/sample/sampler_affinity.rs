//! CPU affinity and cgroup of the sampling thread, kept apart from measured groups, so that its cost does not
//! affect them and is accounted for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_sys::kernel::{Root, affinity};

/// CPU and group of the sampling thread, or the reason why there is none.
#[derive(Debug, Clone)]
pub struct SamplerAffinity {
    /// The file system root for the group's files.
    pub root: Root,
    /// The CPU.
    pub cpu: Result<u16, String>,
    /// The directories of a group of cgroup v1, one in each hierarchy that it is in. cgroup v2
    /// keeps the threads of a process together (cgroup-v2.rst, "Threads").
    pub group: Result<Vec<PathBuf>, String>,
}

/// The CPU and group that a thread was moved to.
#[derive(Debug, Default)]
pub(crate) struct AppliedAffinity {
    pub(crate) cpu: Option<u16>,
    pub(crate) group: Option<String>,
    /// What could not be applied, as `sampler.cpu` and `sampler.group`.
    pub(crate) not_available: BTreeMap<String, String>,
}

impl SamplerAffinity {
    /// No restriction, for callers without groups.
    #[must_use]
    pub fn unrestricted(why: &str) -> Self {
        Self { root: Root::real(), cpu: Err(why.to_owned()), group: Err(why.to_owned()) }
    }

    /// Moves the calling thread to the CPU and group.
    pub(crate) fn apply(&self) -> AppliedAffinity {
        let mut applied = AppliedAffinity::default();
        let cpu = self.cpu.clone().and_then(|cpu| {
            affinity::bind_self(&[cpu]).map(|()| cpu).map_err(|error| error.to_string())
        });
        match cpu {
            Ok(cpu) => applied.cpu = Some(cpu),
            Err(why) => drop(applied.not_available.insert("sampler.cpu".to_owned(), why)),
        }
        match self.group.clone().and_then(|directories| self.enter(&directories)) {
            Ok(group) => applied.group = Some(group),
            Err(why) => drop(applied.not_available.insert("sampler.group".to_owned(), why)),
        }
        applied
    }

    /// Enters the group. The kernel takes 0 as the writing thread (cgroup-v1/cgroups.rst, 2.2).
    fn enter(&self, directories: &[PathBuf]) -> Result<String, String> {
        let first = directories.first().ok_or("the run has no group for it")?;
        for directory in directories {
            let written = self.root.write(directory.join("tasks"), "0");
            written.map_err(|error| error.to_string())?;
        }
        Ok(first.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_moved_and_missing_parts_are_reported() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("cg/observer")).unwrap();
        std::fs::write(tree.path().join("cg/observer/tasks"), "").unwrap();
        let allowed = affinity::allowed_cpus(std::process::id()).unwrap();
        let affinity = SamplerAffinity {
            root: Root::at(tree.path()),
            cpu: Ok(allowed[0]),
            group: Ok(vec![PathBuf::from("/cg/observer")]),
        };
        let applied = std::thread::spawn(move || affinity.apply()).join().unwrap();
        assert_eq!(applied.cpu, Some(allowed[0]));
        assert_eq!(applied.group.as_deref(), Some("/cg/observer"));
        assert_eq!(std::fs::read_to_string(tree.path().join("cg/observer/tasks")).unwrap(), "0");
        assert!(applied.not_available.is_empty());

        let none = SamplerAffinity::unrestricted("nothing is measured").apply();
        assert_eq!((none.cpu, none.group), (None, None));
        assert_eq!(none.not_available["sampler.cpu"], "nothing is measured");
        assert_eq!(none.not_available.len(), 2);
    }
}
