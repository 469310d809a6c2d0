//! The memory and CPU generators from the command line.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn load(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-load"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn json(output: &Output) -> serde_json::Value {
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn predicted(document: &serde_json::Value) -> f64 {
    let bytes = |key: &str| document["footprint"][key].as_f64().unwrap();
    bytes("predicted_bytes") / bytes("measured_peak_bytes")
}

#[test]
fn a_chase_measures_every_working_set_in_every_order() {
    let arguments = "chase --from 8KiB --to 4MiB --points 1 --samples 2 --sample-ms 1 --json \
        --order sequential --order groups --order random";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let document = json(&load(&arguments).output().unwrap());
    let curves = document["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 3);
    for curve in curves {
        let points = curve["points"].as_array().unwrap();
        assert_eq!(points.len(), 10, "{curve}");
        assert!(points.iter().all(|point| {
            let ns = |key: &str| point[key].as_f64().unwrap();
            ns("least_ns") > 0.1 && ns("least_ns") <= ns("median_ns") && ns("wall_ns") > 0.1
        }));
    }
    assert!((predicted(&document) - 1.0).abs() < 0.05, "{}", predicted(&document));
}

#[test]
fn a_chase_of_two_threads_or_of_no_page_is_a_usage_error() {
    for wrong in [&["chase", "--threads", "2"][..], &["chase", "--to", "100"]] {
        let output = load(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_spin_ends_at_sigint_with_its_report() {
    let mut running = load(&["spin", "--time", "60", "--threads", "2", "--json"]);
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let interrupted = Instant::now();
    let kill = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let document = json(&running.wait_with_output().unwrap());
    assert!(interrupted.elapsed() < Duration::from_secs(20), "{:?}", interrupted.elapsed());
    assert_eq!(document["ended_by"], "SIGINT");
    assert_eq!(document["threads"].as_array().unwrap().len(), 2);
    assert!(document["metrics"]["steps_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_hog_grows_to_what_was_predicted() {
    let arguments = "hog --to 64MiB --step 8MiB --every-ms 1 --again --json";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let document = json(&load(&arguments).output().unwrap());
    assert_eq!(document["steps"].as_array().unwrap().len(), 8);
    assert_eq!(document["metrics"]["held_bytes"], 64 << 20);
    assert!((predicted(&document) - 1.0).abs() < 0.05, "{}", predicted(&document));
}

#[test]
fn a_hog_larger_than_the_memory_is_refused_before_it_starts() {
    let output = load(&["hog", "--to", "4000TiB"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("this needs"));
}
