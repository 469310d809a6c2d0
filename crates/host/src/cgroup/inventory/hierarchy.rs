//! The mounted cgroup hierarchies.

use std::path::PathBuf;

use crate::knob::all;
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::mountinfo::{self, Mount};
use serde::Serialize;

/// One hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mounted {
    /// `v2`, its v1 controllers as mounted (`cpu,cpuacct`), or `name=systemd`.
    pub name: String,
    /// Whether it is cgroup2.
    pub is_v2: bool,
    /// Its mount point.
    pub mount: PathBuf,
    /// Its controllers by v2 name (`io`, not `blkio`).
    pub controllers: Vec<String>,
}

/// Controllers of v1 that the table of interface files does not know.
const WITHOUT_FILES: [&str; 2] = ["perf_event", "debug"];

/// Every mounted hierarchy once: the cgroup v1 ones in mount order, then cgroup2.
#[must_use]
pub fn hierarchies(root: &Root) -> Vec<Mounted> {
    mounted(root).into_iter().map(|(hierarchy, _)| hierarchy).collect()
}

/// The same with the mount of each.
#[must_use]
pub fn mounted(root: &Root) -> Vec<(Mounted, Mount)> {
    let table = root.mount_table().unwrap_or_default();
    // Kernels of some distributions have more.
    let known = root.read("/proc/cgroups").unwrap_or_default();
    let mut hierarchies: Vec<(Mounted, Mount)> = Vec::new();
    for mount in mountinfo::parse(&table) {
        let one = match mount.kind.as_str() {
            "cgroup" => v1(&mount, &known),
            "cgroup2" => v2(root, &mount),
            _ => continue,
        };
        if !hierarchies.iter().any(|(known, _)| known.name == one.name) {
            hierarchies.push((one, mount));
        }
    }
    hierarchies.sort_by_key(|(hierarchy, _)| hierarchy.is_v2);
    hierarchies
}

fn v1(mount: &Mount, known: &str) -> Mounted {
    let v2_name = |word: &str| if word == "blkio" { "io".to_owned() } else { word.to_owned() };
    // The other options of a mount are too many to list: security modules add theirs.
    let is_controller = |word: &&String| {
        let mut names = known.lines().filter_map(|line| line.split_whitespace().next());
        let has_files = || all().iter().any(|knob| knob.controller == v2_name(word));
        has_files() || WITHOUT_FILES.contains(&word.as_str()) || names.any(|name| name == *word)
    };
    let words: Vec<String> = mount.options.iter().filter(is_controller).cloned().collect();
    let named = mount.options.iter().find(|word| word.starts_with("name="));
    let controllers: Vec<String> = words.iter().map(|word| v2_name(word)).collect();
    let name = match (words.is_empty(), named) {
        (true, Some(named)) => named.clone(),
        _ => words.join(","),
    };
    Mounted { name, is_v2: false, mount: mount.target.clone(), controllers }
}

fn v2(root: &Root, mount: &Mount) -> Mounted {
    let offered = root.read(mount.target.join("cgroup.controllers")).unwrap_or_default();
    Mounted {
        name: "v2".to_owned(),
        is_v2: true,
        mount: mount.target.clone(),
        controllers: offered.split_whitespace().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &str) -> Mounted {
        let table = format!("30 20 0:26 / /sys/fs/cgroup/x rw - cgroup cgroup {options}\n");
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        std::fs::write(folder.path().join("proc/self/mountinfo"), table).unwrap();
        std::fs::write(folder.path().join("proc/cgroups"), "#subsys_name\nbeancounter\t1\t1\t1\n")
            .unwrap();
        hierarchies(&Root::at(folder.path())).remove(0)
    }

    /// As on hosts with SELinux.
    #[test]
    fn options_of_security_modules_are_no_controllers() {
        let cpu = of("rw,seclabel,cpu,cpuacct");
        assert_eq!(
            (cpu.name.as_str(), cpu.controllers.join(" ").as_str()),
            ("cpu,cpuacct", "cpu cpuacct")
        );
        let systemd = of("rw,seclabel,xattr,release_agent=/x,name=systemd");
        assert_eq!((systemd.name.as_str(), systemd.controllers.len()), ("name=systemd", 0));
        assert_eq!(of("rw,blkio").controllers, ["io"]);
        assert_eq!(of("rw,beancounter").controllers, ["beancounter"], "of a kernel with more");
    }
}
