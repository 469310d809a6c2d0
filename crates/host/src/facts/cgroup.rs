//! Mounted control-group hierarchies and their controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::facts::Available;

/// The layouts of control groups on hosts (cgroups(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Every controller on cgroup v1 hierarchies; no cgroup2 mount.
    V1,
    /// One cgroup2 hierarchy for all controllers.
    V2,
    /// cgroup2 is mounted, but some controllers are on v1 hierarchies.
    Hybrid,
    /// No control groups are mounted.
    None,
}

/// The reason for the absence of a controller that exists only on v1 and is in no hierarchy, so
/// that one could be mounted for it.
pub(crate) const ONLY_ON_V1: &str = "only a cgroup v1 hierarchy serves it, and none is mounted";

/// The hierarchy of a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hierarchy {
    /// A v1 hierarchy mounted here.
    V1(PathBuf),
    /// The cgroup2 hierarchy mounted here.
    V2(PathBuf),
    /// In no hierarchy, with the reason (not built in, not mounted, disabled at boot).
    Absent(String),
}

/// A controller and its hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// Its hierarchy.
    pub hierarchy: Hierarchy,
    /// This process's own group below that mount, as in /proc/self/cgroup (`/` at the top).
    pub own_group: String,
}

/// The control groups of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLayout {
    /// The layout.
    pub layout: Layout,
    /// The mount point of cgroup2, if it is mounted.
    pub v2_mount: Option<PathBuf>,
    /// Every known controller by its v2 name (`io`, not `blkio`; `cpu`; `memory`; `freezer` only on
    /// v1). v1's `cpuacct` is listed under its own name.
    pub controllers: BTreeMap<String, Controller>,
    /// Where this process may make groups, by controller, if that is not the mount itself: a group
    /// delegated to its user, or the reason why there is none. [`CORE`] stands for cgroup2 with any
    /// controllers.
    #[serde(default)]
    pub bases: BTreeMap<String, Available<PathBuf>>,
}

/// A mounted hierarchy in which groups are made, with the controllers needed from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedHierarchy {
    /// Whether it is cgroup2.
    pub is_v2: bool,
    /// Its mount point.
    pub mount: PathBuf,
    /// The directory in which groups may be made: the mount itself for root, a delegated group
    /// below it for others.
    pub base: PathBuf,
    /// The controllers needed from it, by v2 name (v1's `cpuacct` by its own name).
    pub controllers: BTreeSet<String>,
}

/// The name used in place of a controller for the files of every group on cgroup2
/// (`cgroup.freeze`).
pub const CORE: &str = "cgroup";

impl UsedHierarchy {
    /// The controllers that must be enabled for the children of a group in this hierarchy. The
    /// files of every group need none, and `perf_event` works in every group of cgroup2 without
    /// being enabled (Documentation/admin-guide/cgroup-v2.rst).
    pub fn enabled(&self) -> impl Iterator<Item = &str> {
        let names = self.controllers.iter().map(String::as_str);
        names.filter(|name| ![CORE, "perf_event"].contains(name))
    }
}

