//! Whole runs through the command line: every shipped workload on RocksDB, and the ways a run ends.

use std::path::Path;
use std::sync::Mutex;

use assay_sys::kernel::Root;
use clap::FromArgMatches;

use super::rocksdb::tests::has_library;
use super::*;
use crate::arguments::generator_command;

/// Collects the reported lines.
#[derive(Default)]
struct CollectingReporter(Mutex<Vec<String>>);

impl Reporter for CollectingReporter {
    fn line(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    fn progress(&self, _: &str, _: usize, _: usize) {}
}

impl CollectingReporter {
    fn text(&self) -> String {
        self.0.lock().unwrap().join("\n")
    }
}

fn ycsb(arguments: &[&str]) -> (Result<Report, Failure>, String) {
    let all = ["assay-load", "ycsb"].iter().chain(arguments);
    let normalize_arguments = normalize_arguments(all.map(std::ffi::OsString::from));
    let matches =
        generator_command::<Ycsb>().try_get_matches_from(&normalize_arguments[1..]).unwrap();
    let generator = Ycsb::from_arg_matches(&matches).unwrap();
    let shared = Shared::from_arg_matches(&matches).unwrap();
    let messages = CollectingReporter::default();
    let finished = generator.run(&shared, &messages);
    (finished.map(|finished| finished.report), messages.text())
}

fn succeed(arguments: &[&str]) -> Report {
    let (report, messages) = ycsb(arguments);
    report.unwrap_or_else(|failure| panic!("{failure}\n{messages}"))
}

fn directory(place: &Path) -> String {
    format!("rocksdb.dir={}", place.join("data").display())
}

fn returned(report: &Report, operation: &str) -> u64 {
    report.json["measurements"][operation]["returns"]["OK"].as_u64().unwrap_or(0)
}

#[test]
fn every_workload_runs_on_records_that_were_loaded() {
    if !has_library("every_workload_runs_on_records_that_were_loaded") {
        return;
    }
    for letter in 'a'..='f' {
        let place = tempfile::tempdir().unwrap();
        let (workload, directory) = (format!("workload{letter}"), directory(place.path()));
        let base = ["rocksdb", "-P", &workload, "-p", &directory, "-threads", "2"];
        let integrity = ["-p", "dataintegrity=true"];
        let with = |phase| [&[phase][..], &base, &integrity].concat();

        let loaded = succeed(&with("load"));
        assert_eq!(returned(&loaded, "INSERT"), 1000);
        let ran = succeed(&with("run"));
        assert_eq!(ran.json["operations"], 1000);
        let count = |operation| returned(&ran, operation);
        let modified =
            ran.json["measurements"]["READ-MODIFY-WRITE"]["operations"].as_u64().unwrap_or(0);
        // A read-modify-write is also a read and an update.
        let single = count("READ") + count("UPDATE") + count("INSERT") + count("SCAN");
        assert_eq!(single - modified, 1000, "{}", ran.text);
        assert_eq!(count("VERIFY"), count("READ"), "every record has the content that was written");
        let expected: &[&str] = match letter {
            'a' | 'b' => &["READ", "UPDATE"],
            'c' => &["READ"],
            'd' => &["READ", "INSERT"],
            'e' => &["SCAN", "INSERT"],
            _ => &["READ", "UPDATE"],
        };
        for operation in ["READ", "UPDATE", "INSERT", "SCAN"] {
            assert_eq!(count(operation) > 0, expected.contains(&operation), "{letter} {operation}");
        }
        assert_eq!(modified > 0, letter == 'f');
        assert!(ran.text.contains("[CLEANUP], Operations, 2\n"), "{}", ran.text);
    }
}

#[test]
fn dataintegrity_detects_a_changed_record() {
    if !has_library("a_changed_record_is_found_by_dataintegrity") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let directory = directory(place.path());
    succeed(&["load", "rocksdb", "-P", "workloadc", "-p", &directory]);
    let (failed, _) =
        ycsb(&["run", "rocksdb", "-P", "workloadc", "-p", &directory, "-p", "dataintegrity=true"]);
    let failure = failed.unwrap_err();
    assert_eq!(failure.exit_code(), 5);
    assert!(failure.to_string().contains("1000 records differ from what was written"));
}

#[test]
fn reading_missing_records_is_reported() {
    if !has_library("reading_what_was_never_loaded_is_said") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (report, messages) =
        ycsb(&["run", "rocksdb", "-P", "workloadc", "-p", &directory(place.path())]);
    let text = report.unwrap().text;
    assert!(text.contains("[READ], Return=NOT_FOUND, 1000\n"), "{text}");
    assert!(text.contains("[READ-FAILED], Operations, 1000\n"), "{text}");
    assert!(messages.contains("1000 operations found no record"), "{messages}");
}

const BASIC: [&str; 4] = ["run", "basic", "-P", "workloada"];

#[test]
fn the_maximum_execution_time_ends_an_unlimited_run() {
    let arguments = [&BASIC[..], &["-p", "operationcount=0", "-p", "maxexecutiontime=1"]].concat();
    let (report, messages) = ycsb(&arguments);
    let runtime = report.unwrap().json["metrics"]["runtime_ms"].as_u64().unwrap();
    // A loaded machine may be late, but not earlier than a second.
    assert!((1000..20_000).contains(&runtime), "{runtime} ms");
    for line in [
        "Maximum execution time specified as: 1 secs",
        "Maximum time elapsed. Requesting stop for the workload.",
        "Stop requested for workload. Now Joining!",
    ] {
        assert!(messages.contains(line), "{messages}");
    }
}

#[test]
fn a_target_throttles_threads_and_shows_in_intended_latency() {
    let extra = ["-target", "1000", "-threads", "2", "-p", "operationcount=400"];
    let interval = ["-p", "measurement.interval=both"];
    let report = succeed(&[&BASIC[..], &extra, &interval].concat());
    let runtime = report.json["metrics"]["runtime_ms"].as_u64().unwrap();
    assert!(runtime >= 398, "400 operations at 1000 a second took {runtime} ms");
    assert!(report.json["measurements"]["Intended-READ"]["latency_us"]["p99"].is_u64());
}

#[test]
fn status_lines_are_printed_at_the_start_and_at_the_end() {
    let (report, messages) = ycsb(&[&BASIC[..], &["-s", "-l", "mine "]].concat());
    report.unwrap();
    let lines: Vec<&str> = messages.lines().filter(|line| line.starts_with("mine 2")).collect();
    assert!(lines.len() >= 2, "{messages}");
    assert!(lines[0].contains(" sec: "), "{messages}");
    let last = lines[lines.len() - 1];
    assert!(last.contains(" sec: 1000 operations; "), "{last}");
    assert!(last.contains(" current ops/sec; "), "{last}");
    assert!(last.contains("[CLEANUP: Count=1, Max="), "{last}");
}

#[test]
fn runs_with_the_same_seed_choose_the_same_operations() {
    let reads = |seed| {
        let report = succeed(&[&BASIC[..], &["--seed", seed]].concat());
        returned(&report, "READ")
    };
    assert_eq!(reads("5"), reads("5"));
    assert!((400..600).contains(&reads("6")));
}

#[test]
fn later_files_override_earlier_ones_and_the_command_line_overrides_both() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine");
    std::fs::write(&file, "operationcount=70\nreadproportion=1\nupdateproportion=0\n").unwrap();
    let file = file.to_str().unwrap();
    let report = succeed(&[&BASIC[..], &["-P", file]].concat());
    assert_eq!((report.json["operations"].as_u64(), returned(&report, "READ")), (Some(70), 70));
    let report = succeed(&[&BASIC[..], &["-P", file, "-p", "operationcount=30"]].concat());
    assert_eq!(report.json["operations"], 30);
}

