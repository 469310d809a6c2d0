//! Plans of the same studies for different hosts.

#![allow(clippy::unwrap_used, reason = "a shipped study that does not parse fails the test")]

use std::path::PathBuf;

use assay_facts::{Available, Cpus, Disk, Hierarchy, Holder, HostFacts, Node};
use assay_plan::{
    Part, Plan, Predictions, Scope, Setting, Step, candidates, plan, plan_with,
    prediction_commands, steps,
};
use assay_run_folder::{AcrossRecord, RelationRecord};
use assay_study::{
    DiskSource, NullBlk, Scalar, Study, Templated, combinations, parse, set_factor, shipped,
    shipped_file,
};
use assay_test_support::hosts::{host, tool};
use assay_units::Bytes;

fn study(name: &str) -> Study {
    let shipped = shipped().iter().find(|study| study.name == name).unwrap();
    parse(name, shipped.text, &shipped_file).0.unwrap()
}

fn written(plan: &Plan, trial: usize) -> Vec<(String, String)> {
    let groups = plan.trials[trial].groups.iter();
    groups
        .flat_map(|group| &group.knobs)
        .map(|knob| (knob.record.file.clone(), knob.record.written.clone()))
        .collect()
}

#[test]
fn knobs_become_the_files_of_each_hierarchy() {
    for (is_v2, file, homes) in [(false, "blkio.bfq.weight", 2), (true, "io.bfq.weight", 1)] {
        let plan = plan(&study("io-weight"), &host(is_v2), 1);
        assert_eq!(plan.refusals, []);
        let expected: Vec<(String, String)> =
            ["100", "200", "400", "800"].map(|weight| (file.to_owned(), weight.to_owned())).into();
        assert_eq!(written(&plan, 0), expected);
        assert_eq!(plan.trials[0].homes.len(), homes, "v1 counts I/O and CPU in two hierarchies");
    }
}

#[test]
fn values_are_assigned_in_turn_and_every_combination_is_a_trial() {
    let mut study = study("io-weight");
    set_factor(&mut study, "groups", vec![Scalar::Integer(4), Scalar::Integer(6)]).unwrap();
    study.design.repeats = 2;
    let plan = plan(&study, &host(false), 1);
    assert_eq!((plan.trials.len(), plan.slots.len()), (2, 4));
    let weights: Vec<String> = written(&plan, 1).into_iter().map(|(_, weight)| weight).collect();
    assert_eq!(weights, ["100", "200", "400", "800", "100", "200"]);
}

#[test]
fn groups_are_made_before_knobs_and_knobs_before_workloads() {
    let plan = plan(&study("io-weight"), &host(false), 1);
    let steps = steps(&plan.trials[0]);
    let position = |is_step: &dyn Fn(&Step) -> bool| steps.iter().position(is_step).unwrap();
    let group = position(&|step| matches!(step, Step::MakeGroup(0)));
    let knob = position(&|step| matches!(step, Step::WriteKnob(0, _)));
    let start = position(&|step| matches!(step, Step::Start(..)));
    let last_knob = steps.iter().rposition(|step| matches!(step, Step::WriteKnob(..))).unwrap();
    assert!(group < knob && last_knob < start);
    assert_eq!(steps.first(), Some(&Step::SetUpDisk(0)));
    assert_eq!(steps.last(), Some(&Step::Measure));
}

#[test]
fn each_section_of_a_job_file_goes_to_its_group_and_partition() {
    let plan = plan(&study("io-weight-job"), &host(false), 1);
    assert_eq!(plan.refusals, []);
    for (index, group) in plan.trials[0].groups.iter().enumerate() {
        let workload = &group.workloads[0];
        assert_eq!(workload.job().unwrap().name, group.name);
        assert_eq!(workload.job().unwrap().option("cgroup"), None);
        assert!(workload.taken_over.contains(&format!("cgroup={}", group.name)));
        assert_eq!(workload.place.as_ref().unwrap().part, Part::Mount(index));
    }
}

#[test]
fn each_refusal_is_reported_once_with_its_remedy() {
    let mut study = study("io-weight");
    set_factor(&mut study, "groups", vec![Scalar::Integer(4), Scalar::Integer(6)]).unwrap();
    let mut host = host(false);
    host.schedulers = vec!["none".to_owned()];
    host.tools.insert("fio".to_owned(), tool(false, "fio"));
    let plan = plan(&study, &host, 1);
    let refusals: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.what.as_str()).collect();
    for word in ["`fio` is needed", "scheduler `bfq`"] {
        let count = refusals.iter().filter(|text| text.contains(word)).count();
        assert_eq!(count, 1, "{word}: {refusals:?}");
    }
    assert!(plan.refusals.iter().any(|refusal| refusal.remedy == "apt-get install fio"));
}

