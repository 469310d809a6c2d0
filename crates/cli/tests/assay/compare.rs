//! `assay compare` on real runs, and the list of runs beside them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::Bench;
use crate::running::Ended;
use crate::study::Weights;
use assay_test_support::skip;

fn compare(bench: &Bench, words: &[&str]) -> (Ended, Value) {
    let ended = bench.assay(["compare"].iter().chain(words).chain(&["--json"]));
    let document = serde_json::from_str(&ended.stdout).unwrap_or(Value::Null);
    (ended, document)
}

fn run_into(bench: &Bench, study: &Path, name: &str, more: &[&str]) -> PathBuf {
    let out = bench.path("runs").join(name);
    let mut command = bench.program();
    command.arg("run").arg(study).arg("--out").arg(&out).args(more);
    bench.finish(command).assert_verdict();
    out
}

#[test]
fn the_same_run_is_equal_other_weights_differ_and_all_are_listed() {
    let Some(bench) = Bench::on_host("comparing runs") else { return };
    let study = |name: &str, text: &str| bench.write(name, text);
    // One repeat says nothing of how far others would be from it.
    let text = Weights { groups: 2, at_most: "3 s", ..Weights::small() }.text();
    let text = text.replace("repeats = 1", "repeats = 4");
    let weights = text.replace("[100, 200, 400, 800]", "[100, 800]");
    let even = text.replace("[100, 200, 400, 800]", "[100, 100]");
    assert!(weights != even && weights != text, "the weights are where this test looks for them");
    let a = run_into(&bench, &study("study.toml", &weights), "a", &[]);
    let b = run_into(&bench, &study("study.toml", &even), "b", &[]);

    // Equal weights, since a light group's share varies most, and a margin with room for whatever
    // else the host does meanwhile. A busy host makes repeats differ too much to say anything of,
    // which is said; that a run is different from itself never is.
    let (same, document) = compare(&bench, &["runs/b", "runs/b", "--within", "60%"]);
    says(&same, &document, ("equal", 0), "a run is equal to itself");

    let page = bench.path("page.html");
    let (ended, document) = compare(&bench, &["runs/a", "runs/b", "--html", "page.html"]);
    let told = says(&ended, &document, ("different", 1), "other weights differ");
    let differences = document["differences"].as_array().unwrap();
    assert!(differences.iter().any(|one| one["what"] == "knob io.weight"), "{differences:?}");
    assert!(fs::read_to_string(&page).unwrap().contains("knob io.weight"));

    let text = bench.assay(["compare", "runs/a", "runs/b"]);
    assert!(!told || text.stdout.contains("different"), "{}", text.stdout);
    assert!(text.stdout.contains("io.bytes"), "{}", text.stdout);

    let index = fs::read_to_string(bench.path("runs").join("index.html")).unwrap();
    let index = index.replace("&#x2f;", "/");
    assert!(index.contains("./a/report.html") && index.contains("./b/report.html"));

    refuses_what_cannot_be_read(&bench, &a, &b);
    bench.assert_host_is_as_before("after comparing");
}

/// Whether the comparison came to this verdict, with its exit code. Repeats that differ too much are
/// the only other answer that it may give, which is a skip.
#[track_caller]
fn says(ended: &Ended, document: &Value, wanted: (&str, i32), what: &str) -> bool {
    match document["verdict"].as_str() {
        Some(verdict) if verdict == wanted.0 => ended.assert_code(wanted.1),
        Some("undecided" | "not_comparable") => {
            assert!(matches!(ended.status.code(), Some(2 | 3)), "{}", ended.stderr);
            skip(what, document["reason"].as_str().unwrap());
            return false;
        }
        _ => panic!("{what}: {document:#}"),
    }
    true
}

