//! What holds for every entry of the table.

use super::*;
use crate::knob::{Counterpart, Home, Role};
use crate::range::ValueRange;
use crate::translate::Version;

#[test]
fn each_name_stands_once() {
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
fn each_entry_is_a_file_somewhere_and_says_what_for() {
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
            // A group is born as a domain, which cannot be written; and what a file says of all
            // disks cannot be written into one for single disks.
            let is_shown_only = |text: &str| {
                let for_one = matches!(knob.range, ValueRange::DeviceNumber { .. });
                text.is_empty() || text == "domain" || for_one
            };
            let default = file.default.filter(|text| !is_shown_only(text));
            if let Some(default) = default {
                assert_eq!(knob.check(default), Ok(()), "{}", knob.name);
            }
        }
    }
}

#[test]
fn files_of_the_other_version_are_in_the_table_under_that_version() {
    for knob in all() {
        let Counterpart::Files(files) = knob.counterpart else { continue };
        let other = if knob.v2.is_some() { Version::V1 } else { Version::V2 };
        for file in files {
            let there = find(&file.replace("<size>", "2MB")).and_then(|found| found.file(other));
            assert!(there.is_some(), "{} -> {file}", knob.name);
        }
    }
}

#[test]
fn modes_agree_with_what_a_file_is_for() {
    for knob in all() {
        for file in [knob.v1, knob.v2].into_iter().flatten() {
            let writable = file.mode.bits() & 0o200 != 0;
            let may_differ = file.mode_varies;
            assert!(may_differ || writable == (knob.role != Role::Reading), "{}", knob.name);
        }
    }
}

#[test]
fn a_huge_page_size_in_a_name_finds_the_pattern() {
    assert_eq!(find("hugetlb.2MB.max").unwrap().name, "hugetlb.<size>.max");
    assert_eq!(find("hugetlb.64KB.rsvd.max").unwrap().name, "hugetlb.<size>.rsvd.max");
    for name in
        ["hugetlb.max", "hugetlb..max", "hugetlb.2M.max", "hugetlb.0MB.max", "hugetlb.MB.max"]
    {
        assert!(find(name).is_none(), "{name}");
    }
}

#[test]
fn homes_follow_from_files_and_counterparts() {
    for (name, home) in [
        ("cpu.weight", Home::Both),
        ("pids.max", Home::Both),
        ("cgroup.freeze", Home::Both),
        ("devices.deny", Home::Both),
        ("memory.high", Home::V2Only),
        ("cgroup.kill", Home::V2Only),
        ("cpu.shares", Home::V1Only),
        ("net_cls.classid", Home::V1Only),
    ] {
        assert_eq!(find(name).unwrap().home(), home, "{name}");
    }
}

#[test]
fn suggests_the_name_that_was_meant() {
    assert_eq!(suggest("io.wieght"), Some("io.weight"));
    assert_eq!(suggest("memory.maximum.of.all"), None);
}
