//! Inventories of different hosts.

use std::collections::BTreeMap;

use crate::facts::{Controller, Layout};

use super::*;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn layout(controllers: &[(&str, Hierarchy)]) -> CgroupLayout {
    let on = |hierarchy: &Hierarchy| Controller {
        hierarchy: hierarchy.clone(),
        own_group: "/".to_owned(),
    };
    CgroupLayout {
        layout: Layout::Hybrid,
        v2_mount: Some("/cg/unified".into()),
        controllers: BTreeMap::from_iter(
            controllers.iter().map(|(name, hierarchy)| ((*name).to_owned(), on(hierarchy))),
        ),
        bases: BTreeMap::new(),
    }
}

fn kernel(version: (u16, u16), config: Option<&str>) -> Kernel {
    Kernel {
        version: Some(KernelVersion::new(version.0, version.1)),
        config: config.map(str::to_owned),
        huge_page_sizes: vec!["2MB".to_owned(), "1GB".to_owned()],
    }
}

fn state_of(facts: &[KnobFact], name: &str, version: Version) -> Available<Evidence> {
    let fact = facts.iter().find(|fact| fact.name == name && fact.version == version);
    fact.unwrap_or_else(|| panic!("{name}")).state.clone()
}

fn hybrid() -> (CgroupLayout, Vec<MountedHierarchy>) {
    let v1 = MountedHierarchy {
        version: Version::V1,
        controllers: set(&["memory"]),
        in_root: set(&["tasks", "memory.limit_in_bytes"]),
        in_group: Some((set(&["tasks", "memory.limit_in_bytes"]), set(&["memory"]))),
    };
    let v2 = MountedHierarchy {
        version: Version::V2,
        controllers: set(&["hugetlb", "cpu"]),
        in_root: set(&["cgroup.procs", "cpu.stat"]),
        in_group: None,
    };
    let layout = layout(&[
        ("memory", Hierarchy::V1("/cg/memory".into())),
        ("hugetlb", Hierarchy::V2("/cg/unified".into())),
        ("cpu", Hierarchy::V2("/cg/unified".into())),
        ("rdma", Hierarchy::Absent("not built into this kernel".to_owned())),
    ]);
    (layout, vec![v1, v2])
}

#[test]
fn a_file_is_known_because_it_was_seen_or_by_the_table() {
    let (layout, shown) = hybrid();
    let facts = inventory(&layout, &kernel((6, 12), None), &shown);
    let limit = state_of(&facts, "memory.limit_in_bytes", Version::V1);
    assert_eq!(limit, Available::Value(Evidence::Seen));
    for name in ["hugetlb.2MB.max", "hugetlb.1GB.max", "cpu.max", "cgroup.freeze"] {
        let state = state_of(&facts, name, Version::V2);
        assert_eq!(state, Available::Value(Evidence::ByTheTable), "{name}");
    }
    assert!(!facts.iter().any(|fact| fact.name.contains('<')));
}

#[test]
fn an_absent_file_has_a_reason() {
    let (layout, shown) = hybrid();
    let built =
        kernel((5, 10), Some("CONFIG_CFS_BANDWIDTH=y\n# CONFIG_UCLAMP_TASK_GROUP is not set\n"));
    let facts = inventory(&layout, &built, &shown);
    for (name, version, word) in [
        ("cpu.idle", Version::V2, "since Linux 5.15"),
        ("cpu.uclamp.max", Version::V2, "without CONFIG_UCLAMP_TASK_GROUP"),
        ("memory.high", Version::V2, "`memory` is on v1 here"),
        ("cpu.shares", Version::V1, "`cpu` is on v2 here"),
        ("rdma.max", Version::V2, "not built into"),
        ("memory.failcnt", Version::V1, "does not show it"),
        ("devices.deny", Version::V1, "eBPF"),
        ("net_cls.classid", Version::V1, "does not list"),
    ] {
        match state_of(&facts, name, version) {
            Available::NotAvailable(why) => assert!(why.contains(word), "{name}: {why}"),
            Available::Value(evidence) => panic!("{name}: {evidence:?}"),
        }
    }
    assert_eq!(state_of(&facts, "cpu.max", Version::V2), Available::Value(Evidence::ByTheTable));
}

#[test]
fn expected_files_differ_between_the_root_and_other_groups() {
    let kernel = kernel((6, 12), None);
    let names = |is_root| -> Vec<String> {
        let controllers = set(&["io"]);
        let files = expected_files(Version::V2, &controllers, is_root, &kernel);
        files.into_iter().map(|file| file.name).collect()
    };
    let has = |is_root, name: &str| names(is_root).iter().any(|known| known == name);
    assert!(has(true, "io.cost.qos") && !has(false, "io.cost.qos"));
    assert!(!has(true, "io.max") && has(false, "io.max"));
    assert!(has(true, "cgroup.procs") && has(false, "cpu.stat") && !has(false, "cpu.max"));
}
