//! Settings of the host, and limits relative to a footprint.

use crate::*;

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
pub(crate) fn limited(files: &Result<u64, String>, graph: u64) -> Plan {
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