/// A user to whom groups of these controllers only were delegated.
fn user(is_v2: bool, delegated: &[&str]) -> HostFacts {
    let mut host = host(is_v2);
    host.root = Available::NotAvailable("this is user 1000".to_owned());
    for name in host.cgroup.controllers.keys() {
        let base = match delegated.contains(&name.as_str()) {
            true => Available::Value(PathBuf::from("/cg/users/1000")),
            false => Available::NotAvailable("needs root, because it was not delegated".to_owned()),
        };
        host.cgroup.bases.insert(name.clone(), base);
    }
    host
}

#[test]
fn each_part_that_needs_root_is_refused() {
    let plan = plan(&study("io-weight"), &user(false, &["io", "cpuacct"]), 1);
    let refusals: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.what.as_str()).collect();
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    assert!(
        refusals[0].contains("a loop device needs root, because the kernel attaches"),
        "{refusals:?}"
    );
    assert!(
        refusals[1].contains("a scheduler or queue setting needs root, because"),
        "{refusals:?}"
    );
    assert!(refusals.iter().all(|text| text.ends_with("this is user 1000")), "{refusals:?}");
}

const IN_A_DIRECTORY: &str = r#"
title = "Less than root"
[disks.data]
use = "directory"
path = "/srv"
size = "8 MiB"
[[groups]]
name = "task"
count = 2
knobs = { "memory.max" = "64M" }
run = "reader"
[workloads.reader]
use = "fio"
args = { rw = "randread", bs = "4k" }
[[promises]]
measure = "io.bytes"
is = "equal"
within = "10 %"
"#;

#[test]
fn a_study_in_a_directory_with_delegated_controllers_needs_no_root() {
    let study = parse("user", IN_A_DIRECTORY, &shipped_file).0.unwrap();
    for is_v2 in [false, true] {
        let plan = plan(&study, &user(is_v2, &["memory", "cpu", "cpuacct"]), 1);
        assert_eq!(plan.refusals, [], "{is_v2}");
        let trial = &plan.trials[0];
        assert!(trial.homes.iter().all(|home| home.base == *"/cg/users/1000"));
        assert_eq!(trial.absent["io"], "needs root, because it was not delegated");
    }
}

#[test]
fn a_knob_of_a_controller_that_was_not_delegated_is_refused_by_name() {
    let study = parse("user", IN_A_DIRECTORY, &shipped_file).0.unwrap();
    let plan = plan(&study, &user(true, &["cpu"]), 1);
    let refusals: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.what.as_str()).collect();
    assert_eq!(
        refusals,
        ["`memory.max` cannot be set: needs root, because it was not delegated"],
        "once for both groups, and nothing else"
    );
}

