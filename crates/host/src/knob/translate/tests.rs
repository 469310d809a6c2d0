//! Translations of knobs on each layout.

use std::collections::BTreeMap;

use crate::facts::{Controller, Hierarchy, Layout};
use proptest::prelude::*;

use super::*;

fn layout(hierarchy: &Hierarchy) -> CgroupLayout {
    let controllers: BTreeMap<String, Controller> =
        ["io", "cpu", "memory", "pids", "cpuset", "hugetlb", "freezer", "devices"]
            .into_iter()
            .map(|name| {
                let controller =
                    Controller { hierarchy: hierarchy.clone(), own_group: "/".to_owned() };
                (name.to_owned(), controller)
            })
            .collect();
    CgroupLayout { layout: Layout::Hybrid, v2_mount: None, controllers, bases: BTreeMap::new() }
}

fn v1() -> CgroupLayout {
    layout(&Hierarchy::V1("/sys/fs/cgroup/x".into()))
}

fn v2() -> CgroupLayout {
    layout(&Hierarchy::V2("/sys/fs/cgroup".into()))
}

fn queue(scheduler: &str) -> Option<DiskQueue> {
    Some(DiskQueue { scheduler: scheduler.to_owned(), iops: None })
}

fn files(knob: &str, value: &str, layout: &CgroupLayout, scheduler: &str) -> (String, String) {
    let translation = translate(knob, value, layout, queue(scheduler).as_ref()).unwrap();
    (translation.file, translation.written)
}

fn pair(file: &str, written: &str) -> (String, String) {
    (file.to_owned(), written.to_owned())
}

#[test]
fn an_io_weight_becomes_the_file_of_the_scheduler() {
    assert_eq!(files("io.weight", "200", &v1(), "bfq"), pair("blkio.bfq.weight", "200"));
    assert_eq!(files("io.weight", "200", &v2(), "bfq"), pair("io.bfq.weight", "200"));
    assert_eq!(files("io.weight", "200", &v2(), "none"), pair("io.weight", "200"));
}

#[test]
fn iocost_is_enabled_at_the_root_and_bfq_needs_no_root_setting() {
    let iocost = translate("io.weight", "100", &v2(), queue("mq-deadline").as_ref()).unwrap();
    assert_eq!(iocost.obeyed_by.as_deref(), Some("iocost"));
    assert_eq!(iocost.root_settings[0].file, "io.cost.qos");
    assert!(iocost.root_settings[0].value_template.starts_with("{device} enable=1"));
    let bfq = translate("io.weight", "100", &v2(), queue("bfq").as_ref()).unwrap();
    assert_eq!((bfq.obeyed_by.as_deref(), bfq.root_settings.len()), (Some("bfq"), 0));
}

#[test]
fn the_model_of_iocost_has_the_known_speed_of_a_disk() {
    let known = DiskQueue { scheduler: "none".to_owned(), iops: Some(2000) };
    let translation = translate("io.weight", "100", &v2(), Some(&known)).unwrap();
    let settings: Vec<(&str, &str)> = translation
        .root_settings
        .iter()
        .map(|setting| (setting.file.as_str(), setting.value_template.as_str()))
        .collect();
    let [(model_file, model), (qos_file, qos)] = settings[..] else { panic!("{settings:?}") };
    assert_eq!((model_file, qos_file), ("io.cost.model", "io.cost.qos"));
    assert!(model.contains("rseqiops=500 rrandiops=500"), "{model}");
    assert!(model.contains("wseqiops=500 wrandiops=500"), "{model}");
    assert!(qos.contains("enable=1") && qos.contains("min=100.00 max=100.00"), "{qos}");
    assert!(qos.contains("rpct=0.00 rlat=128000 wpct=0.00 wlat=128000"), "{qos}");
    let inverses: Vec<String> =
        translation.root_settings.iter().map(|setting| setting.inverse("252:0")).collect();
    assert_eq!(inverses, ["252:0 ctrl=auto", "252:0 enable=0"]);
}

#[test]
fn a_scheduler_without_weights_is_refused_with_a_remedy() {
    let refused = translate("io.weight", "100", &v1(), queue("mq-deadline").as_ref()).unwrap_err();
    assert!(refused.reason.contains("mq-deadline"), "{refused}");
    assert!(refused.remedy.contains("scheduler = \"bfq\""), "{refused}");
    assert!(translate("io.bfq.weight", "100", &v2(), queue("none").as_ref()).is_err());
    assert!(translate("io.weight", "100", &v2(), None).is_err());
}

#[test]
fn weights_beyond_bfq_s_range_are_refused_and_never_scaled() {
    for (weight, accepted) in [(100, true), (800, true), (1_000, true), (1_600, false)] {
        let translation = translate("io.weight", &weight.to_string(), &v2(), queue("bfq").as_ref());
        assert_eq!(translation.is_ok(), accepted, "{weight}");
        assert!(
            translation.is_ok() || translation.unwrap_err().remedy.contains("scale"),
            "{weight}"
        );
    }
    assert_eq!(files("io.weight", "1600", &v2(), "none"), pair("io.weight", "1600"));
}

