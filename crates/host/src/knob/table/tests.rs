//! Invariants of the table.

use super::*;
use crate::knob::entry::{Counterpart, SupportedVersions};
use crate::knob::translate::Version;

#[test]
fn names_are_unique() {
    for knob in all() {
        assert_eq!(
            all().iter().filter(|other| other.name == knob.name).count(),
            1,
            "{}",
            knob.name
        );
    }
}

#[test]
fn every_entry_is_a_file_and_described() {
    for knob in all() {
        assert!(knob.v1.is_some() || knob.v2.is_some(), "{}", knob.name);
        assert!(!knob.about.is_empty(), "{}", knob.name);
        let same = matches!(knob.counterpart, Counterpart::SameName);
        assert_eq!(same, knob.v1.is_some() && knob.v2.is_some(), "{}", knob.name);
    }
}

#[test]
fn defaults_of_settings_are_values_of_the_range() {
    for knob in all().iter().filter(|knob| knob.role == Role::Setting) {
        for file in [knob.v1, knob.v2].into_iter().flatten() {
            // A new group is a domain, which cannot be written; and the text of a file for all
            // disks cannot be written to a file for single disks.
            let is_only_shown = |text: &str| {
                let for_one = matches!(knob.range, ValueRange::DeviceNumber { .. });
                text.is_empty() || text == "domain" || for_one
            };
            let default = file.default.filter(|text| !is_only_shown(text));
            if let Some(default) = default {
                assert_eq!(knob.check(default), Ok(()), "{}", knob.name);
            }
        }
    }
}

#[test]
fn counterparts_are_in_the_table_under_the_other_version() {
    for knob in all() {
        let Counterpart::Files(files) = knob.counterpart else { continue };
        let other = if knob.v2.is_some() { Version::V1 } else { Version::V2 };
        for file in files {
            let counterpart =
                find(&file.replace("<size>", "2MB")).and_then(|knob| knob.file(other));
            assert!(counterpart.is_some(), "{} -> {file}", knob.name);
        }
    }
}

#[test]
fn modes_agree_with_roles() {
    for knob in all() {
        for file in [knob.v1, knob.v2].into_iter().flatten() {
            let writable = file.mode.bits() & 0o200 != 0;
            let may_differ = file.mode_varies;
            assert!(may_differ || writable == (knob.role != Role::Reading), "{}", knob.name);
        }
    }
}

#[test]
fn a_name_with_a_huge_page_size_matches_the_pattern() {
    assert_eq!(find("hugetlb.2MB.max").unwrap().name, "hugetlb.<size>.max");
    assert_eq!(find("hugetlb.64KB.rsvd.max").unwrap().name, "hugetlb.<size>.rsvd.max");
    for name in
        ["hugetlb.max", "hugetlb..max", "hugetlb.2M.max", "hugetlb.0MB.max", "hugetlb.MB.max"]
    {
        assert!(find(name).is_none(), "{name}");
    }
}

#[test]
fn supported_versions_follow_from_files_and_counterparts() {
    for (name, versions) in [
        ("cpu.weight", SupportedVersions::Both),
        ("pids.max", SupportedVersions::Both),
        ("cgroup.freeze", SupportedVersions::Both),
        ("devices.deny", SupportedVersions::Both),
        ("memory.high", SupportedVersions::V2Only),
        ("cgroup.kill", SupportedVersions::V2Only),
        ("cpu.shares", SupportedVersions::V1Only),
        ("net_cls.classid", SupportedVersions::V1Only),
    ] {
        assert_eq!(find(name).unwrap().supported_versions(), versions, "{name}");
    }
}

#[test]
fn resettable_counters_and_other_views_are_no_settings() {
    let is_setting = |name: &str| settings().iter().any(|knob| knob.name == name);
    assert!(
        ["cpu.weight", "memory.max", "io.cost.qos", "cgroup.freeze"].into_iter().all(is_setting)
    );
    for name in ["cpuacct.usage", "memory.max_usage_in_bytes", "memory.failcnt", WEIGHT_AS_NICE] {
        assert!(find(name).is_some() && !is_setting(name), "{name}");
    }
}