#[test]
fn a_job_larger_than_its_part_is_refused_with_both_sizes() {
    let mut study = study("io-weight-job");
    let disk = study.disks.get_mut("scratch").unwrap();
    disk.size = Some(Templated::Value(Bytes::mebi(1024)));
    let what = &plan(&study, &host(false), 1).refusals[0].what;
    assert!(what.contains("needs 1 GiB") && what.contains("204 MiB"), "{what}");
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

#[test]
fn a_disk_in_use_is_refused_before_the_run() {
    let mut study = study("io-weight");
    let disk = study.disks.values_mut().next().unwrap();
    disk.source = DiskSource::Block { device: "/dev/sda".to_owned(), erase: None };
    let free = Disk {
        name: "sda".to_owned(),
        size: Bytes::mebi(4096),
        major: 8,
        minor: 0,
        scheduler: None,
        rotational: None,
        nr_requests: None,
        model: None,
        serial: None,
        partitions: Vec::new(),
        holders: Vec::new(),
        backing_file: None,
    };
    let on = |disk: Disk| plan(&study, &HostFacts { disks: vec![disk], ..host(false) }, 1).refusals;
    assert_eq!(on(free.clone()), []);
    for (holder, reason) in [
        (Holder::Mounted("/".into()), "mounted at /"),
        (Holder::Held("dm-0".to_owned()), "part of the device dm-0"),
        (Holder::Swap, "swap space"),
    ] {
        let refused = on(Disk { holders: vec![holder], ..free.clone() });
        assert!(refused[0].what.contains(reason), "{refused:?}");
    }
}

#[test]
fn a_null_blk_that_this_kernel_lacks_is_refused_before_the_run() {
    let mut study = study("io-weight");
    let disk = study.disks.values_mut().next().unwrap();
    disk.source = DiskSource::NullBlk(NullBlk::default());
    let mut host = host(true);
    assert!(plan(&study, &host, 1).refusals.is_empty());
    host.null_blk = Available::NotAvailable("no configfs here".to_owned());
    let refusals = plan(&study, &host, 1).refusals;
    assert!(refusals[0].what.contains("no configfs here"), "{refusals:?}");
    assert!(refusals[0].remedy.contains("assay lab run"), "{refusals:?}");
}

const WITH_SETTINGS: &str = r#"
title = "Settings"
thp = "{thp}"
drop_caches = true
[sysctls]
"vm.dirty_ratio" = 0
"vm.dirty_bytes" = "{bytes}"
[factors]
thp = ["always", "madvise"]
bytes = ["16 MiB"]
[[groups]]
name = "task"
count = 2
run = "compute"
[workloads.compute]
use = "fio"
args = { ioengine = "cpuio", cpuload = 100 }
[[promises]]
measure = "cpu.time"
is = "equal"
within = "10 %"
"#;

fn host_with_settings() -> HostFacts {
    let mut host = host(false);
    for (name, text) in [
        ("vm.dirty_ratio", "20"),
        ("vm.dirty_bytes", "0"),
        ("thp.enabled", "always [madvise] never"),
    ] {
        host.settings.insert(name.to_owned(), Available::Value(text.to_owned()));
    }
    host
}

#[test]
fn settings_come_before_groups_and_implied_ones_are_not_written() {
    let study = parse("settings", WITH_SETTINGS, &shipped_file).0.unwrap();
    let plan = plan(&study, &host_with_settings(), 1);
    assert_eq!(plan.refusals, []);
    let trial = &plan.trials[0];
    let changes: Vec<String> =
        steps(trial).iter().flat_map(|step| step.changes(trial)).take(3).collect();
    assert!(changes[0].contains("`16777216` to /proc/sys/vm/dirty_bytes, now `0`"));
    assert!(changes[0].contains("zeroes vm.dirty_ratio"), "{changes:?}");
    assert!(changes[1].contains("`always`") && changes[1].contains("`madvise`"), "{changes:?}");
    assert!(changes[2].starts_with("mkdir"), "{changes:?}");
    assert!(trial.settings[0].record.implied && !trial.settings[1].record.implied);
    let same = &plan.trials[1];
    assert_eq!(Step::WriteSetting(2).changes(same), [""; 0], "it has the value already");
    let dropped: Vec<Step> =
        steps(trial).into_iter().filter(|step| *step == Step::DropCaches).collect();
    assert!(dropped[0].inverse().contains("cannot be restored"));
}

#[test]
fn a_missing_or_privileged_setting_is_refused() {
    let study = parse("settings", WITH_SETTINGS, &shipped_file).0.unwrap();
    let mut host = host_with_settings();
    host.settings.insert("thp.enabled".to_owned(), Available::NotAvailable("no THP".to_owned()));
    host.settings.insert("vm.dirty_bytes".to_owned(), Available::Value("4096".to_owned()));
    host.root = Available::NotAvailable("this is user 1000".to_owned());
    let refusals: Vec<String> =
        plan(&study, &host, 1).refusals.iter().map(|refusal| refusal.what.clone()).collect();
    for words in
        ["`thp.enabled` cannot be set: no THP", "`vm.dirty_bytes` needs root", "drop_caches"]
    {
        assert!(refusals.iter().any(|what| what.contains(words)), "{words}: {refusals:?}");
    }
}

/// memory-limit with predictions for its two generators.
fn limited(files: &Result<u64, String>, graph: u64) -> Plan {
    let (study, host) = (study("memory-limit"), host(true));
    let commands = prediction_commands(&study, &host);
    assert_eq!(commands.len(), 2, "each once for all limits: {commands:?}");
    let mut predictions = Predictions::default();
    for command in commands {
        assert_eq!(command[2], "--json");
        assert_eq!(command.last().map(String::as_str), Some("--predict"));
        assert!(!command.iter().any(|word| word.contains(['{', '}'])), "{command:?}");
        let result = if command[1] == "graph500" { Ok(graph) } else { files.clone() };
        predictions.add(command, result);
    }
    plan_with(&study, &host, &predictions, 1)
}

#[test]
fn a_limit_may_be_relative_to_the_predicted_footprint() {
    let plan = limited(&Ok(120 << 20), 80 << 20);
    let is_about_memory = |refusal: &&assay_plan::Refusal| refusal.what.contains("memory.max");
    assert_eq!(plan.refusals.iter().find(is_about_memory), None);
    let written: Vec<(String, String)> = plan
        .trials
        .iter()
        .map(|trial| &trial.groups[0].knobs[0].record)
        .map(|record| (record.asked.clone(), record.written.clone()))
        .collect();
    let expected = [("0.6", 120 << 20), ("1.2", 240 << 20), ("2", 400 << 20)]
        .map(|(part, bytes): (&str, u64)| (format!("{part} footprint"), bytes.to_string()));
    assert_eq!(written, expected);
    let note = plan.trials[0].groups[0].knobs[0].record.note.clone().unwrap();
    assert_eq!(note, "0.6 of the predicted footprint of 200.0 MiB");
}

#[test]
fn a_failed_prediction_is_a_refusal() {
    let plan = limited(&Err("no such script".to_owned()), 1 << 20);
    let what = &plan.refusals[0].what;
    assert!(what.contains("`files`") && what.contains("no such script"), "{what}");
    assert!(plan.trials[0].groups[0].knobs.is_empty(), "no knob is written with a guess");
}

#[test]
fn comparisons_and_references_are_part_of_the_plan() {
    let plan = limited(&Ok(120 << 20), 80 << 20);
    assert!(plan.trials.iter().all(|trial| trial.promises.is_empty()));
    assert_eq!(plan.comparisons.len(), 2);
    let AcrossRecord::Equal { over, within, .. } = &plan.comparisons[0].is else {
        panic!("{:?}", plan.comparisons[0]);
    };
    assert_eq!((over.as_str(), *within), ("limit", 0.1));
    // The study writes 2.0, and so do its trials: levels are compared as JSON values.
    let level = &plan.references[1].under["limit"];
    assert_eq!(level, &serde_json::to_value(&plan.trials[2].factors["limit"]).unwrap());
}

/// A host with every scheduler.
fn with_schedulers() -> HostFacts {
    let schedulers = ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).to_vec();
    HostFacts { schedulers, ..host(false) }
}

