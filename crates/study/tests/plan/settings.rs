//! Settings of the host, and limits relative to a footprint.

use assay_study::DiskSize;
use assay_study::plan::Footprint;

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
    let all = changes(trial);
    let changes: Vec<&str> = all.iter().map(|planned| planned.change.as_str()).collect();
    // The kernel zeroes its rival, which therefore restores it.
    assert!(changes[0].starts_with("kept0=$(sed "), "{changes:?}");
    assert!(changes[0].ends_with(" /proc/sys/vm/dirty_ratio)"), "{changes:?}");
    assert_eq!(changes[1], "echo 16777216 > /proc/sys/vm/dirty_bytes");
    assert_eq!(all[1].inverse, "echo \"$kept0\" > /proc/sys/vm/dirty_ratio");
    // And recomputes what is therefore restored after it.
    assert!(changes[3].starts_with("echo always > "), "{changes:?}");
    assert!(all[3].inverse.starts_with("echo madvise > "), "{all:?}");
    assert!(
        all[3].inverse.ends_with("; echo \"$kept2\" > /proc/sys/vm/min_free_kbytes"),
        "{all:?}"
    );
    assert!(changes[4].starts_with("mkdir"), "{changes:?}");
    assert!(trial.settings[0].record.implied && !trial.settings[1].record.implied);
    let of_thp = |trial| {
        super::changes(trial)
            .into_iter()
            .any(|planned| planned.change.contains("/transparent_hugepage/"))
    };
    assert!(of_thp(trial) && !of_thp(&plan.trials[1]), "it has the value already");
    assert!(all.iter().any(|planned| planned.change.ends_with("cannot be restored")));
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
        let result = result.map(|memory| Footprint { memory, files: 0, own: memory });
        predictions.add(command, result);
    }
    plan_with(&study, &host, &predictions, 1)
}

#[test]
fn a_limit_may_be_relative_to_the_predicted_footprint() {
    let plan = limited(&Ok(120 << 20), 80 << 20);
    let is_about_memory =
        |refusal: &&assay_study::plan::Refusal| refusal.what.contains("memory.max");
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

/// A shipped study on a disk of 1 GiB, whose generators all predict files of this size.
fn with_files(name: &str, bytes: u64) -> Plan {
    let (mut study, host) = (study(name), host(true));
    let disk = study.disks.values_mut().next().unwrap();
    disk.size = Some(Templated::Value(DiskSize::Fixed(Bytes::mebi(1024))));
    let mut predictions = Predictions::default();
    for command in prediction_commands(&study, &host) {
        predictions.add(command, Ok(Footprint { memory: 1 << 20, files: bytes, own: 1 << 20 }));
    }
    plan_with(&study, &host, &predictions, 1)
}

fn about_room(plan: &Plan) -> Vec<String> {
    let refusals = plan.refusals.iter().filter(|refusal| refusal.what.contains("has room for"));
    refusals.map(|refusal| format!("{}\n{}", refusal.what, refusal.remedy)).collect()
}

#[test]
fn files_that_do_not_fit_the_disk_are_refused_with_the_size_that_they_need() {
    // One generator of the two makes files: 80 % of 1 GiB is left by the file system.
    // The archive takes 64 MiB.
    assert_eq!(about_room(&with_files("memory-limit", 300 << 20)), [""; 0]);
    let refused = about_room(&with_files("memory-limit", 1000 << 20));
    assert_eq!(refused.len(), 1, "{refused:?}");
    let refusal = &refused[0];
    for words in [
        "disk `scratch` create files of 1064 MiB",
        "has room for 819 MiB",
        "size = \"auto\"",
        "(`--disk loop:",
        "1344 MiB",
    ] {
        assert!(refusal.contains(words), "{words}: {refusal}");
    }
}

#[test]
fn preparations_and_fio_files_need_room_beside_each_other() {
    // Loading and running each predict; four jobs of fio have 128 MiB each.
    let fits = with_files("io-weight-ycsb", 100 << 20);
    assert_eq!(about_room(&fits), [""; 0]);
    assert_eq!(about_room(&with_files("io-weight-ycsb", 900 << 20)).len(), 1);
}

/// A study whose disk follows from its workloads, with this many files and this command beside them.
fn following(command: &str) -> Plan {
    let text = format!(
        "title = \"t\"\nquestion = \"q\"\n[disks.d]\nuse = \"loop\"\nsize = \"auto\"\nformat = \"ext4\"\n\
         [factors]\nfiles = [100, 200]\n[[groups]]\nname = \"g\"\nrun = [\"files\", \"job\", \"copy\"]\n\
         [workloads.files]\nuse = \"filebench\"\nargs = {{ script = \"fileserver\", nfiles = \"{{files}}\" }}\n\
         [workloads.job]\nuse = \"fio\"\nargs = {{ rw = \"read\", bs = \"4k\", size = \"512m\" }}\n{command}"
    );
    let (study, findings) = parse("t", &text, &shipped_file);
    assert!(study.is_some(), "{findings:?}");
    let study = study.unwrap();
    let host = host(true);
    let mut predictions = Predictions::default();
    for command in prediction_commands(&study, &host) {
        let few = command.iter().any(|word| word == "nfiles=100");
        let files = if few { 1 << 20 } else { 1 << 30 };
        predictions.add(command, Ok(Footprint { memory: 1 << 20, files, own: 1 << 20 }));
    }
    plan_with(&study, &host, &predictions, 1)
}

#[test]
fn a_disk_follows_from_the_files_of_the_trial_that_needs_most() {
    let copy = "[workloads.copy]\nuse = \"command\"\ncommand = [\"cp\", \"x\", \"{directory}\"]\n";
    let plan = following(&format!("{copy}creates = \"300 MiB\"\n"));
    assert_eq!(about_room(&plan), [""; 0]);
    // 1024 + 512 + 300 MiB are less than three equal shares for the job of fio would be; the file
    // system leaves 80 %.
    let sizes: Vec<u64> = plan.trials.iter().map(|trial| trial.disks[0].size.get() >> 20).collect();
    assert_eq!(sizes, [2304; 2], "the same disk in both trials");
    let unknown = following(copy);
    let refusal = &unknown.refusals[0];
    assert!(refusal.what.contains("g.copy") && refusal.remedy.contains("creates ="), "{refusal:?}");
}
