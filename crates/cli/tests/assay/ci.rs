//! What a job of continuous integration gets of a recorded run: its exit code, and its JUnit document.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::notebook::{copy, recordings};
use crate::running::{Ended, json as read_json};

/// A recorded run whose verdict is void, with a changed manifest.
fn recorded(change: impl Fn(&mut Value)) -> Bench {
    let bench = Bench::aside();
    let recording = recordings().into_iter().find(|path| path.ends_with("one-cpu")).unwrap();
    copy(&recording, &bench.out());
    let path = bench.out().join("manifest.json");
    let mut manifest = read_json(&path);
    change(&mut manifest);
    fs::write(path, manifest.to_string()).unwrap();
    bench
}

fn judged(bench: &Bench, more: &[&str]) -> Ended {
    bench.assay([&["judge", "run"], more].concat())
}

#[test]
fn a_document_that_is_written_leaves_the_code_to_the_verdict() {
    let bench = recorded(|_| ());
    for (level, code) in [("undecided", 3), ("void", 3), ("broken", 0)] {
        judged(&bench, &["--junit", "verdict.xml", "--fail-on", level]).assert_code(code);
        let document = fs::read_to_string(bench.path("verdict.xml")).unwrap();
        assert!(document.contains("<skipped message=\"void"), "{document}");
    }
    judged(&bench, &["--junit", "no/such/verdict.xml"]).assert_code(2);
    judged(&bench, &["--junit", "/dev/full", "--fail-on", "broken"]).assert_code(4);
}

/// The run itself ended with these codes, and no level forgives what they mean.
#[test]
fn no_level_forgives_a_failed_workload_or_a_host_that_was_not_restored() {
    let failed = recorded(|manifest| {
        let fault = json!({ "kind": "workload", "message": "workload `task1.reader` failed" });
        manifest["trials"][0]["repeats"][0]["fault"] = fault;
    });
    let not_restored = recorded(|manifest| manifest["restored"] = false.into());
    for (bench, code) in [(failed, 5), (not_restored, 6)] {
        for level in ["undecided", "broken"] {
            judged(&bench, &["--fail-on", level, "--junit", "verdict.xml"]).assert_code(code);
        }
    }
}

#[test]
fn stdout_gets_the_document_alone_and_its_reader_may_leave() {
    let bench = recorded(|_| ());
    for more in [&[][..], &["-ojson"]] {
        let ended = judged(&bench, &[&["--junit", "-"], more].concat());
        ended.assert_code(3);
        let (begins, ends) = ("<?xml version=", "</testsuites>\n");
        let out = &ended.stdout;
        assert!(out.starts_with(begins) && out.ends_with(ends), "{out}");
    }
    let mut command = bench.program();
    command.args(["judge", "run", "--junit", "-"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let closed = ends_with_its_reader(command);
    assert_eq!(closed.status.code(), Some(3), "{}", String::from_utf8_lossy(&closed.stderr));
    assert!(!String::from_utf8_lossy(&closed.stderr).contains("error: "), "{closed:?}");
}

/// Ends a command whose stdout nobody reads.
fn ends_with_its_reader(mut command: Command) -> std::process::Output {
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    child.wait_with_output().unwrap()
}