/// Queue attributes of a loop disk under BFQ as set by `io-weight`.
fn bfq(attribute: &str) -> Option<String> {
    let value = match attribute {
        "scheduler" => "bfq",
        "nr_requests" => "256",
        "rotational" | "iosched/low_latency" | "iosched/strict_guarantees" => "0",
        "iosched/slice_idle" => "8",
        "iosched/max_budget" => "512",
        _ => return None,
    };
    Some(value.to_owned())
}

fn candidate_names(study: &Study, scope: &Scope) -> Vec<String> {
    candidates(study, &with_schedulers(), &bfq, scope)
        .into_iter()
        .map(|setting| setting.name)
        .collect()
}

fn scope(keep: &[&str], also: &[&str]) -> Scope {
    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Scope { keep: texts(keep), also: texts(also) }
}

#[test]
fn a_disk_under_bfq_has_candidates_for_bfq_requests_and_schedulers() {
    let study = study("io-weight");
    let names = candidate_names(&study, &Scope::default());
    for name in [
        "max_budget=64",
        "strict_guarantees=1",
        "slice_idle=2",
        "nr_requests=1024",
        "nr_requests=2048",
        "nr_requests=64",
        "rotational=1",
        "scheduler=none",
        "defaults",
        "weights/10",
    ] {
        assert!(names.iter().any(|one| one == name), "{name} is missing in {names:?}");
    }
    // Current values and parts of the question are not tried.
    for name in ["low_latency=0", "slice_idle=8", "scheduler=bfq", "iodepth/4"] {
        assert!(!names.iter().any(|one| one == name), "{name} is in {names:?}");
    }
}

#[test]
fn excluded_settings_are_not_tried_and_iodepth_is_on_request() {
    let study = study("io-weight");
    let scope = scope(&["scheduler", "nr_requests", "max_budget=64", "weights"], &["iodepth"]);
    let names = candidate_names(&study, &scope);
    assert!(names.iter().any(|one| one == "iodepth/4"), "{names:?}");
    assert!(names.iter().any(|one| one == "max_budget=2048"), "{names:?}");
    for word in ["scheduler", "nr_requests", "max_budget=64", "weights"] {
        assert!(!names.iter().any(|one| one.starts_with(word)), "{word} is in {names:?}");
    }
}