/// Each run folder that is no run any more ends with code 2 and its own message.
fn refuses_what_cannot_be_read(bench: &Bench, a: &Path, b: &Path) {
    let manifest = fs::read_to_string(b.join("manifest.json")).unwrap();
    let damage = |text: &str, wanted: &str| {
        fs::write(b.join("manifest.json"), text).unwrap();
        let ended = bench.assay(["compare".as_ref(), a.as_os_str(), b.as_os_str()]);
        ended.assert_code(2);
        assert!(ended.stderr.contains(wanted), "{wanted}: {}", ended.stderr);
    };
    let newer = manifest.replacen("\"schema\": 1", "\"schema\": 7", 1);
    damage(&newer, "is of schema 7, by assay");
    damage(&manifest.replacen("\"schema\": 1", "\"schema\": 0", 1), "older than this version");
    damage(&manifest[..manifest.len() / 2], "ends in the middle");
    fs::write(b.join("manifest.json"), [0xff, 0xfe, b'{']).unwrap();
    let ended = bench.assay(["compare".as_ref(), a.as_os_str(), b.as_os_str()]);
    assert!(ended.stderr.contains("it is not text"), "{}", ended.stderr);
    fs::remove_file(b.join("manifest.json")).unwrap();
    let ended = bench.assay(["compare".as_ref(), a.as_os_str(), b.as_os_str()]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("holds no manifest.json"), "{}", ended.stderr);
    let ended = bench.assay(["report", "--index", "runs"]);
    ended.assert_code(0);
    let index = fs::read_to_string(bench.path("runs").join("index.html")).unwrap();
    assert!(index.contains("unreadable") && index.contains("no manifest.json"), "b is listed");
}

#[test]
fn two_levels_run_in_turn_and_are_compared_in_pairs() {
    let Some(bench) = Bench::on_host("levels in turn") else { return };
    let text = Weights { groups: 2, ..Weights::small() }.text();
    let text = text.replace("count = 2", "count = \"{groups}\"") + "[factors]\ngroups = [8]\n";
    bench.write("study.toml", &text);
    let words = ["--interleaved", "study.toml", "--set", "groups=2", "--set", "groups=4"];
    let more = ["--repeats", "2", "--at-most", "2s", "--out", "run"];
    let (ended, document) = compare(&bench, &[&words[..], &more[..]].concat());
    assert_eq!(document["paired"], true, "{}", ended.stderr);
    assert_eq!(document["trials"][0]["a_factors"]["groups"], 2);
    // A B B A: the order stands in the times of the repeats.
    let manifest = crate::running::json(&bench.out().join("manifest.json"));
    let mut turns: Vec<(u64, usize)> = Vec::new();
    for (index, trial) in manifest["trials"].as_array().unwrap().iter().enumerate() {
        for repeat in trial["repeats"].as_array().unwrap() {
            turns.push((repeat["released_ns"].as_u64().unwrap(), index));
        }
    }
    turns.sort_unstable();
    let turns: Vec<usize> = turns.into_iter().map(|(_, trial)| trial).collect();
    assert_eq!(turns, [0, 1, 1, 0]);
    bench.assert_host_is_as_before("after the runs in turn");
}

#[test]
fn wrong_calls_say_what_to_write() {
    let bench = Bench::aside();
    for (words, wanted) in [
        (&["compare"][..], "name two runs"),
        (&["compare", "only-one"], "name two runs"),
        (&["compare", "--interleaved", "io-weight", "--set", "groups=4"], "name one factor twice"),
        (&["compare", "a", "b", "--within", "0 %"], "a margin lies above 0 %"),
        (&["compare", "--baseline", "nothing", "here"], "holds no manifest.json"),
        (&["compare", "--baseline", "nothing"], "there is no such folder"),
        (&["export"], "required"),
        (&["export", "nothing"], "holds no manifest.json"),
        (&["report"], "required"),
    ] {
        let ended = bench.assay(words);
        ended.assert_code(2);
        assert!(ended.stderr.contains(wanted), "{words:?}: {}", ended.stderr);
    }
}
