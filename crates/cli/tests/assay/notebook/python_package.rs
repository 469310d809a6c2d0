//! The Python package of `python/`, by its own tests, on every recorded run and on made-up ones.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::by_hand::{copy, recordings};
use super::{made_up, python};
use crate::bench::Bench;
use assay_test_support::skip;

#[test]
fn the_python_package_opens_recomputes_and_draws_every_recorded_run() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return skip("the Python package", &why),
    };
    let bench = Bench::aside();
    let runs = bench.path("judged");
    for recording in recordings() {
        copy(&recording, &runs.join(recording.file_name().unwrap()));
    }
    made_up::write(&runs.join("made-up"));
    for run in assay_test_support::entries(&runs) {
        bench.assay(["judge".as_ref(), run.as_os_str()]);
        assert!(run.join("verdict.json").is_file(), "{}", run.display());
    }
    // The list of all runs lies beside them.
    drop(fs::remove_file(runs.join("index.html")));
    let mut command = Command::new(python);
    bench.settle(&mut command);
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/tests");
    command.args(["-B", "-m", "unittest", "discover", "-v", "-s"]).arg(tests);
    command.env("ASSAY_RUNS", &runs).env("ASSAY_PROGRAM", env!("CARGO_BIN_EXE_assay"));
    let ended = command.output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{text}");
    for line in text.lines().filter(|line| line.contains("... skipped ")) {
        skip("a test of the Python package", line);
    }
}
