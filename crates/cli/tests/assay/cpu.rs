//! The shipped studies of CPU time on the real kernel. Because of other load a verdict may be void or
//! undecided, with a reason, but must never be broken.

use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;
use crate::notebook::assert_recomputed;
use crate::running::json;
use assay_test_support::Need;

const NEEDS: [Need; 3] = [Need::Tool("fio"), Need::Controller("cpu"), Need::Controller("cpuset")];

/// Runs a shipped study and returns its verdict, which agrees with the exit code.
fn verdict(bench: &Bench, study: &str, more: &[&str]) -> Value {
    let ended = bench.run(Path::new(study), &[more, &["-ojson"]].concat());
    bench.assert_host_is_as_before("after the run");
    assert_recomputed(bench);
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    let code = match verdict["verdict"].as_str() {
        Some("kept") => 0,
        Some("undecided" | "void") => 3,
        other => panic!("{other:?}: {verdict:#}"),
    };
    ended.assert_code(code);
    verdict
}

fn promises(verdict: &Value) -> Vec<&Value> {
    let trials = verdict["trials"].as_array().unwrap().iter();
    trials.flat_map(|trial| trial["promises"].as_array().unwrap()).collect()
}

/// Asserts kept, or another verdict with its reason; void with the failed check or the limit.
fn assert_never_broken(verdict: &Value) {
    for promise in promises(verdict) {
        assert!(!promise["reason"].as_str().unwrap().is_empty(), "{promise:#}");
        match promise["verdict"].as_str() {
            Some("kept" | "undecided") => {}
            Some("void") => {
                let code = promise["causes"][0]["code"].as_str();
                assert!(code.is_some_and(|code| code.starts_with("C-")), "{promise:#}");
            }
            other => panic!("{other:?}: {promise:#}"),
        }
    }
}

fn numbers(promise: &Value, key: &str) -> Vec<f64> {
    promise["groups"].as_array().unwrap().iter().filter_map(|group| group[key].as_f64()).collect()
}

#[test]
fn weights_divide_one_cpu_or_the_verdict_has_a_reason() {
    let Some(bench) = Bench::measured("CPU weights", &NEEDS) else { return };
    let brief = ["--set", "groups=4", "--repeats", "8", "--duration", "1500ms"];
    let verdict = verdict(&bench, "cpu-weight", &brief);
    assert_never_broken(&verdict);
    let promise = promises(&verdict)[0];
    assert_eq!(numbers(promise, "knob"), [100.0, 200.0, 400.0, 800.0]);
    let expected = numbers(promise, "expected_share");
    assert!((expected[3] - 800.0 / 1500.0).abs() < 1e-12, "{expected:?}");
    // Other load on a single CPU does not make the verdict void.
    let checks = verdict["trials"][0]["validity"].as_array().unwrap();
    let others = checks.iter().find(|check| check["check"] == "others").unwrap();
    assert_eq!(others["ok"], true, "{others}");
}

#[test]
fn a_quota_binds_or_the_verdict_has_a_reason() {
    let Some(bench) = Bench::measured("a CPU quota", &NEEDS[..2]) else { return };
    let options = ["--set", "quota=4000 100000", "--repeats", "2", "--duration", "2s"];
    let verdict = verdict(&bench, "cpu-quota", &options);
    assert_never_broken(&verdict);
    for promise in promises(&verdict) {
        assert_eq!(numbers(promise, "knob"), [0.04, 0.04], "{promise:#}");
    }
    // Both quotas were counted: the kernel's counters are in the samples and in the evidence.
    let checks = verdict["trials"][0]["facts"].as_array().unwrap();
    let throttled = checks.iter().find(|check| check["fact"] == "throttled").unwrap();
    let evidence = throttled["evidence"].as_str().unwrap();
    assert!(evidence.contains("the quota of `task1` bound in"), "{evidence}");
    let manifest = json(&bench.out().join("manifest.json"));
    let threads = &manifest["trials"][0]["groups"][0]["workloads"][0]["threads"];
    assert_eq!(threads, 2);
}
