//! `assay-load graph500` from the command line: output, refusals, footprint, start barrier.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::io::Read;
use std::process::{Command, Output, Stdio};

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_sys::kernel::{Root, fifo::Fifo, process};
use assay_test_support::{HostSnapshot, Need, host_lock, skip};

fn graph500(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-load"));
    command.arg("graph500").args(arguments).stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The keys of 2.1.4 in order (reference sheet, section 8).
const KEYS: &str = "SCALE nvtx edgefactor terasize A B C D generation_time construction_time nbfs \
    min_time firstquartile_time median_time thirdquartile_time max_time mean_time stddev_time \
    min_nedge firstquartile_nedge median_nedge thirdquartile_nedge max_nedge mean_nedge \
    stddev_nedge min_TEPS firstquartile_TEPS median_TEPS thirdquartile_TEPS max_TEPS \
    harmonic_mean_TEPS harmonic_stddev_TEPS";

#[test]
fn scale_16_prints_the_keys_of_2_1_4_with_every_search_validated() {
    let output = graph500(&["-s", "16", "-e", "16"]).output().unwrap();
    let (out, messages) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{messages}");
    let lines: Vec<(&str, &str)> = out.lines().map(|line| line.split_once(": ").unwrap()).collect();
    let keys: Vec<&str> = lines.iter().map(|(key, _)| *key).collect();
    let expected: Vec<&str> = KEYS.split_whitespace().collect();
    assert_eq!(keys[..expected.len()], expected, "{out}");
    let value = |name: &str| lines.iter().find(|(key, _)| *key == name).unwrap().1;
    assert_eq!((value("nbfs"), value("validated")), ("64", "yes"));
    for key in ["min_nedge", "median_nedge", "max_nedge", "mean_nedge"] {
        assert_eq!(value(key), "1.04856900000000000e+06", "{key}");
    }
    assert!(messages.contains("64 of 64 searches validated"), "{messages}");
}

#[test]
fn every_search_of_scale_10_and_16_traverses_the_edges_of_the_reference() {
    for (scale, edges) in [("10", 16_384), ("16", 1_048_569)] {
        for threads in ["1", "3"] {
            let arguments = ["-s", scale, "--threads", threads, "--json"];
            let document = json(&graph500(&arguments).output().unwrap());
            let searches = document["bfs"]["searches"].as_array().unwrap();
            assert_eq!(searches.len(), 64);
            assert!(searches.iter().all(|search| search["nedge"] == edges), "{document:#}");
        }
    }
}

#[test]
fn kernel_3_is_validated_in_both_dialects() {
    for dialect in ["2.1.4", "3.0"] {
        let arguments = ["-s", "12", "--sssp", "--dialect", dialect, "--json"];
        let document = json(&graph500(&arguments).output().unwrap());
        assert_eq!(document["validated"], true);
        assert_eq!(document["sssp"]["searches"].as_array().unwrap().len(), 64);
        assert!(document["metrics"]["sssp_harmonic_mean_teps"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn the_footprint_is_predicted_within_5_percent() {
    let shapes: [&[&str]; 5] = [
        &["-s", "14"],
        &["-s", "16"],
        &["-s", "15", "-e", "40", "--huge-pages", "never"],
        &["-s", "15", "--sssp", "--threads", "4"],
        &["-s", "17", "-e", "4", "--threads", "1"],
    ];
    for shape in shapes {
        let ratio = || {
            let words = [shape, &["--json", "--searches", "3"]].concat();
            let document = json(&graph500(&words).output().unwrap());
            let bytes = |key: &str| document["footprint"][key].as_f64().unwrap();
            bytes("predicted_bytes") / bytes("measured_peak_bytes")
        };
        // On a busy machine the kernel occasionally gives a small program some additional pages.
        let ratios: Vec<f64> = (0..3).map(|_| ratio()).collect();
        let closest = ratios.iter().any(|ratio| (ratio - 1.0).abs() < 0.05);
        assert!(closest, "{shape:?}: {ratios:?}");
    }
}

#[test]
fn a_prediction_allocates_no_memory() {
    let output = graph500(&["-s", "31", "--predict", "--json"]).output().unwrap();
    let document = json(&output);
    assert!(document["footprint"]["predicted_bytes"].as_u64().unwrap() > 1 << 38);
    assert_eq!(document["footprint"]["phases"][1]["name"], "searches");
}

#[test]
fn a_scale_beyond_the_memory_is_refused_before_anything_is_allocated() {
    let output = graph500(&["-s", "31", "-e", "1024"]).output().unwrap();
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{messages}");
    assert!(messages.contains("this needs") && messages.contains("hint: "), "{messages}");
    assert!(!messages.contains("graph_generation"), "{messages}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_scale_beyond_the_labels_is_refused_with_the_largest_one() {
    let output = graph500(&["-s", "32"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("at most 31"), "{}", text(&output.stderr));
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for wrong in [["-s", "0"], ["-e", "0"], ["--threads", "0"], ["--dialect", "4"]] {
        let output = graph500(&wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(!output.stderr.is_empty());
    }
    let output = graph500(&["-s", "6", "--interleave", "some"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn interleaved_memory_is_verified_or_reported_as_unknown() {
    let output = graph500(&["-s", "12", "--interleave", "all", "--json"]).output().unwrap();
    if output.status.code() == Some(4) {
        skip("interleaved memory", text(&output.stderr).trim());
        return;
    }
    let placement = &json(&output)["placement"];
    let proof = &placement["as_asked"];
    assert!(proof == true || proof["not_available"].is_string(), "{placement}");
}

#[test]
fn it_waits_at_the_start_barrier_until_released() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("barrier");
    let mut barrier = Fifo::make(folder.path(), "barrier").unwrap();
    // The former name of the option.
    let mut running = graph500(&["-s", "8", "--gate"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let root = Root::real();
    let mut lines = Vec::new();
    // The line is written before the stop, so the test waits for both.
    while lines.is_empty() || process::state(&root, running.id()) != Some('T') {
        lines.extend(barrier.lines().unwrap());
        assert!(running.try_wait().unwrap().is_none(), "it ended instead of waiting");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert_eq!(lines, [format!(" {}", running.id())]);
    process::continue_process(running.id()).unwrap();
    let mut out = String::new();
    running.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(running.wait().unwrap().success());
    assert!(out.contains("validated: yes"), "{out}");
}

#[test]
fn a_missing_start_barrier_is_reported_with_its_path() {
    let output = graph500(&["-s", "6", "--start-barrier", "/nowhere/barrier"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("/nowhere/barrier"), "{}", text(&output.stderr));
}

#[test]
fn a_scale_beyond_the_group_limit_is_refused_and_one_below_it_runs() {
    let test = "graph500 below a group's limit";
    let Some(_lock) = host_lock(test, &[Need::Controller("memory")]) else { return };
    let root = Root::real();
    let homes = assay_host::gather(&root).unwrap().cgroup.hierarchies_with(["memory"]).0;
    let before = HostSnapshot::take();
    let work = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
    let mut ledger = Ledger::begin(&work.path().join("state"), "load").unwrap();
    let top = format!("assay-load-{}", std::process::id());
    let tree = Tree::create(&root, &mut ledger, &homes, &top).unwrap();
    tree.make("small", false).unwrap();
    let limit = if homes[0].is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
    tree.write("small", "memory", limit, "67108864").unwrap();

    let run = |scale: &str| -> (Option<i32>, String) {
        let messages = work.path().join(format!("talk-{scale}"));
        let mut command = graph500(&["-s", scale, "--searches", "2"]);
        command.stdout(Stdio::null()).stderr(File::create(&messages).unwrap());
        let mut child = tree.membership("small").unwrap().spawn(&mut command).unwrap();
        let status = child.wait().unwrap();
        (status.code(), std::fs::read_to_string(&messages).unwrap())
    };
    let (refused, ran) = (run("19"), run("14"));
    assert_eq!(ledger.restore(&root), []);
    assert!(ledger.finish().unwrap());
    HostSnapshot::assert_same(&before, "the group is gone");

    assert_eq!(refused.0, Some(4), "{}", refused.1);
    assert!(refused.1.contains(limit) && refused.1.contains("64.0 MiB"), "{}", refused.1);
    assert_eq!(ran.0, Some(0), "{}", ran.1);
}
