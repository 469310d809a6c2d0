//! `assay compare` on real runs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::Bench;
use crate::running::Ended;
use crate::study::Weights;
use assay_test_support::skip;

fn compare(bench: &Bench, words: &[&str]) -> (Ended, Value) {
    let ended = bench.assay(["compare"].iter().chain(words).chain(&["-ojson"]));
    let document = serde_json::from_str(&ended.stdout).unwrap_or(Value::Null);
    (ended, document)
}

fn run_into(bench: &Bench, study: &Path, name: &str) -> PathBuf {
    let out = bench.path("runs").join(name);
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(&out);
    bench.finish(command).assert_verdict();
    out
}

#[test]
fn the_same_run_is_equal_and_other_weights_are_named() {
    let Some(bench) = Bench::on_host("comparing runs") else { return };
    let text = Weights { groups: 2, at_most: "1500 ms", ..Weights::small() }.text();
    let weights = text.replace("[100, 200, 400, 800]", "[100, 800]");
    let even = text.replace("[100, 200, 400, 800]", "[100, 100]");
    assert!(weights != even && weights != text, "the weights are where this test looks for them");
    run_into(&bench, &bench.write("study.toml", &weights), "a");
    // Fewer starts give no bounds.
    let even = bench.write("study.toml", &even.replace("repeats = 1", "repeats = 8"));
    let b = run_into(&bench, &even, "b");

    // Equal weights, since a light group's share varies most, and a wide margin for other load. On a busy
    // host repeats may differ too much for a verdict, but a run must never differ from itself.
    let (same, document) = compare(&bench, &["runs/b", "runs/b", "--within", "60%"]);
    match document["verdict"].as_str() {
        Some("equal") => same.assert_code(0),
        Some("undecided" | "not_comparable") => {
            assert!(matches!(same.status.code(), Some(2 | 3)), "{}", same.stderr);
            skip("a run is equal to itself", document["reason"].as_str().unwrap());
        }
        _ => panic!("{document:#}"),
    }

    let (ended, document) = compare(&bench, &["runs/a", "runs/b", "--report", "page.html"]);
    assert!(matches!(ended.status.code(), Some(1..=3)), "{document:#}");
    let differences = document["differences"].as_array().unwrap();
    assert!(differences.iter().any(|one| one["what"] == "knob io.weight"), "{differences:?}");
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.contains("knob io.weight"));

    bench.assert_host_is_as_before("after comparing");
    let manifest = fs::read_to_string(b.join("manifest.json")).unwrap();
    let newer = manifest.replacen("\"schema\": 1", "\"schema\": 7", 1);
    fs::write(b.join("manifest.json"), newer).unwrap();
    let ended = bench.assay(["compare", "runs/a", "runs/b"]);
    ended.assert_code(2);
    ended.assert_says(&["is of schema 7, by assay"]);
}
