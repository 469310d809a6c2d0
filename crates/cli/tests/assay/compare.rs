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

fn run_into(bench: &Bench, study: &Path, name: &str, more: &[&str]) -> PathBuf {
    let out = bench.path("runs").join(name);
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(&out).args(more);
    bench.finish(command).assert_verdict();
    out
}

#[test]
fn the_same_run_is_equal_and_other_weights_differ() {
    let Some(bench) = Bench::on_host("comparing runs") else { return };
    let study = |name: &str, text: &str| bench.write(name, text);
    // Fewer starts give no bounds.
    let text = Weights { groups: 2, at_most: "1500 ms", ..Weights::small() }.text();
    let text = text.replace("repeats = 1", "repeats = 8");
    let weights = text.replace("[100, 200, 400, 800]", "[100, 800]");
    let even = text.replace("[100, 200, 400, 800]", "[100, 100]");
    assert!(weights != even && weights != text, "the weights are where this test looks for them");
    let a = run_into(&bench, &study("study.toml", &weights), "a", &[]);
    let b = run_into(&bench, &study("study.toml", &even), "b", &[]);

    // Equal weights, since a light group's share varies most, and a wide margin for other load. On a busy
    // host repeats may differ too much for a verdict, but a run must never differ from itself.
    let (same, document) = compare(&bench, &["runs/b", "runs/b", "--within", "60%"]);
    says(&same, &document, ("equal", 0), "a run is equal to itself");

    let page = bench.path("page.html");
    let (ended, document) = compare(&bench, &["runs/a", "runs/b", "--report", "page.html"]);
    let is_different = says(&ended, &document, ("different", 1), "other weights differ");
    let differences = document["differences"].as_array().unwrap();
    assert!(differences.iter().any(|one| one["what"] == "knob io.weight"), "{differences:?}");
    assert!(fs::read_to_string(&page).unwrap().contains("knob io.weight"));

    let text = bench.assay(["compare", "runs/a", "runs/b"]);
    assert!(!is_different || text.stdout.contains("different"), "{}", text.stdout);
    assert!(text.stdout.contains("io.bytes"), "{}", text.stdout);

    refuses_what_cannot_be_read(&bench, &a, &b);
    bench.assert_host_is_as_before("after comparing");
}

/// Whether the comparison has this verdict, with its exit code. The only other allowed result is that
/// repeats differ too much, which counts as skipped.
#[track_caller]
fn says(ended: &Ended, document: &Value, expected: (&str, i32), what: &str) -> bool {
    match document["verdict"].as_str() {
        Some(verdict) if verdict == expected.0 => ended.assert_code(expected.1),
        Some("undecided" | "not_comparable") => {
            assert!(matches!(ended.status.code(), Some(2 | 3)), "{}", ended.stderr);
            skip(what, document["reason"].as_str().unwrap());
            return false;
        }
        _ => panic!("{what}: {document:#}"),
    }
    true
}

/// Each damaged run folder ends with code 2 and a specific message.
fn refuses_what_cannot_be_read(bench: &Bench, a: &Path, b: &Path) {
    let manifest = fs::read_to_string(b.join("manifest.json")).unwrap();
    let damage = |text: &str, expected: &str| {
        fs::write(b.join("manifest.json"), text).unwrap();
        let ended = bench.assay(["compare".as_ref(), a.as_os_str(), b.as_os_str()]);
        ended.assert_code(2);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
    };
    let newer = manifest.replacen("\"schema\": 1", "\"schema\": 7", 1);
    damage(&newer, "is of schema 7, by assay");
    damage(&manifest.replacen("\"schema\": 1", "\"schema\": 0", 1), "older than this version");
    // Not within a number, which would be called invalid.
    let end = manifest[..manifest.len() / 2].rfind(',').unwrap();
    damage(&manifest[..=end], "ends in the middle");
    fs::write(b.join("manifest.json"), [0xff, 0xfe, b'{']).unwrap();
    let ended = bench.assay(["compare".as_ref(), a.as_os_str(), b.as_os_str()]);
    assert!(ended.stderr.contains("it is not text"), "{}", ended.stderr);
    fs::remove_file(b.join("manifest.json")).unwrap();
    let ended = bench.assay(["compare".as_ref(), a.as_os_str(), b.as_os_str()]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("holds no manifest.json"), "{}", ended.stderr);
}

#[test]
fn two_levels_are_interleaved_and_compared_in_pairs() {
    let Some(bench) = Bench::on_host("interleaved levels") else { return };
    let text = Weights { groups: 2, ..Weights::small() }.text();
    let text = text.replace("count = 2", "count = \"{groups}\"") + "[factors]\ngroups = [8]\n";
    let text = text.replace("[design]\n", "[design]\norder = \"interleaved\"\n");
    let study = bench.write("study.toml", &text);
    let more = ["--set", "groups=2,4", "--repeats", "2", "--duration", "1s"];
    let run = run_into(&bench, &study, "both", &more);
    let (ended, document) = compare(&bench, &[run.to_str().unwrap(), "--over", "groups"]);
    assert_eq!(document["paired"], true, "{}", ended.stderr);
    assert_eq!(document["trials"][0]["a_factors"]["groups"], 2);
    // A B B A, by the times of the repeats.
    let manifest = crate::running::json(&run.join("manifest.json"));
    let mut order: Vec<(u64, usize)> = Vec::new();
    for (index, trial) in manifest["trials"].as_array().unwrap().iter().enumerate() {
        for repeat in trial["repeats"].as_array().unwrap() {
            order.push((repeat["released_ns"].as_u64().unwrap(), index));
        }
    }
    order.sort_unstable();
    let order: Vec<usize> = order.into_iter().map(|(_, trial)| trial).collect();
    assert_eq!(order, [0, 1, 1, 0]);
    bench.assert_host_is_as_before("after the interleaved runs");
}

#[test]
fn wrong_usage_is_refused_with_a_hint() {
    let bench = Bench::aside();
    for (words, expected) in [
        (&["compare"][..], "name two runs"),
        (&["compare", "only-one"], "name two runs"),
        (&["compare", "a", "b", "--within", "0 %"], "a margin must be above 0 %"),
        (&["compare", "--baseline", "nothing", "here"], "No such file"),
        (&["compare", "--baseline", "nothing"], "there is no folder `runs/`"),
        (&["run", "io-weight", "--baseline", "nothing"], "No such file"),
        (&["report", "--as", "csv"], "required"),
        (&["report", "nothing", "--as", "csv"], "No such file"),
        (&["report"], "required"),
    ] {
        let ended = bench.assay(words);
        ended.assert_code(2);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
}