impl CgroupLayout {
    /// The hierarchies with these controllers, each once, and the missing controllers with the
    /// reason. Every group is made in each of these hierarchies.
    #[must_use]
    pub fn hierarchies_with<'c>(
        &self,
        controllers: impl IntoIterator<Item = &'c str>,
    ) -> (Vec<UsedHierarchy>, BTreeMap<String, String>) {
        let mut hierarchies: Vec<UsedHierarchy> = Vec::new();
        let mut absent = BTreeMap::new();
        for name in controllers {
            let hierarchy = self.controllers.get(name).map(|controller| &controller.hierarchy);
            let (is_v2, mount) = match hierarchy {
                None if name == CORE && self.v2_mount.is_none() => {
                    absent.insert(name.to_owned(), "cgroup2 is not mounted".to_owned());
                    continue;
                }
                Some(Hierarchy::V1(mount)) => (false, mount),
                Some(Hierarchy::V2(mount)) => (true, mount),
                Some(Hierarchy::Absent(why)) => {
                    absent.insert(name.to_owned(), why.clone());
                    continue;
                }
                None => match self.v2_mount.as_ref().filter(|_| name == CORE) {
                    Some(mount) => (true, mount),
                    None => {
                        absent.insert(name.to_owned(), "this kernel does not list it".to_owned());
                        continue;
                    }
                },
            };
            let base = match self.bases.get(name) {
                None => mount.clone(),
                Some(Available::Value(base)) => base.clone(),
                Some(Available::NotAvailable(why)) => {
                    absent.insert(name.to_owned(), why.clone());
                    continue;
                }
            };
            match hierarchies.iter_mut().find(|hierarchy| hierarchy.mount == *mount) {
                Some(hierarchy) => {
                    hierarchy.controllers.insert(name.to_owned());
                }
                None => hierarchies.push(UsedHierarchy {
                    is_v2,
                    mount: mount.clone(),
                    base,
                    controllers: BTreeSet::from([name.to_owned()]),
                }),
            }
        }
        (hierarchies, absent)
    }

    /// Whether this controller is on cgroup2.
    #[must_use]
    pub fn is_on_v2(&self, controller: &str) -> bool {
        matches!(
            self.controllers.get(controller).map(|controller| &controller.hierarchy),
            Some(Hierarchy::V2(_))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> CgroupLayout {
        let on = |hierarchy| Controller { hierarchy, own_group: "/".to_owned() };
        CgroupLayout {
            layout: Layout::Hybrid,
            v2_mount: Some(PathBuf::from("/cg/unified")),
            controllers: BTreeMap::from([
                ("cpu".to_owned(), on(Hierarchy::V1(PathBuf::from("/cg/cpu,cpuacct")))),
                ("cpuacct".to_owned(), on(Hierarchy::V1(PathBuf::from("/cg/cpu,cpuacct")))),
                ("io".to_owned(), on(Hierarchy::V2(PathBuf::from("/cg/unified")))),
                ("rdma".to_owned(), on(Hierarchy::Absent("not built in".to_owned()))),
            ]),
            bases: BTreeMap::new(),
        }
    }

    #[test]
    fn controllers_on_one_mount_are_one_hierarchy() {
        let (hierarchies, absent) =
            layout().hierarchies_with(["cpu", "cpuacct", "io", "rdma", "misc"]);
        assert_eq!(hierarchies.len(), 2);
        assert_eq!(hierarchies[0].controllers.len(), 2);
        assert!(hierarchies[1].is_v2);
        assert_eq!(absent["rdma"], "not built in");
        assert!(absent.contains_key("misc"));
    }

    #[test]
    fn files_of_every_group_are_on_cgroup2_and_enable_nothing() {
        let (hierarchies, _) = layout().hierarchies_with(["io", CORE]);
        assert_eq!((hierarchies.len(), hierarchies[0].is_v2), (1, true));
        assert_eq!(hierarchies[0].enabled().collect::<Vec<_>>(), ["io"]);
        let without = CgroupLayout { v2_mount: None, ..layout() };
        assert!(without.hierarchies_with([CORE]).1[CORE].contains("not mounted"));
    }

    #[test]
    fn a_user_makes_groups_where_delegated_and_gets_reasons_elsewhere() {
        let mut layout = layout();
        let base = PathBuf::from("/cg/cpu,cpuacct/users/1000");
        layout.bases = BTreeMap::from([
            ("cpu".to_owned(), Available::Value(base.clone())),
            ("io".to_owned(), Available::NotAvailable("needs root, because".to_owned())),
        ]);
        let (hierarchies, absent) = layout.hierarchies_with(["cpu", "io"]);
        assert_eq!(hierarchies.len(), 1);
        assert_eq!(hierarchies[0].base, base);
        assert_eq!(hierarchies[0].mount, PathBuf::from("/cg/cpu,cpuacct"));
        assert_eq!(absent["io"], "needs root, because");
    }
}
