//! Knobs become files of the host.

use crate::*;

#[test]
fn knobs_become_the_files_of_each_hierarchy() {
    for (is_v2, file, hierarchies) in [(false, "blkio.bfq.weight", 2), (true, "io.bfq.weight", 1)] {
        let plan = plan(&study("io-weight"), &host(is_v2), 1);
        assert_eq!(plan.refusals, []);
        let expected: Vec<(String, String)> =
            ["100", "200", "400", "800"].map(|weight| (file.to_owned(), weight.to_owned())).into();
        assert_eq!(written(&plan, 0), expected);
        assert_eq!(
            plan.trials[0].hierarchies.len(),
            hierarchies,
            "v1 counts I/O and CPU in two hierarchies"
        );
    }
}

/// The io-weight study with other knobs on its groups, planned.
fn with_knobs(knobs: &[(&str, &str)], host: &HostFacts) -> Plan {
    let mut study = study("io-weight");
    study.groups[0].knobs = knobs
        .iter()
        .map(|(name, value)| {
            ((*name).to_owned(), vec![Templated::Value(Scalar::Text((*value).to_owned()))])
        })
        .collect();
    plan(&study, host, 1)
}

fn refusal(knob: &str, value: &str, host: &HostFacts) -> String {
    let plan = with_knobs(&[(knob, value)], host);
    assert_eq!(plan.refusals.len(), 1, "{:?}", plan.refusals);
    plan.refusals[0].to_string()
}

#[test]
fn unavailable_knobs_are_refused_with_reason_and_remedy() {
    let mut old = host(true);
    old.kernel = "4.10.0-9-amd64".to_owned();
    let text = refusal("memory.min", "1 MiB", &old);
    assert!(text.contains("since Linux 4.18, but this kernel is 4.10"), "{text}");

    let text = refusal("memory.high", "1 MiB", &host(false));
    assert!(text.contains("v2 only") && text.contains("unified_cgroup_hierarchy"), "{text}");

    let text = refusal("cpu.shares", "512", &host(true));
    assert!(text.contains("v1 only") && text.contains("write `cpu.weight`"), "{text}");

    let text = refusal("hugetlb.2MB.max", "4 MiB", &host(true));
    assert!(text.contains("controller `hugetlb` is not available"), "{text}");

    let mut disabled = host(false);
    let why = Hierarchy::Absent("disabled at boot (cgroup_disable=)".to_owned());
    disabled.cgroup.controllers.get_mut("memory").unwrap().hierarchy = why;
    let text = refusal("memory.max", "1 MiB", &disabled);
    assert!(text.contains("disabled at boot") && text.contains("hint: enable"), "{text}");

    let text = refusal("devices.deny", "c 1:3 rwm", &host(true));
    assert!(text.contains("no file for devices"), "{text}");
}

#[test]
fn knobs_are_written_in_an_order_that_the_kernel_accepts() {
    let sum = ("memory.memsw.limit_in_bytes", "2 MiB");
    let plan = with_knobs(&[sum, ("memory.limit_in_bytes", "1 MiB")], &host(false));
    assert_eq!(plan.refusals, []);
    let files: Vec<&str> =
        plan.trials[0].groups[0].knobs.iter().map(|knob| knob.record.file.as_str()).collect();
    assert_eq!(files, ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]);
}

#[test]
fn io_limits_are_planned_for_the_disk_of_the_group() {
    let plan = with_knobs(&[("io.max", "rbps=1 MiB riops=100")], &host(false));
    assert_eq!(plan.refusals, []);
    let translation = &plan.trials[0].groups[0].knobs[0].translation;
    assert!(translation.needs_device());
    assert_eq!(translation.writes("7:0")[1].1, "7:0 100");
}

#[test]
fn cpu_weights_become_shares_on_v1_and_thread_counts_are_recorded() {
    for (is_v2, file, weight) in [(false, "cpu.shares", "8192"), (true, "cpu.weight", "800")] {
        let plan = plan(&study("cpu-weight"), &host(is_v2), 1);
        assert_eq!(plan.refusals, []);
        assert!(plan.trials[0].disks.is_empty(), "no disk is touched");
        let heaviest = &plan.trials[0].groups[3];
        let knob = heaviest.knobs.iter().find(|knob| knob.record.knob == "cpu.weight").unwrap();
        assert_eq!((knob.record.file.as_str(), knob.record.written.as_str()), (file, weight));
        assert_eq!(heaviest.workloads[0].threads, Some(2));
        assert_eq!(heaviest.workloads[0].job().unwrap().option("ioengine"), Some("cpuio"));
    }
}

#[test]
fn a_quota_on_v1_is_two_files_and_its_promises_name_the_knob() {
    let plan = plan(&study("cpu-quota"), &host(false), 1);
    assert_eq!(plan.refusals, []);
    let knob = &plan.trials[0].groups[0].knobs[0];
    assert_eq!(knob.record.file, "cpu.cfs_quota_us");
    assert_eq!(knob.record.written, "50000");
    assert_eq!(knob.record.also["cpu.cfs_period_us"], "100000");
    let relations: Vec<&RelationRecord> =
        plan.trials[0].promises.iter().map(|promise| &promise.is).collect();
    let knob = "cpu.max".to_owned();
    assert_eq!(
        relations,
        [&RelationRecord::AtMostKnob(knob.clone()), &RelationRecord::AtLeastKnob(knob)]
    );
}

#[test]
fn a_protection_needs_v2_and_is_planned_inside_an_outer_group() {
    let v1 = plan(&study("memory-protection"), &host(false), 1);
    let refusals: Vec<String> = v1.refusals.iter().map(ToString::to_string).collect();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(refusals[0].contains("v1 protects no memory") && refusals[0].contains("assay lab run"));

    let v2 = plan(&study("memory-protection"), &host(true), 1);
    assert_eq!(v2.refusals, []);
    let groups: Vec<(&str, bool)> =
        v2.trials[0].groups.iter().map(|group| (group.name.as_str(), group.measured)).collect();
    assert_eq!(groups, [("box", true), ("box/kept", true), ("box/hog", false)]);
    let held = ["192 MiB", "96 MiB"].map(|size| size.parse::<Bytes>().unwrap().get().to_string());
    let written: Vec<String> = written(&v2, 0).into_iter().map(|(_, value)| value).collect();
    assert_eq!(written, held);
}