#[test]
fn cpu_weights_become_shares_and_rounding_is_noted() {
    assert_eq!(files("cpu.weight", "100", &v1(), "none"), pair("cpu.shares", "1024"));
    assert_eq!(files("cpu.weight", "100", &v2(), "none"), pair("cpu.weight", "100"));
    let rounded = translate("cpu.weight", "1", &v1(), None).unwrap();
    assert_eq!(rounded.written, "10");
    assert!(rounded.note.unwrap().contains("-2.34 %"));
}

#[test]
fn a_cpu_limit_needs_two_files_on_v1() {
    let translation = translate("cpu.max", "50000 200000", &v1(), None).unwrap();
    assert_eq!(pair(&translation.file, &translation.written), pair("cpu.cfs_quota_us", "50000"));
    assert_eq!(translation.also, [pair("cpu.cfs_period_us", "200000")]);
    let unlimited = translate("cpu.max", "max", &v1(), None).unwrap();
    assert_eq!(unlimited.written, "-1");
    assert_eq!(files("cpu.max", "max 100000", &v2(), "none"), pair("cpu.max", "max 100000"));
}

#[test]
fn memory_limits_are_written_in_bytes_and_max_in_the_version_s_spelling() {
    assert_eq!(
        files("memory.max", "64 MiB", &v1(), "none"),
        pair("memory.limit_in_bytes", "67108864")
    );
    assert_eq!(files("memory.max", "max", &v1(), "none"), pair("memory.limit_in_bytes", "-1"));
    assert_eq!(files("memory.max", "max", &v2(), "none"), pair("memory.max", "max"));
    let uneven = translate("memory.max", "5000", &v2(), None).unwrap();
    assert!(uneven.note.unwrap().contains("down to whole pages"));
}

#[test]
fn knobs_of_the_other_version_are_refused() {
    assert!(translate("memory.high", "1g", &v1(), None).unwrap_err().reason.contains("v2 only"));
    let shares = translate("cpu.shares", "1024", &v2(), None).unwrap_err();
    assert!(shares.remedy.contains("cpu.weight"), "{shares}");
}

#[test]
fn a_missing_controller_is_refused_with_its_reason() {
    let none = layout(&Hierarchy::Absent("disabled at boot".to_owned()));
    let refused = translate("pids.max", "64", &none, None).unwrap_err();
    assert!(refused.reason.contains("disabled at boot"), "{refused}");
}

#[test]
fn an_unknown_knob_and_a_value_out_of_range_are_refused() {
    assert!(translate("io.wieght", "1", &v2(), None).unwrap_err().remedy.contains("io.weight"));
    assert!(translate("cpu.weight", "0", &v2(), None).unwrap_err().reason.contains("1 to 10000"));
}

fn writes(knob: &str, value: &str, layout: &CgroupLayout) -> Vec<(String, String)> {
    translate(knob, value, layout, queue("none").as_ref()).unwrap().writes("8:16")
}

#[test]
fn io_limits_become_one_file_each_on_v1_with_the_device_numbers() {
    let value = "rbps=1 MiB wiops=max";
    assert_eq!(
        writes("io.max", value, &v1()),
        [
            pair("blkio.throttle.read_bps_device", "8:16 1048576"),
            pair("blkio.throttle.write_iops_device", "8:16 0"),
        ]
    );
    assert_eq!(writes("io.max", value, &v2()), [pair("io.max", "8:16 rbps=1048576 wiops=max")]);
    let without = translate("io.max", value, &v2(), None).unwrap_err();
    assert!(without.reason.contains("use none"), "{without}");
    assert!(translate("io.max", "8:0 rbps=1", &v2(), None).is_ok(), "the numbers are given");
}

#[test]
fn a_weight_for_one_disk_has_its_own_file_on_v1() {
    let layout = v1();
    assert_eq!(
        files("io.weight", "8:0 200", &layout, "bfq"),
        pair("blkio.bfq.weight_device", "8:0 200")
    );
    assert_eq!(
        files("io.weight", "8:0 default", &layout, "bfq"),
        pair("blkio.bfq.weight_device", "8:0 0")
    );
    assert_eq!(files("io.weight", "default 20", &layout, "bfq"), pair("blkio.bfq.weight", "20"));
    assert!(translate("io.weight", "8:0 1600", &layout, queue("bfq").as_ref()).is_err());
}

