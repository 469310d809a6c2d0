//! Plans of the same studies for different hosts.

#![allow(clippy::unwrap_used, reason = "a shipped study that does not parse fails the test")]

mod candidates;
mod knobs;
mod nodes;
mod published;
mod refusals;
mod settings;

use std::path::PathBuf;

use assay_host::facts::{Available, Cpus, Disk, Hierarchy, Holder, HostFacts, Node, Scheduler};
use assay_record::run_folder::{AcrossRecord, RelationRecord};
use assay_study::plan::{
    Part, Plan, Predictions, Scope, Setting, candidates, changes, check_keep, plan, plan_with,
    prediction_commands, script,
};
use assay_study::{
    DiskSource, NullBlk, Scalar, Study, Templated, combinations, parse, parse_published,
    set_factor, shipped, shipped_file,
};
use assay_sys::units::Bytes;
use assay_test_support::hosts::{host, tool, unused_disk};

fn study(name: &str) -> Study {
    let shipped = shipped().iter().find(|study| study.name == name).unwrap();
    parse(name, shipped.text, &shipped_file).0.unwrap()
}

/// With the sizes of the document that it repeats.
fn published(name: &str) -> Study {
    let shipped = shipped().iter().find(|study| study.name == name).unwrap();
    parse_published(name, shipped.text, &shipped_file).0.unwrap()
}

fn written(plan: &Plan, trial: usize) -> Vec<(String, String)> {
    let groups = plan.trials[trial].groups.iter();
    groups
        .flat_map(|group| &group.knobs)
        .map(|knob| (knob.record.file.clone(), knob.record.written.clone()))
        .collect()
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
    let plan = plan(&study("io-weight-job"), &host(false), 1);
    let changes = changes(&plan.trials[0]);
    let of = |part: &'static str| {
        let places = changes.iter().enumerate().filter(move |(_, one)| one.change.contains(part));
        places.map(|(place, _)| place)
    };
    assert!(of("mkfs").next() < of("mkdir /cg").next());
    assert!(of("mkdir /cg").next() < of("bfq.weight").next());
    assert!(of("bfq.weight").next_back() < of("exec \"$@\"").next());
    let script = script(&plan.trials[0]);
    let place = |part: &str| script.find(part).unwrap_or_else(|| panic!("no {part} in {script}"));
    for (first, second) in
        [("\nkill", "\nrmdir"), ("\numount", "\nlosetup --detach"), ("\nlosetup --detach", "\nrm ")]
    {
        assert!(place(first) < place(second), "{first}, {second}: {script}");
    }
}

/// The mark of what the shell expands is none in a study.
#[test]
fn no_text_of_a_study_is_left_to_the_shell() {
    let mut study = study("io-weight");
    for workload in study.workloads.values_mut() {
        let assay_study::Tool::Fio { args } = &mut workload.tool else { continue };
        let evil = Templated::Value(Scalar::Text("\u{1}$(reboot)\u{1}".to_owned()));
        args.push(("description".to_owned(), evil));
    }
    let script = script(&plan(&study, &host(false), 1).trials[0]);
    assert!(script.contains("'--description=$(reboot)'"), "{script}");
}

/// fio 3.33 reads `bs=4 KiB` as 4 bytes, and `bs=4KiB` as 4000.
#[test]
fn amounts_of_fio_have_the_units_of_a_study() {
    let mut study = study("io-weight");
    for workload in study.workloads.values_mut() {
        let assay_study::Tool::Fio { args } = &mut workload.tool else { continue };
        let value = |text: &str| Templated::Value(Scalar::Text(text.to_owned()));
        args.retain(|(option, _)| option != "bs");
        args.push(("bs".to_owned(), value("4 KiB,8KiB,2k")));
    }
    let plan = plan(&study, &host(false), 1);
    let job = plan.trials[0].groups[0].workloads[0].job();
    assert_eq!(job.unwrap().option("bs"), Some("4096,8192,2k"));
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
        assert_eq!(workload.storage.as_ref().unwrap().part, Part::Mount(index));
    }
}

#[test]
fn comparisons_and_references_are_part_of_the_plan() {
    let plan = settings::limited(&Ok(120 << 20), 80 << 20);
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
