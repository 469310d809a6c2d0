//! The program of docs/notebook.md, compared with Assay's verdict on the same run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::{blocks, made_up, python};
use crate::bench::Bench;
use crate::running::json;
use assay_test_support::{entries, skip};

/// Runs the program on the run of this test. `None`, printed and counted as skipped, without Polars.
fn by_hand(bench: &Bench) -> Option<Output> {
    let python = match python() {
        Ok(python) => python,
        Err(why) => {
            skip("the program in docs/notebook.md", &why);
            return None;
        }
    };
    let script = bench.write("by_hand.py", &blocks("notebook.md").join("\n"));
    Some(Command::new(python).arg(script).current_dir(bench.folder()).output().unwrap())
}

/// Asserts that the program gives the verdict in the run folder of this test, number by number.
#[track_caller]
pub(crate) fn assert_recomputed(bench: &Bench) {
    let Some(ran) = by_hand(bench) else { return };
    let (out, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{error}");
    let verdict = json(&bench.out().join("verdict.json"));
    let last = out.lines().last().unwrap_or_default();
    let (word, rest) = last.split_once(": ").unwrap_or_default();
    assert_eq!(Some(word), verdict["verdict"].as_str(), "{out}");
    let compared: usize = rest.split(' ').next().unwrap().parse().unwrap();
    let groups = verdict["trials"].as_array().unwrap().iter();
    let groups = groups.flat_map(|trial| trial["promises"].as_array().unwrap());
    let groups: usize = groups.map(|promise| promise["groups"].as_array().unwrap().len()).sum();
    // At least the expected and observed share, both ends and the verdict of each.
    assert!(compared > 5 * groups, "{compared} of {groups} groups: {out}");
}

/// Recorded runs of the tree: each has one repeat and a fault that makes it void.
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

#[test]
fn the_numbers_of_every_recorded_run_are_those_of_the_page() {
    let recordings = recordings();
    assert!(recordings.len() >= 7, "{recordings:?}");
    for recording in recordings {
        let bench = Bench::aside();
        copy(&recording, &bench.out());
        bench.assay(["judge", "run"]).assert_code(3);
        assert_recomputed(&bench);
    }
}

#[test]
fn verdicts_of_made_up_runs_are_those_of_the_page_and_a_changed_digit_is_found() {
    let bench = Bench::aside();
    let words = made_up::write(&bench.out());
    // Promises are broken, and a workload of one repeat has failed.
    bench.assay(["judge", "run"]).assert_code(5);
    let path = bench.out().join("verdict.json");
    let verdict = json(&path);
    let trials = verdict["trials"].as_array().unwrap();
    let other = trials.iter().zip(&words).filter_map(|(trial, (what, word))| {
        let (found, reason) = (&trial["verdict"], &trial["promises"][0]["reason"]);
        (found.as_str() != Some(*word)).then(|| format!("{what}: {found}, {reason}"))
    });
    assert_eq!(other.collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(trials.len(), words.len());
    assert_recomputed(&bench);

    // No report prints more than five digits.
    let mut changed = verdict;
    let low = &mut changed["trials"][0]["promises"][0]["groups"][1]["low"];
    *low = Value::from(low.as_f64().unwrap() * (1.0 + 1e-6));
    fs::write(&path, changed.to_string()).unwrap();
    let Some(ran) = by_hand(&bench) else { return };
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && stderr.contains("task2 low"), "{stderr}");
}