#[test]
fn results_are_written_to_the_requested_files() {
    let place = tempfile::tempdir().unwrap();
    let (results, raw) = (place.path().join("results"), place.path().join("raw"));
    let (export, output) = (
        format!("exportfile={}", results.display()),
        format!("measurement.raw.output_file={}", raw.display()),
    );
    let kind = ["-p", "measurementtype=raw", "-p", &export, "-p", &output];
    let report = succeed(&[&BASIC[..], &kind].concat());
    assert_eq!(report.text, "");
    let results = std::fs::read_to_string(results).unwrap();
    assert!(results.contains("[READ], Total Operations, "), "{results}");
    let raw = std::fs::read_to_string(raw).unwrap();
    assert_eq!(raw.lines().filter(|line| !line.contains("raw data")).count(), 1001, "{raw}");
}

#[test]
fn mistakes_on_the_command_line_are_refused_before_anything_runs() {
    for (arguments, part) in [
        (vec!["run", "basic", "-P", "absent"], "cannot read the property file absent"),
        (vec!["run", "basic", "-p", "x"], "write -p NAME=VALUE"),
        (vec!["run", "rocksdb", "-P", "workloada"], "-p rocksdb.dir=DIR"),
        (
            vec!["run", "basic", "-p", "requestdistribution=x"],
            "command line: `requestdistribution=x`",
        ),
    ] {
        let failure = ycsb(&arguments).0.unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains(part), "{failure}");
    }
}

#[test]
fn the_footprint_is_known_before_the_run_and_grows_with_the_load() {
    let predicted = |count: &str| {
        let count = format!("recordcount={count}");
        let arguments = ["ycsb", "load", "rocksdb", "-p", "rocksdb.dir=/nowhere", "-p", &count];
        let matches = generator_command::<Ycsb>().try_get_matches_from(arguments).unwrap();
        let generator = Ycsb::from_arg_matches(&matches).unwrap();
        generator.footprint(&Shared::from_arg_matches(&matches).unwrap()).unwrap().peak()
    };
    let (few, many) = (predicted("1000"), predicted("100000"));
    assert!(many - few > 99_000 * 1140, "{few} {many}");
    assert!(!Path::new("/nowhere").exists());
    assert!(
        Backing::read(&Root::real()).huge.is_ok() || !Path::new("/proc/self/smaps_rollup").exists()
    );
}
