//! The mounted cgroup hierarchies.

use std::path::PathBuf;

use assay_kernel::Root;
use assay_kernel::parse::mountinfo::{self, Mount};
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

/// Options of a v1 mount that are not controllers (cgroups(7)).
const NOT_CONTROLLERS: [&str; 7] =
    ["rw", "ro", "xattr", "noprefix", "clone_children", "cpuset_v2_mode", "none"];

/// Every mounted hierarchy once: the cgroup v1 ones in mount order, then cgroup2.
#[must_use]
pub fn hierarchies(root: &Root) -> Vec<Mounted> {
    let table = root.mount_table().unwrap_or_default();
    let mut hierarchies: Vec<Mounted> = Vec::new();
    for mount in mountinfo::parse(&table) {
        let one = match mount.kind.as_str() {
            "cgroup" => v1(mount),
            "cgroup2" => v2(root, mount),
            _ => continue,
        };
        if !hierarchies.iter().any(|known| known.name == one.name) {
            hierarchies.push(one);
        }
    }
    hierarchies.sort_by_key(|hierarchy| hierarchy.is_v2);
    hierarchies
}

fn v1(mount: Mount) -> Mounted {
    let is_controller =
        |word: &&String| !NOT_CONTROLLERS.contains(&word.as_str()) && !word.contains('=');
    let words: Vec<String> = mount.options.iter().filter(is_controller).cloned().collect();
    let named = mount.options.iter().find(|word| word.starts_with("name="));
    let controllers: Vec<String> = words
        .iter()
        .map(|word| if word == "blkio" { "io".to_owned() } else { word.clone() })
        .collect();
    let name = match (words.is_empty(), named) {
        (true, Some(named)) => named.clone(),
        _ => words.join(","),
    };
    Mounted { name, is_v2: false, mount: mount.target, controllers }
}

fn v2(root: &Root, mount: Mount) -> Mounted {
    let offered = root.read(mount.target.join("cgroup.controllers")).unwrap_or_default();
    Mounted {
        name: "v2".to_owned(),
        is_v2: true,
        mount: mount.target,
        controllers: offered.split_whitespace().map(str::to_owned).collect(),
    }
}
