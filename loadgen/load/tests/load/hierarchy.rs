//! `bandwidth`, `latency` and `pages` from the command line.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

fn load(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-load"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

fn json(output: &Output) -> Value {
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn is_predicted(document: &Value) -> bool {
    let bytes = |key: &str| document["footprint"][key].as_f64().unwrap();
    let part = bytes("predicted_bytes") / bytes("measured_peak_bytes");
    (part - 1.0).abs() < 0.05
}

#[test]
fn bandwidth_times_all_loops_with_both_kinds_of_stores() {
    for stores in ["cached", "streaming"] {
        let arguments = format!("bandwidth --array 16MiB --repeats 3 --stores {stores} --json");
        let document = json(&load(&arguments).output().unwrap());
        for kernel in ["copy", "scale", "add", "triad"] {
            let result = &document["loops"][kernel];
            assert_eq!(result["repeats"], 2, "{result}");
            assert!(result["least_s"].as_f64().unwrap() > 0.0, "{result}");
            assert!(document["metrics"][format!("{kernel}_bytes_per_s")].is_number());
        }
        assert_eq!(document["validated"], true);
        assert!(document["matrix"]["not_available"].is_string(), "{document}");
        assert!(is_predicted(&document), "{}", document["footprint"]);
    }
}

#[test]
fn a_requested_matrix_is_present_or_has_a_reason() {
    let document =
        json(&load("bandwidth --array 1MiB --repeats 2 --matrix --json").output().unwrap());
    match document["matrix"].as_array() {
        Some(pairs) => assert!(pairs.len() > 1, "{pairs:?}"),
        None => {
            let reason = document["matrix"]["not_available"].as_str().unwrap();
            assert!(!reason.contains("not requested"), "{reason}");
        }
    }
}

#[test]
fn bandwidth_ends_at_sigint_with_a_report() {
    let mut running = load("bandwidth --array 8MiB --time 60 --threads 2 --json");
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let kill = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let document = json(&running.wait_with_output().unwrap());
    assert_eq!(document["ended_by"], "SIGINT");
    assert!(document["loops"]["triad"]["repeats"].as_u64().unwrap() > 0);
}

#[test]
fn latency_begins_with_idle_memory_and_has_a_point_for_each_delay() {
    let arguments = "latency --size 8MiB --load-size 16MiB --delays 1000,0 --samples 3 \
        --sample-ms 5 --json";
    // On a busy host the aggressor may get no CPU during samples as short as these.
    const TRIES: usize = 10;
    let mut document = Value::Null;
    for _ in 0..TRIES {
        let output = load(arguments).output().unwrap();
        if output.status.code() == Some(4) {
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(messages.contains("no CPU for an aggressor"), "{messages}");
            return;
        }
        document = json(&output);
        let loaded =
            |point: &Value| point["load_bytes_per_s"].as_f64().is_some_and(|rate| rate > 0.0);
        if document["points"].as_array().unwrap()[1..].iter().all(loaded) {
            break;
        }
    }
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    assert!(points[0]["delay_steps"].is_null());
    assert_eq!(points[0]["load_bytes_per_s"], 0.0);
    for (point, delay) in points[1..].iter().zip([1000, 0]) {
        assert_eq!(point["delay_steps"], delay);
        assert!(point["load_bytes_per_s"].as_f64().unwrap() > 0.0, "{point}");
    }
    assert!(document["metrics"]["idle_ns"].as_f64().unwrap() > 0.1);
    assert!(is_predicted(&document), "{}", document["footprint"]);
}

#[test]
fn pages_go_through_all_phases_and_leave_no_file() {
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let arguments = format!("pages --size 8MiB --json --directory {}", directory.path().display());
    let document = json(&load(&arguments).output().unwrap());
    let phases = document["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    let expected = [
        "create",
        "first_read",
        "second_read",
        "write_buffered",
        "flush",
        "write_direct",
        "write_sync",
    ];
    assert_eq!(names, expected);
    for pair in phases.windows(2) {
        if let [Some(end), Some(begin)] = [pair[0]["end_ns"].as_u64(), pair[1]["begin_ns"].as_u64()]
        {
            assert!(begin >= end, "{pair:?}");
        }
    }
    assert_eq!(phases[2]["file"]["resident_bytes"], 8 << 20, "{}", phases[2]);
    assert!(is_predicted(&document), "{}", document["footprint"]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn impossible_runs_are_refused_before_they_start() {
    for (arguments, code, says) in [
        ("pages --directory /nowhere-at-all", 2, "no such directory"),
        ("pages --directory . --size 5000", 2, "a multiple of 4096"),
        ("pages --directory . --size 4096TiB", 4, "are free in"),
        ("pages --directory . --phases create", 2, "comes first"),
        ("bandwidth --array 4096TiB", 4, "this needs"),
        ("bandwidth --time 0", 2, "more than 0"),
        ("latency --threads 1", 2, "at least one aggressor"),
        ("latency --threads 9999", 4, "need a CPU each"),
    ] {
        let output = load(arguments).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {messages}");
        assert!(messages.contains(says), "{arguments}: {messages}");
    }
}

#[test]
fn pages_predict_memory_and_disk_without_using_them() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = format!("pages --predict --json --directory {}", directory.path().display());
    let document = json(&load(&arguments).output().unwrap());
    assert_eq!(document["storage"]["predicted_bytes"], 1 << 30);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
