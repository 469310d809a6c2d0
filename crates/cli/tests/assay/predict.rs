//! Predictions: made without changing anything, written before a run, scored after it.

use std::fs;

use crate::bench::Bench;
use crate::running::json;
use crate::study::Weights;
use assay_test_support::HostSnapshot;

#[test]
fn a_prediction_changes_nothing_and_names_its_basis() {
    let Some(bench) = Bench::with("a prediction", &[]) else { return };
    let ended = bench.assay(["predict", "io-weight", "--set", "groups=4,16"]);
    let code = ended.status.code().unwrap();
    assert!([0, 1, 3].contains(&code), "{ended:?}");
    assert!(ended.stdout.contains("rests on assumptions"), "{}", ended.stdout);
    assert!(ended.stdout.contains("outside the validated range"), "{}", ended.stdout);
    assert!(ended.stderr.contains("times faster than running it"), "{}", ended.stderr);
    HostSnapshot::assert_same(bench.before(), "after a prediction");

    let document = bench.assay(["predict", "io-weight", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["trials"][0]["promises"][0]["groups"].as_array().unwrap().len(), 4);
}

#[test]
fn studies_outside_the_model_are_not_predicted() {
    let bench = Bench::aside();
    let ended = bench.assay(["predict", "memory-limit"]);
    ended.assert_code(3);
    assert!(ended.stdout.contains("not available"), "{}", ended.stdout);
}

#[test]
fn a_calibration_of_another_kernel_is_refused_and_a_broken_one_is_named() {
    let bench = Bench::aside();
    let folder = bench.path("state/calibration");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("loop-bfq.json");
    let text = r#"{"schema": 1, "made_at": "2026-01-01T00:00:00Z", "host": "elsewhere",
        "kernel": "5.4", "processors": "", "cpus": 2, "disk": "loop", "scheduler": "bfq",
        "pool": 256, "taken": []}"#;
    fs::write(&file, text).unwrap();
    let refused = bench.assay(["predict", "io-weight"]);
    assert!(refused.stdout.contains("is not used"), "{}", refused.stdout);
    fs::write(&file, "{").unwrap();
    let broken = bench.assay(["predict", "io-weight"]);
    // A long path breaks the line.
    let said: Vec<&str> = broken.stdout.split_whitespace().collect();
    assert!(said.join(" ").contains("is not a calibration"), "{}", broken.stdout);
}

#[test]
fn a_run_has_a_prediction_from_before_and_a_score_from_after() {
    let Some(bench) = Bench::on_host("predicting a run") else { return };
    let study = bench.write("study.toml", &Weights::small().text());
    let ended = bench.run(&study, &["--predict"]);
    ended.assert_verdict();
    let run = bench.out();
    let score = json(&run.join("score.json"));
    assert!(score["trials"][0]["promises"][0]["mean_error"].is_number(), "{score}");
    assert!(ended.stdout.contains("prediction: mean error of shares"), "{}", ended.stdout);
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!(first["kind"], "prediction", "it stands before all other events");

    // A prediction that was changed afterwards is not scored.
    let path = run.join("prediction.json");
    let changed = fs::read_to_string(&path).unwrap().replacen("0.0", "0.1", 1);
    fs::write(&path, changed).unwrap();
    let again = bench.assay(["judge".as_ref(), run.as_os_str()]);
    again.assert_says(&["the prediction was not scored", "events.jsonl"]);
    assert!(!run.join("score.json").exists());
    HostSnapshot::assert_same(bench.before(), "after a predicted run");
}

#[test]
fn calibrating_stores_a_calibration_and_restores_the_host() {
    let Some(bench) = Bench::on_host("calibrating") else { return };
    let study = bench.write("study.toml", &Weights::small().text());
    let out = bench.out();
    let words = ["predict".as_ref(), study.as_os_str(), "--calibrate".as_ref(), "--each".as_ref()];
    let rest = ["1s".as_ref(), "--out".as_ref(), out.as_os_str()];
    let ended = bench.assay(words.into_iter().chain(rest));
    assert!([0, 1, 3].contains(&ended.status.code().unwrap()), "{ended:?}");
    assert!(ended.stdout.contains("rests on measurements"), "{}", ended.stdout);
    let calibration = json(&out.join("calibration.json"));
    assert_eq!(calibration["taken"].as_array().unwrap().len(), 12);
    assert_eq!(calibration, json(&bench.path("state/calibration/loop-bfq.json")));
    HostSnapshot::assert_same(bench.before(), "after a calibration");
}
