//! Whether a freezer keeps the target's processes from running: then they wait for no CPU, and use none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_host::facts::{CgroupLayout, Hierarchy};
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::cgroups::process_groups;

use super::Watched;
use super::members::members;
use crate::Frozen;
use crate::watch::waits::CpuHierarchy;

/// The processes of a target that are frozen now, if there are any.
pub(super) fn frozen(
    root: &Root,
    layout: &CgroupLayout,
    hierarchy: &CpuHierarchy,
    target: &Watched,
) -> Option<Frozen> {
    let processes = match target {
        Watched::Process(id) => BTreeSet::from([*id]),
        Watched::Group(path) => members(root, &hierarchy.directory(path)).ok()?,
    };
    let mut found: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for process in &processes {
        if let Some(file) = freezer(root, layout, *process) {
            *found.entry(file).or_default() += 1;
        }
    }
    let frozen = found.values().sum();
    let file = found.into_iter().max_by_key(|(_, count)| *count)?.0;
    Some(Frozen { file: file.display().to_string(), processes: frozen, of: processes.len() })
}

/// The file that froze a process: that of its group, or of one above.
fn freezer(root: &Root, layout: &CgroupLayout, process: u32) -> Option<PathBuf> {
    // It may have ended.
    let groups = process_groups(&root.read(format!("/proc/{process}/cgroup")).ok()?);
    let freezing = |mount: &Path, says: &str, has: fn(&[String]) -> bool| {
        let group = &groups.iter().find(|group| has(&group.controllers))?.group;
        let above = Path::new(group).ancestors();
        let mut directories = above.map(|path| mount.join(path.strip_prefix("/").unwrap_or(path)));
        directories.find(|one| root.read_trimmed(one.join(says)).is_ok_and(|text| text == "1"))
    };
    let v2 = layout.v2_mount.as_deref().and_then(|mount| {
        let group = freezing(mount, "cgroup.freeze", <[String]>::is_empty)?;
        Some(group.join("cgroup.freeze"))
    });
    let v1 = || match &layout.controllers.get("freezer")?.hierarchy {
        Hierarchy::V1(mount) => {
            let has = |names: &[String]| names.iter().any(|name| name == "freezer");
            Some(freezing(mount, "freezer.self_freezing", has)?.join("freezer.state"))
        }
        _ => None,
    };
    v2.or_else(v1)
}

#[cfg(test)]
mod tests {
    use assay_host::facts::Controller;
    use assay_test_support::{hosts, put};

    use super::*;

    fn answer(root: &Root, is_v2: bool, target: &Watched) -> Option<(String, usize, usize)> {
        let mut facts = hosts::host(is_v2);
        if !is_v2 {
            let hierarchy = Hierarchy::V1("/cg/freezer".into());
            let controller = Controller { hierarchy, own_group: "/".to_owned() };
            facts.cgroup.controllers.insert("freezer".to_owned(), controller);
        }
        let hierarchy = CpuHierarchy::new(&facts).unwrap();
        let found = frozen(root, &facts.cgroup, &hierarchy, target)?;
        Some((found.file, found.processes, found.of))
    }

    #[test]
    fn a_group_below_a_frozen_one_is_frozen_although_its_own_file_says_0() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        for (group, freeze, processes) in
            [("m", "0", ""), ("m/pod", "1", ""), ("m/pod/c", "0", "8\n9\n"), ("m/run", "0", "7\n")]
        {
            put(top.path(), &format!("cg/{group}/cgroup.freeze"), &format!("{freeze}\n"));
            put(top.path(), &format!("cg/{group}/cgroup.procs"), processes);
            for process in processes.lines() {
                put(top.path(), &format!("proc/{process}/cgroup"), &format!("0::/{group}\n"));
            }
        }
        let file = "/cg/m/pod/cgroup.freeze".to_owned();
        let of = |target| answer(&root, true, &target);
        assert_eq!(of(Watched::Process(8)), Some((file.clone(), 1, 1)));
        assert_eq!(of(Watched::Group("/m/pod/c".to_owned())), Some((file.clone(), 2, 2)));
        assert_eq!(of(Watched::Group("/m".to_owned())), Some((file, 2, 3)));
        assert_eq!(of(Watched::Group("/m/run".to_owned())), None);
        assert_eq!(of(Watched::Process(6)), None, "there is no such process");
    }

    /// Its group of the freezer need not be that of `cpu`.
    #[test]
    fn the_freezer_of_v1_is_that_of_the_process() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        put(top.path(), "proc/8/cgroup", "5:freezer:/f/g\n4:cpu,cpuacct:/c\n");
        put(top.path(), "cg/cpu/c/cgroup.procs", "8\n");
        let own = |group: &str, frozen: &str| {
            put(top.path(), &format!("cg/freezer/{group}/freezer.self_freezing"), frozen);
        };
        own("f", "0\n");
        own("f/g", "0\n");
        let target = || Watched::Group("/c".to_owned());
        assert_eq!(answer(&root, false, &target()), None);
        own("f", "1\n");
        let expected = ("/cg/freezer/f/freezer.state".to_owned(), 1, 1);
        assert_eq!(answer(&root, false, &target()), Some(expected));
    }
}
