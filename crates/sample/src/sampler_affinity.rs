//! Where the sampling thread sits: on a CPU of its own and in a group of its own, where there is
//! one, so that what it takes is taken from nobody who is measured, and is accounted for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_kernel::{Root, affinity};

/// Where to sit; the reason where there is no such place.
#[derive(Debug, Clone)]
pub struct SamplerAffinity {
    /// Below which the group's files are.
    pub root: Root,
    /// A CPU.
    pub cpu: Result<u16, String>,
    /// The directories of a group of cgroup v1, one in each hierarchy that it is in. cgroup v2
    /// keeps the threads of a process together (cgroup-v2.rst, "Threads").
    pub group: Result<Vec<PathBuf>, String>,
}

/// Where a thread came to sit.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) cpu: Option<u16>,
    pub(crate) group: Option<String>,
    /// What there was not, as `sampler.cpu` and `sampler.group`.
    pub(crate) not_available: BTreeMap<String, String>,
}

impl SamplerAffinity {
    /// Wherever the scheduler puts it, for callers that have no groups.
    #[must_use]
    pub fn anywhere(why: &str) -> Self {
        Self { root: Root::real(), cpu: Err(why.to_owned()), group: Err(why.to_owned()) }
    }

    /// Puts the calling thread there.
    pub(crate) fn take(&self) -> Taken {
        let mut taken = Taken::default();
        let cpu = self.cpu.clone().and_then(|cpu| {
            affinity::bind_self(&[cpu]).map(|()| cpu).map_err(|error| error.to_string())
        });
        match cpu {
            Ok(cpu) => taken.cpu = Some(cpu),
            Err(why) => drop(taken.not_available.insert("sampler.cpu".to_owned(), why)),
        }
        match self.group.clone().and_then(|directories| self.enter(&directories)) {
            Ok(group) => taken.group = Some(group),
            Err(why) => drop(taken.not_available.insert("sampler.group".to_owned(), why)),
        }
        taken
    }

    /// The kernel takes 0 for the thread that writes (cgroup-v1/cgroups.rst, 2.2).
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
    fn a_thread_sits_where_it_was_told_and_says_what_there_was_not() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("cg/observer")).unwrap();
        std::fs::write(tree.path().join("cg/observer/tasks"), "").unwrap();
        let allowed = affinity::of(std::process::id()).unwrap();
        let seat = SamplerAffinity {
            root: Root::at(tree.path()),
            cpu: Ok(allowed[0]),
            group: Ok(vec![PathBuf::from("/cg/observer")]),
        };
        let taken = std::thread::spawn(move || seat.take()).join().unwrap();
        assert_eq!(taken.cpu, Some(allowed[0]));
        assert_eq!(taken.group.as_deref(), Some("/cg/observer"));
        assert_eq!(std::fs::read_to_string(tree.path().join("cg/observer/tasks")).unwrap(), "0");
        assert!(taken.not_available.is_empty());

        let none = SamplerAffinity::anywhere("nothing is measured").take();
        assert_eq!((none.cpu, none.group), (None, None));
        assert_eq!(none.not_available["sampler.cpu"], "nothing is measured");
        assert_eq!(none.not_available.len(), 2);
    }
}
