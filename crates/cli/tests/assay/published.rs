//! Studies with the sizes of the documents that they repeat: each starts, or says exactly what is missing.

use serde_json::Value;

use crate::bench::Bench;

/// The studies of the founding documents.
const FOUNDING: [&str; 12] = [
    "io-weight",
    "io-weight-job",
    "io-weight-ycsb",
    "io-weight-scaling",
    "memory-limit",
    "numa-placement",
    "numa-local-remote",
    "cache-ladder",
    "page-cache",
    "cache-drop",
    "writeback",
    "smt",
];

/// What a host may lack, in the words of a refusal. Anything else is a mistake of the study.
const MISSING: [&str; 10] = [
    "NUMA node",
    "(SMT)",
    "cores; this host has",
    "the images of the disks take",
    "of memory for themselves",
    "no disk of this host offers the scheduler `bfq`",
    "needs root",
    "not found",
    "no group can be made",
    "cannot be set",
];

#[test]
fn each_founding_study_starts_at_its_published_size_or_says_what_is_missing() {
    let bench = Bench::aside();
    for study in FOUNDING {
        let ended = bench.assay(["check", study, "--published", "-ojson"]);
        let document: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{study}: {error}: {}", ended.stderr));
        let refusals = document["refusals"].as_array().unwrap();
        assert_eq!(ended.status.code(), Some(if refusals.is_empty() { 0 } else { 4 }), "{study}");
        for refusal in refusals {
            let (what, remedy) = (refusal["what"].as_str().unwrap(), &refusal["remedy"]);
            assert!(MISSING.iter().any(|one| what.contains(one)), "{study}: {what}");
            assert!(remedy.as_str().is_some_and(|text| !text.is_empty()), "{study}: {what}");
        }
        let windows = document["needs"]["windows_s"].as_f64().unwrap();
        assert!(windows > 1.0, "{study}: {document:#}");
    }
}

#[test]
fn a_study_of_swap_is_planned_or_says_what_this_host_lacks() {
    let bench = Bench::aside();
    let ended = bench.assay(["check", "memory-swap", "-ojson"]);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let refusals = document["refusals"].as_array().unwrap();
    assert_eq!(ended.status.code(), Some(if refusals.is_empty() { 0 } else { 4 }), "{document:#}");
    for refusal in refusals {
        let what = refusal["what"].as_str().unwrap();
        assert!(
            ["memory.swap.max", "memory.high", "swap"].iter().any(|one| what.contains(one)),
            "{what}"
        );
    }
}

#[test]
fn what_a_published_size_needs_is_said_before_the_run() {
    let bench = Bench::aside();
    let text = bench.assay(["check", "io-weight-job", "--published"]).stdout;
    assert!(text.contains("5184 MiB for images in the run folder"), "{text}");
    assert!(text.contains("at most 9 h of windows"), "{text}");
    let none = bench.assay(["check", "cpu-quota", "--published"]);
    none.assert_code(2);
    none.assert_says(&["no [published]", "hint: leave `--published` out"]);
}
