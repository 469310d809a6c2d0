//! Which hierarchy serves which controller.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use assay_facts::{CgroupLayout, Controller, Hierarchy, Layout, ONLY_ON_V1};
use assay_kernel::Root;
use assay_kernel::parse::cgroups::{self, Place, Subsystem};
use assay_kernel::parse::mountinfo::{self, Mount};

/// Controllers of cgroup v1 that never come to cgroup2, where other means replace them.
const ONLY_V1: [&str; 5] = ["cpuacct", "devices", "freezer", "net_cls", "net_prio"];
/// Controllers that a reader expects to find in the list on every host.
const EXPECTED: [&str; 5] = ["cpu", "cpuset", "io", "memory", "pids"];

/// What /proc tells of control groups.
struct Seen {
    v1: Vec<Mount>,
    v2: Option<Mount>,
    /// `cgroup.controllers` of the cgroup2 mount.
    v2_controllers: Vec<String>,
    subsystems: Vec<Subsystem>,
    places: Vec<Place>,
}

pub(super) fn layout(root: &Root) -> CgroupLayout {
    let seen = Seen::gather(root);
    let controllers: BTreeMap<String, Controller> =
        seen.names().into_iter().map(|name| (name.clone(), seen.controller(&name))).collect();
    let any_v1 = controllers.values().any(|found| matches!(found.hierarchy, Hierarchy::V1(_)));
    let layout = match (any_v1, seen.v2.is_some()) {
        (true, true) => Layout::Hybrid,
        (true, false) => Layout::V1,
        (false, true) => Layout::V2,
        (false, false) => Layout::None,
    };
    CgroupLayout {
        layout,
        v2_mount: seen.v2.map(|mount| mount.target),
        controllers,
        bases: BTreeMap::new(),
    }
}

/// This process's group below the cgroup2 mount, whichever controllers that has; `/` without one.
pub(super) fn v2_group(root: &Root) -> String {
    let seen = Seen::gather(root);
    let group = |mount| seen.own_group(mount, |place| place.controllers.is_empty());
    seen.v2.as_ref().map_or_else(|| "/".to_owned(), group)
}

/// The name of a controller on cgroup2: `blkio` became `io`, all others kept theirs.
fn v2_name(name: &str) -> &str {
    if name == "blkio" { "io" } else { name }
}

impl Seen {
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
            places: cgroups::places(&read("/proc/self/cgroup")),
        }
    }

    fn names(&self) -> BTreeSet<String> {
        let subsystems = self.subsystems.iter().map(|found| v2_name(&found.name));
        let offered = self.v2_controllers.iter().map(String::as_str);
        subsystems.chain(offered).chain(EXPECTED).map(str::to_owned).collect()
    }

    fn subsystem(&self, name: &str) -> Option<&Subsystem> {
        self.subsystems.iter().find(|found| v2_name(&found.name) == name)
    }

    fn controller(&self, name: &str) -> Controller {
        if let Some(mount) = self.v1_mount(name) {
            let own_group = self.own_group(mount, |place| has(&place.controllers, name));
            return Controller { hierarchy: Hierarchy::V1(mount.target.clone()), own_group };
        }
        match &self.v2 {
            Some(mount) if self.is_on_v2(name) => Controller {
                hierarchy: Hierarchy::V2(mount.target.clone()),
                own_group: self.own_group(mount, |place| place.controllers.is_empty()),
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

    /// `perf_event` is on cgroup2 without being listed, as long as no v1 hierarchy has it.
    fn is_on_v2(&self, name: &str) -> bool {
        has(&self.v2_controllers, name)
            || name == "perf_event"
                && self.subsystem(name).is_some_and(|found| found.enabled && found.hierarchy == 0)
    }

    fn why_absent(&self, name: &str) -> String {
        match self.subsystem(name) {
            None => "not built into this kernel".to_owned(),
            Some(found) if !found.enabled => "disabled at boot (cgroup_disable=)".to_owned(),
            Some(found) if found.hierarchy != 0 => {
                "on a cgroup v1 hierarchy that is not mounted here".to_owned()
            }
            Some(_) if ONLY_V1.contains(&name) => ONLY_ON_V1.to_owned(),
            Some(_) => "on no mounted hierarchy".to_owned(),
        }
    }

    /// This process's group below the mount. In a container the mount may show only a part of
    /// the hierarchy, and the path in /proc then begins above it.
    fn own_group(&self, mount: &Mount, is_it: impl Fn(&Place) -> bool) -> String {
        let group = self.places.iter().find(|place| is_it(place));
        let group = group.map_or("/", |place| place.group.as_str());
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
