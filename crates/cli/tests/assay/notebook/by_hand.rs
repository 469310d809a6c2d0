//! `tests/python/rule.py`, which computes the rule of docs/judging.md without Assay, on the same runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_record::run_folder::{Run, RunFolder};
use serde_json::Value;

use crate::bench::Bench;
use crate::running::json;
use assay_test_support::entries;

/// Asserts that the program finds the numbers and the verdicts in the run folder of this test.
#[track_caller]
pub(crate) fn assert_recomputed(bench: &Bench) {
    let compared = recomputed(bench);
    assert!(compared > 0, "no promise on means");
}

/// The number of promises that were compared.
#[track_caller]
pub(crate) fn recomputed(bench: &Bench) -> usize {
    bench.assay(["report", "run", "--as", "csv", "--out", "by-hand"]).assert_code(0);
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/python/rule.py");
    let mut python = Command::new("python3");
    python.arg(program).arg(bench.out()).arg(bench.path("by-hand").join("samples.csv"));
    let ran = python.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{error}");
    let verdict = json(&bench.out().join("verdict.json"));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        let trial = &verdict["trials"][line["trial"].as_u64().unwrap() as usize];
        let promises = trial["promises"].as_array().unwrap();
        let is_same = |one: &&Value| ["measure", "is"].iter().all(|key| one[*key] == line[*key]);
        compare(line, promises.iter().find(is_same).unwrap());
    }
    lines.len()
}

/// Every number to nine digits; no report prints more than five.
#[track_caller]
fn compare(line: &Value, promise: &Value) {
    let near = |found: &Value, wanted: &Value, what: &str| match (found.as_f64(), wanted.as_f64()) {
        (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-9 * b.abs() + 1e-15, "{what}: {a} {b}"),
        _ => assert_eq!(found, wanted, "{what}"),
    };
    let was = &promise["was"];
    assert_eq!((&line["inside"], &line["of"]), (&was["repeats_kept"], &was["repeats"]));
    near(&line["another_at_least"], &was["another_at_least"], "another start");
    let groups = promise["groups"].as_array().unwrap();
    for (found, group) in line["groups"].as_array().unwrap().iter().zip(groups) {
        for (index, name) in ["name", "share", "low", "high"].into_iter().enumerate() {
            near(&found[index], &group[name], name);
        }
    }
    // A check may void it, and a missing repeat forbid kept.
    if promise["verdict"] == "kept" || promise["verdict"] == "broken" {
        assert_eq!(line["verdict"], promise["verdict"], "{promise}");
    }
}

/// Recorded runs of the tree: each has one repeat and a fault.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let faults = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults");
    entries(&faults).into_iter().filter(|path| path.join("manifest.json").is_file()).collect()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in entries(from) {
        let there = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &there),
            false => drop(fs::copy(&path, there).unwrap()),
        }
    }
}

/// Repeats the only repeat of a recording so often, each with another end.
fn repeat(folder: &Path, times: usize) {
    let mut run = Run::load(folder).unwrap();
    let trial = &mut run.manifest.trials[0];
    let first = trial.repeats[0].clone();
    trial.repeats.clear();
    for number in 0..times {
        let samples = format!("trial-00-repeat-{number:02}");
        let place = folder.join("samples").join(&samples);
        if samples != first.samples {
            copy(&folder.join("samples").join(&first.samples), &place);
        }
        let mut record = first.clone();
        record.stopped_ns -= 137_000_000 * number as u64;
        record.samples = samples;
        trial.repeats.push(record);
    }
    RunFolder::open(folder).unwrap().write_manifest(&run.manifest).unwrap();
}

#[test]
fn the_numbers_of_recorded_runs_are_those_of_the_rule() {
    let recordings = recordings();
    assert!(recordings.len() >= 7, "{recordings:?}");
    let mut compared = 0;
    for recording in recordings {
        for times in [1, 10] {
            let bench = Bench::aside();
            copy(&recording, &bench.out());
            if times > 1 {
                repeat(&bench.out(), times);
            }
            bench.assay(["judge", "run"]);
            compared += recomputed(&bench);
        }
    }
    assert!(compared >= 10, "{compared} promises");
}
