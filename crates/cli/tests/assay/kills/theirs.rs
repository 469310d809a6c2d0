//! Foreign groups, one in each hierarchy that the kills use, with a process inside: they and their process
//! must survive.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use assay_sys::kernel::Root;

/// The groups and their process, which end with the test.
pub(crate) struct Theirs {
    /// Their path in each hierarchy.
    pub(crate) path: String,
    groups: Vec<PathBuf>,
    process: Child,
}

impl Theirs {
    pub(crate) fn make() -> Self {
        let facts = assay_host::gather(&Root::real()).unwrap();
        let (hierarchies, _) = facts.cgroup.hierarchies_with(["cpu", "memory", "pids", "io"]);
        let process = Command::new("sleep").arg("3600").current_dir("/").spawn().unwrap();
        let name = format!("theirs-{}-{}", process.id(), std::process::id());
        let groups: Vec<PathBuf> =
            hierarchies.iter().map(|hierarchy| hierarchy.base.join(&name)).collect();
        for group in &groups {
            fs::create_dir(group).unwrap();
            // A limit to be probed.
            let _ = fs::write(group.join("pids.max"), "50");
            fs::write(group.join("cgroup.procs"), process.id().to_string()).unwrap();
        }
        let path = format!("/{name}");
        Self { path, groups, process }
    }

    /// Asserts that the process is alive and still in its groups.
    pub(crate) fn assert_untouched(&mut self, when: &str) {
        assert!(self.process.try_wait().unwrap().is_none(), "{when}, a foreign process ended");
        let own = self.process.id().to_string();
        for group in &self.groups {
            let inside = fs::read_to_string(group.join("cgroup.procs")).unwrap();
            assert_eq!(inside.trim(), own, "{when}, in {}", group.display());
        }
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        for group in &self.groups {
            let _ = fs::remove_dir(group);
        }
    }
}
