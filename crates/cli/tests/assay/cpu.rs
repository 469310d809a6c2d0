//! The shipped studies of CPU time on the real kernel. Because of other load a verdict may be void or
//! undecided, with a reason, but must never be broken.

use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;
use crate::notebook::assert_recomputed;
use crate::running::json;
use assay_test_support::{Need, skip};

const NEEDS: [Need; 3] = [Need::Tool("fio"), Need::Controller("cpu"), Need::Controller("cpuset")];

/// One repeat is enough for what is always void, and for what is promised.
const BRIEF: [&str; 4] = ["--repeats", "1", "--duration", "2s"];

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
fn one_busy_thread_per_cpu_is_void() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skip("one busy thread a CPU", "the host has one CPU");
    }
    let Some(bench) = Bench::measured("one busy thread a CPU", &NEEDS) else { return };
    let options = ["--set", "groups=2", "--set", "threads=1", "--set", "cpus=0-1"];
    let verdict = verdict(&bench, "cpu-weight", &[&options[..], &BRIEF].concat());
    assert_eq!(verdict["verdict"], "void");
    let promise = promises(&verdict)[0];
    let reason = promise["reason"].as_str().unwrap();
    assert!(reason.contains("2 threads for 2 CPUs"), "{reason}");
    let causes = promise["causes"].as_array().unwrap();
    assert!(causes.iter().any(|cause| cause["code"] == "C-CPU-UNCONTENDED"), "{causes:?}");
}

#[test]
fn a_single_group_is_void() {
    let Some(bench) = Bench::measured("one group alone", &NEEDS) else { return };
    let verdict = verdict(&bench, "cpu-weight", &[&["--set", "groups=1"], &BRIEF[..]].concat());
    assert_eq!(verdict["verdict"], "void");
    assert_eq!(promises(&verdict)[0]["causes"][0]["code"], "C-ALONE");
}

#[test]
fn a_promised_share_is_limited_to_what_the_threads_can_use() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skip("shares that cannot be had", "the host has one CPU");
    }
    let Some(bench) = Bench::measured("shares that cannot be had", &NEEDS) else { return };
    let options = ["--set", "threads=1", "--set", "cpus=0-1", "-ojson"];
    let ended = bench.run(Path::new("cpu-weight"), &[&options[..], &BRIEF].concat());
    bench.assert_host_is_as_before("after the run");
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    let promise = promises(&verdict)[0];
    let expected = numbers(promise, "expected_share");
    for (found, expected) in expected.iter().zip([0.5 / 7.0, 1.0 / 7.0, 2.0 / 7.0, 0.5]) {
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    }
    let by_weight = promise["groups"][3]["share_by_weight"].as_f64().unwrap();
    assert!((by_weight - 800.0 / 1500.0).abs() < 1e-12, "{by_weight}");
    let table = bench.assay(["judge".as_ref(), bench.out().as_os_str()]);
    let text = table.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("800 of 1500 would be 53.3 %, its 1 thread can have at most"), "{text}");
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
