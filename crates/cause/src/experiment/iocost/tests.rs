//! Measurements on a host that replays a recorded run, whose loads therefore all have the same numbers.

use std::collections::BTreeMap;

use assay_sys::files::Trust;
use assay_test_support::hosts::host;

use super::*;
use crate::replay::{context, fault};
use crate::transcript::Transcript;

fn options(out: &std::path::Path, disk: &str) -> IoCostOptions {
    IoCostOptions {
        disk: disk.parse().unwrap(),
        erase: None,
        length: Duration::from_secs(100),
        proof: StudyChoice::named("io-weight"),
        destination: Destination { out: Some(out.to_owned()), trust: Trust::Checked },
    }
}

/// On cgroup v2, where iocost is, or on v1.
fn measured(v2: bool) -> (IoCostMeasured, usize, tempfile::TempDir) {
    let temp = tempfile::tempdir().unwrap();
    let (mut context, replayed) = context(&fault("one-cpu"), &temp);
    context.facts = Some(host(v2));
    let options = options(&temp.path().join("out"), "loop:64MiB");
    let measured = measure_iocost(&context, &options, &mut Transcript::default()).unwrap();
    let repeats = replayed.borrow().len();
    (measured, repeats, temp)
}

/// The recorded run has only read: 2744.6 requests and some 11 MB a second.
#[test]
fn every_load_runs_once_and_what_is_missing_is_named() {
    let (measured, repeats, temp) = measured(false);
    let found = &measured.found;
    let seen: Vec<(&str, f64)> =
        found.measured.iter().map(|(key, value)| (key.as_str(), value.round())).collect();
    let expected =
        [("rbps", 11_241_886.0), ("rlat", 506.0), ("rrandiops", 2745.0), ("rseqiops", 2745.0)];
    assert_eq!(seen, expected);
    // A loop device says that it rotates: half of the requests may take longer.
    assert_eq!(found.percentile, 50);
    let model = "ctrl=user model=linear rbps=11241886 rseqiops=2745 rrandiops=2745";
    assert!(found.model.as_ref().unwrap().ends_with(model), "{:?}", found.model);
    let qos = "enable=1 ctrl=user rpct=50.00 rlat=759 wpct=0.00 wlat=0 min=60.00 max=100.00";
    assert!(found.qos.as_ref().unwrap().ends_with(qos), "{:?}", found.qos);
    // The eighth load has no rate to follow, and there is no proof on cgroup v1.
    assert_eq!(repeats, 7);
    let why = |what: &str| found.not_available[what].as_str();
    assert!(why("wlat").contains("follows from wrandiops"), "{}", why("wlat"));
    assert!(why("wbps").contains("no number"), "{}", why("wbps"));
    assert!(why("proof").contains("cgroup v1"), "{}", why("proof"));
    assert_eq!((measured.code, found.ended_early), (Code::Kept, false));
    assert!(temp.path().join("out/iocost.json").is_file());
    let manifest = measured.folder.read_manifest().unwrap();
    let loads: Vec<_> = manifest.trials.iter().map(|trial| &trial.factors["load"]).collect();
    assert_eq!(loads, ["wbps", "wseqiops", "wrandiops", "rbps", "rseqiops", "rrandiops", "rlat"]);
}

#[test]
fn where_the_host_has_iocost_a_study_of_weights_follows_under_the_measured_lines() {
    let (measured, repeats, _temp) = measured(true);
    assert_eq!(repeats, 7 + PROOFS as usize);
    let proof = measured.found.proof.as_ref().unwrap();
    assert_eq!((proof.study.as_str(), proof.repeats), ("io-weight", PROOFS as usize));
    assert_eq!(measured.code, proof.verdict.code());
    assert!(!measured.found.not_available.contains_key("proof"));
}

#[test]
fn a_disk_of_the_user_is_written_to_only_with_permission() {
    let loads = |disk: &str, erase: Option<&str>| loads_for(&disk.parse().unwrap(), erase).len();
    assert_eq!((loads("/dev/sdb", None), loads("/dev/sdb", Some("ext4"))), (4, 8));
    assert_eq!((loads("loop:1GiB", None), loads("null_blk:iops=500", None)), (8, 8));
}

/// It was called a mistake of `--disk` and of `--scheduler`, which nobody had written.
#[test]
fn a_study_without_a_disk_is_no_proof() {
    let temp = tempfile::tempdir().unwrap();
    let (context, replayed) = context(&fault("one-cpu"), &temp);
    let options = IoCostOptions {
        proof: StudyChoice::named("cpu-weight"),
        ..options(&temp.path().join("out"), "loop:64MiB")
    };
    let error = measure_iocost(&context, &options, &mut Transcript::default()).unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("--iocost: the study `cpu-weight` cannot prove"), "{said}");
    assert!(said.contains("the study has no disk\n  hint: ") && !said.contains("--disk"), "{said}");
    assert_eq!((error.code, error.findings.is_none()), (Code::Usage, true));
    assert!(replayed.borrow().is_empty() && !temp.path().join("out").exists());
}

#[test]
fn a_disk_that_the_host_lacks_is_refused_before_a_folder_is_made() {
    let temp = tempfile::tempdir().unwrap();
    let (context, replayed) = context(&fault("one-cpu"), &temp);
    let out = temp.path().join("out");
    let error = measure_iocost(&context, &options(&out, "/dev/none"), &mut Transcript::default());
    let error = error.unwrap_err();
    assert_eq!((error.code, error.note.as_deref()), (Code::Host, Some("nothing was touched")));
    assert!(error.to_string().contains("/dev/none"), "{error}");
    assert!(replayed.borrow().is_empty() && !out.exists());
}

/// The lines are what the tables of knobs accept, whatever was measured.
#[test]
fn lines_are_accepted_by_the_table_of_knobs() {
    let both: BTreeMap<String, f64> = [
        ("rbps", 1.9e9),
        ("rseqiops", 1e5),
        ("rrandiops", 9e4),
        ("rlat", 812.0),
        ("wbps", 1e9),
        ("wseqiops", 8e4),
        ("wrandiops", 7e4),
        ("wlat", 1912.0),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    let reads = both.clone().into_iter().filter(|(key, _)| key.starts_with('r')).collect();
    for values in [both, reads] {
        let model = model_line("8:0", &model_words(&values).unwrap());
        let qos = qos_line("8:0", &qos_words(&values, percentile(true)));
        for (knob, line) in [("io.cost.model", model), ("io.cost.qos", qos)] {
            assay_host::knob::find(knob).unwrap().check(&line).unwrap();
        }
    }
}
