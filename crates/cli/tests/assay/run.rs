//! `assay run` from a study to a verdict.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;
use crate::notebook::assert_recomputed;
use crate::running::{Ended, json};
use crate::study::Weights;
use assay_test_support::entries;

/// The exit code of a verdict (docs/cli.md).
fn code_of(verdict: &Value) -> i32 {
    match verdict["verdict"].as_str() {
        Some("kept") => 0,
        Some("broken") => 1,
        Some("undecided" | "void") => 3,
        other => panic!("no verdict: {other:?}"),
    }
}

fn assert_complete(folder: &Path) {
    let html = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(html.contains("<html") && html.trim_end().ends_with("</html>"));
    let manifest = json(&folder.join("manifest.json"));
    assert_eq!(manifest["restored"], true);
    assert_eq!(manifest["ended_early"], Value::Null);
    for (index, trial) in manifest["trials"].as_array().unwrap().iter().enumerate() {
        for (number, repeat) in trial["repeats"].as_array().unwrap().iter().enumerate() {
            let name = format!("trial-{index:02}-repeat-{number:02}");
            assert_eq!(repeat["samples"], name.as_str());
            assert_samples(&folder.join("samples").join(&name));
            for workload in repeat["workloads"].as_array().unwrap() {
                assert_eq!(workload["failure"], Value::Null, "{workload}");
                let log = folder.join(workload["log"].as_str().unwrap());
                assert!(log.join("job.fio").is_file() && log.join("fio.json").is_file());
            }
        }
    }
    let events = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let parsed: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(parsed.iter().any(|event| event["text"] == "run"), "{events}");
    assert!(parsed.windows(2).all(|two| two[0]["time_ns"].as_u64() <= two[1]["time_ns"].as_u64()));
}

fn assert_samples(folder: &Path) {
    let files = entries(folder);
    let kinds: BTreeSet<&str> =
        files.iter().filter_map(|path| path.extension()?.to_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["parquet"]), "{files:?}");
    for name in ["io", "disk", "cpu"] {
        let bytes = fs::read(folder.join(name).with_extension("parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{name}");
    }
}

/// Checks stdout against the file and returns the document.
fn verdict_of(ended: &Ended, folder: &Path) -> Value {
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.stdout, fs::read_to_string(folder.join("verdict.json")).unwrap());
    assert_eq!(printed["schema"], 1);
    assert_eq!(printed["restored"], true);
    ended.assert_code(code_of(&printed));
    printed
}

#[test]
fn the_shipped_study_gives_a_verdict_and_restores_the_host() {
    let Some(bench) = Bench::on_host("the shipped study") else { return };
    let brief = ["--set", "groups=4", "--repeats", "8", "--duration", "1500ms", "-ojson"];
    let ended = bench.run(Path::new("io-weight"), &brief);
    bench.assert_host_is_as_before("after the run");
    assert_recomputed(&bench);
    let verdict = verdict_of(&ended, &bench.out());
    assert_eq!(verdict["study"], "io-weight");
    let trials = verdict["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 1);
    assert_eq!(trials[0]["factors"]["groups"], 4);
    let promise = &trials[0]["promises"][0];
    assert_eq!((&promise["measure"], &promise["is"]), (&"io.bytes".into(), &"proportional".into()));
    let groups = promise["groups"].as_array().unwrap();
    let knobs: Vec<f64> = groups.iter().filter_map(|group| group["knob"].as_f64()).collect();
    assert_eq!(knobs, [100.0, 200.0, 400.0, 800.0]);
    let shares: f64 = groups.iter().filter_map(|group| group["share"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "shares add up to {shares}");
    assert!(trials[0]["window_s"].as_f64().unwrap() > 1.0, "{}", trials[0]);
    assert_complete(&bench.out());
}

#[test]
fn groups_inside_groups_are_judged_at_the_outer_level() {
    let Some(bench) = Bench::on_host("nested groups") else { return };
    let inner = "[[groups.groups]]\nname = \"inner\"\ncount = 2\n\
                 knobs = { \"io.weight\" = [100, 300] }\nrun = \"reader\"\n[workloads.reader]";
    let text = Weights { groups: 2, ..Weights::small() }
        .text()
        .replace("run = \"reader\"\n", "")
        .replace("[workloads.reader]", inner);
    let ended = bench.run(&bench.write("study.toml", &text), &["-ojson"]);
    bench.assert_host_is_as_before("after the run");
    let verdict = verdict_of(&ended, &bench.out());
    let promise = &verdict["trials"][0]["promises"][0];
    let named = |group: &Value| group["name"].as_str().unwrap().to_owned();
    let names: Vec<String> = promise["groups"].as_array().unwrap().iter().map(named).collect();
    let manifest = json(&bench.out().join("manifest.json"));
    let made: Vec<String> =
        manifest["trials"][0]["groups"].as_array().unwrap().iter().map(named).collect();
    assert!(made.contains(&"task2/inner2".to_owned()), "{made:?}");
    assert!(!names.is_empty() && names.iter().all(|name| made.contains(name)), "{names:?}");
    assert_complete(&bench.out());
}

/// fio splits lists of files at `:`, and job files at white space and `;`.
#[test]
fn a_run_folder_may_have_any_name() {
    let Some(bench) = Bench::on_host("a run folder of any name") else { return };
    let disk = crate::study::loop_disk_with_ext4(64, 2);
    let study = Weights { disk, groups: 2, at_most: "1 s", ..Weights::small() };
    let study = bench.write("study.toml", &study.text());
    let out = bench.path("a run: 50 % #1 ; \u{fc}");
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(&out);
    let ended = bench.finish(command);
    ended.assert_verdict();
    // A table for people.
    assert!(ended.stdout.contains("task2"), "{}", ended.stdout);
    let report = format!("report: {}", out.join("report.html").display());
    assert!(ended.stdout.contains(&report), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'), "no colours where there is no terminal");
    assert_complete(&out);
    bench.assert_host_is_as_before("after the run");
}