#[test]
fn renamed_knobs_keep_their_value_with_size_and_spelling() {
    for (knob, value, file, written) in [
        ("hugetlb.2MB.max", "4 MiB", "hugetlb.2MB.limit_in_bytes", "4194304"),
        ("hugetlb.2MB.rsvd.max", "max", "hugetlb.2MB.rsvd.limit_in_bytes", "-1"),
        ("cpu.max.burst", "10 ms", "cpu.cfs_burst_us", "10000"),
        ("cpu.weight.nice", "-20", "cpu.shares", "88761"),
        ("cpu.weight.nice", "0", "cpu.shares", "1024"),
        ("io.prio.class", "idle", "blkio.prio.class", "idle"),
        ("pids.max", "64", "pids.max", "64"),
        ("memory.limit_in_bytes", "max", "memory.limit_in_bytes", "-1"),
    ] {
        assert_eq!(files(knob, value, &v1(), "none"), pair(file, written), "{knob}");
    }
    assert_eq!(files("hugetlb.2MB.max", "max", &v2(), "none"), pair("hugetlb.2MB.max", "max"));
}

#[test]
fn freezing_is_a_word_on_v1_and_a_digit_on_v2() {
    assert_eq!(files("cgroup.freeze", "1", &v1(), "none"), pair("freezer.state", "FROZEN"));
    let mut unified = v2();
    unified.v2_mount = Some("/sys/fs/cgroup".into());
    let translation = translate("cgroup.freeze", "1", &unified, None).unwrap();
    assert_eq!(
        (translation.file.as_str(), translation.controller.as_str()),
        ("cgroup.freeze", CORE)
    );
    let none = translate("cgroup.kill", "1", &v1(), None).unwrap_err();
    assert!(none.reason.contains("each process of `cgroup.procs` is killed"), "{none}");
}

#[test]
fn device_rules_are_writes_on_v1_and_a_program_on_v2() {
    let value = "c 1:3 rwm, b 8:* w";
    assert_eq!(
        writes("devices.deny", value, &v1()),
        [pair("devices.deny", "c 1:3 rwm"), pair("devices.deny", "b 8:* w")]
    );
    let mut unified = v2();
    unified.v2_mount = Some("/sys/fs/cgroup".into());
    unified.controllers.remove("devices");
    let translation = translate("devices.deny", value, &unified, None).unwrap();
    assert_eq!(translation.version, Version::V2);
    let rules: Vec<(bool, String)> =
        translation.device_rules.iter().map(|one| (one.allow, one.rule.to_string())).collect();
    assert_eq!(rules, [(false, "c 1:3 rwm".to_owned()), (false, "b 8:* w".to_owned())]);
    assert!(translation.writes("").is_empty(), "v2 has no such file");
}

#[test]
fn a_refusal_names_the_alternative_on_v1() {
    for (knob, value, word) in [
        ("memory.low", "1 MiB", "soft_limit"),
        ("memory.swap.max", "0", "memory.memsw"),
        ("memory.reclaim", "1 MiB", "force_empty"),
        ("cgroup.max.depth", "3", "no limit on the depth"),
    ] {
        let refused = translate(knob, value, &v1(), None).unwrap_err();
        assert!(refused.reason.contains(word), "{refused}");
    }
}

#[test]
fn a_kernel_that_is_too_old_or_too_new_lacks_the_file() {
    let why = |knob: &str, value: &str, release: &str| {
        translate(knob, value, &v2(), queue("bfq").as_ref()).unwrap().why_not_in(release)
    };
    let old = why("memory.peak", "0", "5.10.0-30-amd64").unwrap();
    assert_eq!(old.reason, "`memory.peak` is available since Linux 5.19, but this kernel is 5.10");
    assert_eq!(why("memory.peak", "0", "6.1.0"), None);
    assert!(why("io.low", "", "6.12").unwrap().reason.contains("removed in Linux 6.10"));
    assert_eq!(why("memory.max", "max", "no release at all"), None);
}

#[test]
fn a_sum_is_written_after_its_part_and_freezing_last() {
    let rank = |knob: &str, value: &str| translate(knob, value, &v1(), None).unwrap().rank;
    let (part, sum) = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes");
    assert!(rank(part, "1 MiB") < rank(sum, "1 MiB"));
    assert!(rank(sum, "1 MiB") < rank("cgroup.freeze", "1"));
}

proptest! {
    #[test]
    fn ratios_of_cpu_weights_survive_the_conversion_to_shares(a in 1u64..=10_000, b in 1u64..=10_000) {
        let shares = |weight: u64| -> f64 {
            translate("cpu.weight", &weight.to_string(), &v1(), None)
                .unwrap().written.parse().unwrap()
        };
        let (expected, actual) = (a as f64 / b as f64, shares(a) / shares(b));
        // Rounding may change each of the two by at most half a share.
        let allowed = expected * (0.5 / shares(a) + 0.5 / shares(b)) * 1.1;
        prop_assert!((actual - expected).abs() <= allowed, "{expected} became {actual}");
    }

    #[test]
    fn no_text_makes_a_check_panic(knob in 0usize..150, value in ".*") {
        let knob = &crate::knob::all()[knob];
        let _ = knob.check(&value);
        let _ = crate::knob::numeric_reading(knob.name, &value);
    }
}