#[test]
fn a_cpu_study_has_candidates_for_cpus_and_weights_only() {
    let study = study("cpu-weight");
    assert_eq!(candidate_names(&study, &Scope::default()), ["cpus=0", "weights/10", "weights*10"]);
}

#[test]
fn two_settings_combine_unless_they_change_the_same_thing() {
    let study = study("io-weight");
    let factors = combinations(&study).remove(0);
    let all = candidates(&study, &with_schedulers(), &bfq, &Scope::default());
    let setting = |name: &str| all.iter().find(|setting| setting.name == name).unwrap();
    let both = setting("max_budget=64").with(setting("nr_requests=1024")).unwrap();
    assert_eq!(both.name, "max_budget=64 + nr_requests=1024");
    let changed = both.apply(&study, &factors).unwrap();
    let text = format!("{:?}", changed.disks["scratch"].queue);
    assert!(text.contains("Integer(64)") && text.contains("Integer(1024)"), "{text}");
    assert_eq!(setting("max_budget=64").with(setting("max_budget=0")), None);
    assert_eq!(setting("max_budget=64").with(setting("scheduler=none")), None);
    assert_eq!(setting("defaults").with(setting("nr_requests=64")), None);
    assert_eq!(Setting::unchanged().with(setting("nr_requests=64")), None);
}

/// Two nodes with two CPUs and a gibibyte each.
fn host_of_two_nodes() -> HostFacts {
    let node = |id, cpus: &str, distances| Node {
        id,
        cpus: cpus.parse().unwrap(),
        memory: Bytes::mebi(1024),
        distances,
        access: Vec::new(),
    };
    HostFacts {
        nodes: vec![node(0, "0-1", vec![10, 20]), node(1, "2-3", vec![20, 10])],
        memory_nodes: "0-1".parse().unwrap(),
        cpus: Cpus {
            online: "0-3".parse().unwrap(),
            allowed: "0-3".parse().unwrap(),
            model: String::new(),
            cores: ["0", "1", "2", "3"].map(|cpu| cpu.parse().unwrap()).into(),
        },
        kernel: "6.12.0".to_owned(),
        ..host(true)
    }
}

fn measures(plan: &Plan, trial: usize) -> Vec<&str> {
    plan.trials[trial].promises.iter().map(|promise| promise.measure.as_str()).collect()
}

#[test]
fn each_trial_has_the_promises_of_its_program() {
    let placement = plan(&study("numa-placement"), &host_of_two_nodes(), 1);
    let refusals: Vec<&str> = placement.refusals.iter().map(|one| one.what.as_str()).collect();
    assert!(!refusals.iter().any(|what| what.contains("NUMA nodes")), "{refusals:?}");
    assert_eq!(placement.trials.len(), 13, "two programs, six placements, and the matrix once");
    for (index, trial) in placement.trials.iter().enumerate() {
        let program = trial.factors["program"].to_string();
        assert_eq!(trial.groups[0].workloads[0].name, format!("task.{program}"));
        let expected: &[&str] = if program == "matrix" { &[] } else { &["threads", "pages"] };
        assert_eq!(measures(&placement, index), expected, "{program}");
    }
    let flags = plan(&study("numa-local-remote"), &host_of_two_nodes(), 1);
    assert_eq!(flags.trials.len(), 5);
    for (index, trial) in flags.trials.iter().enumerate() {
        let is = |name: &str| trial.factors[name] == Scalar::Boolean(true);
        let program = trial.factors["program"].to_string();
        let expected: &[&str] = match program.as_str() {
            "matrix" => &["matrix.far_to_near_load"],
            _ if is("local") || is("remote") => &["pages", "copy.nodes_seen"],
            _ => &["pages"],
        };
        assert_eq!(measures(&flags, index), expected, "{:?}", trial.factors);
    }
}

#[test]
fn numa_studies_are_refused_on_one_node_with_a_remedy() {
    for name in ["numa-placement", "numa-misplaced", "numa-mix", "numa-local-remote"] {
        let plan = plan(&study(name), &host(true), 1);
        let nodes = plan.refusals.iter().find(|one| one.what.contains("needs NUMA nodes"));
        let nodes = nodes.unwrap_or_else(|| panic!("{name}: {:?}", plan.refusals));
        assert!(nodes.remedy.contains("assay lab run"), "{name}: {nodes:?}");
    }
}
