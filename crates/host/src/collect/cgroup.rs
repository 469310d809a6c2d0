//! Which cgroup hierarchy serves which controller.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::facts::{CgroupLayout, Controller, Hierarchy, Layout, ONLY_ON_V1};
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::cgroups::{self, ProcessGroup, Subsystem};
use assay_sys::kernel::parse::mountinfo::{self, Mount};

/// Controllers that exist only on cgroup v1; cgroup2 replaces them by other means.
const ONLY_V1: [&str; 5] = ["cpuacct", "devices", "freezer", "net_cls", "net_prio"];
/// Controllers listed on every host, even where they are absent.
const EXPECTED: [&str; 5] = ["cpu", "cpuset", "io", "memory", "pids"];

/// The contents of /proc about control groups.
struct CgroupFiles {
    v1: Vec<Mount>,
    v2: Option<Mount>,
    /// `cgroup.controllers` of the cgroup2 mount.
    v2_controllers: Vec<String>,
    subsystems: Vec<Subsystem>,
    memberships: Vec<ProcessGroup>,
}

pub(super) fn layout(root: &Root) -> CgroupLayout {
    let files = CgroupFiles::gather(root);
    let controllers: BTreeMap<String, Controller> =
        files.names().into_iter().map(|name| (name.clone(), files.controller(&name))).collect();
    let any_v1 =
        controllers.values().any(|controller| matches!(controller.hierarchy, Hierarchy::V1(_)));
    let layout = match (any_v1, files.v2.is_some()) {
        (true, true) => Layout::Hybrid,
        (true, false) => Layout::V1,
        (false, true) => Layout::V2,
        (false, false) => Layout::None,
    };
    CgroupLayout {
        layout,
        v2_mount: files.v2.map(|mount| mount.target),
        controllers,
        bases: BTreeMap::new(),
    }
}

/// This process's group below the cgroup2 mount, whichever controllers it has; `/` without one.
pub(super) fn v2_group(root: &Root) -> String {
    let files = CgroupFiles::gather(root);
    let group = |mount| files.own_group(mount, |membership| membership.controllers.is_empty());
    files.v2.as_ref().map_or_else(|| "/".to_owned(), group)
}

/// The name of a controller on cgroup2: `blkio` became `io`, all others kept their names.
fn v2_name(name: &str) -> &str {
    if name == "blkio" { "io" } else { name }
}

impl CgroupFiles {
    fn gather(root: &Root) -> Self {
        let read = |path: &str| root.read(path).unwrap_or_default();
        let mounts = mountinfo::parse(&read("/proc/self/mountinfo"));
        let v2 = mounts.iter().find(|mount| mount.kind == "cgroup2").cloned();
        let offered = v2.as_ref().and_then(|m| root.read(m.target.join("cgroup.controllers")).ok());
        Self {
            v1: mounts.into_iter().filter(|mount| mount.kind == "cgroup").collect(),
            v2,
            v2_controllers: words(&offered.unwrap_or_default()),
            subsystems: cgroups::subsystems(&read("/proc/cgroups")),
            memberships: cgroups::process_groups(&read("/proc/self/cgroup")),
        }
    }

    fn names(&self) -> BTreeSet<String> {
        let subsystems = self.subsystems.iter().map(|subsystem| v2_name(&subsystem.name));
        let offered = self.v2_controllers.iter().map(String::as_str);
        subsystems.chain(offered).chain(EXPECTED).map(str::to_owned).collect()
    }

    fn subsystem(&self, name: &str) -> Option<&Subsystem> {
        self.subsystems.iter().find(|subsystem| v2_name(&subsystem.name) == name)
    }

    fn controller(&self, name: &str) -> Controller {
        if let Some(mount) = self.v1_mount(name) {
            let own_group = self.own_group(mount, |membership| has(&membership.controllers, name));
            return Controller { hierarchy: Hierarchy::V1(mount.target.clone()), own_group };
        }
        match &self.v2 {
            Some(mount) if self.is_on_v2(name) => Controller {
                hierarchy: Hierarchy::V2(mount.target.clone()),
                own_group: self.own_group(mount, |membership| membership.controllers.is_empty()),
            },
            _ => Controller {
                hierarchy: Hierarchy::Absent(self.why_absent(name)),
                own_group: "/".to_owned(),
            },
        }
    }

    fn v1_mount(&self, name: &str) -> Option<&Mount> {
        self.v1.iter().find(|mount| has(&mount.options, name))
    }

    /// `perf_event` is available on cgroup2 without being listed, unless a v1 hierarchy has it.
    fn is_on_v2(&self, name: &str) -> bool {
        has(&self.v2_controllers, name)
            || name == "perf_event"
                && self
                    .subsystem(name)
                    .is_some_and(|subsystem| subsystem.enabled && subsystem.hierarchy == 0)
    }

    fn why_absent(&self, name: &str) -> String {
        match self.subsystem(name) {
            None => "not built into this kernel".to_owned(),
            Some(subsystem) if !subsystem.enabled => {
                "disabled at boot (cgroup_disable=)".to_owned()
            }
            Some(subsystem) if subsystem.hierarchy != 0 => {
                "on a cgroup v1 hierarchy that is not mounted here".to_owned()
            }
            Some(_) if ONLY_V1.contains(&name) => ONLY_ON_V1.to_owned(),
            Some(_) => "on no mounted hierarchy".to_owned(),
        }
    }

    /// This process's group below the mount. In a container the mount may show only a part of the
    /// hierarchy, while the path in /proc begins above it.
    fn own_group(&self, mount: &Mount, is_it: impl Fn(&ProcessGroup) -> bool) -> String {
        let group = self.memberships.iter().find(|membership| is_it(membership));
        let group = group.map_or("/", |membership| membership.group.as_str());
        let below = group.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or(group);
        PathBuf::from("/").join(below.trim_start_matches('/')).to_string_lossy().into_owned()
    }
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|candidate| v2_name(candidate) == name)
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
