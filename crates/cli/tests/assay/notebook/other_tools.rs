//! Documents for other tools, and the files of the tree that other tools read, by their schemas and parsers.

use std::path::PathBuf;
use std::process::Command;

use super::by_hand::{copy, recordings};
use super::python;
use crate::bench::Bench;
use assay_test_support::skip;

#[test]
fn documents_for_other_tools_follow_their_schemas() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return skip("documents for other tools", &why),
    };
    let bench = Bench::aside();
    let runs = bench.path("judged");
    for recording in recordings() {
        let run = runs.join(recording.file_name().unwrap());
        copy(&recording, &run);
        bench.assay(["judge".as_ref(), run.as_os_str()]);
        assert!(run.join("verdict.json").is_file(), "{}", run.display());
    }
    let mut command = Command::new(python);
    bench.settle(&mut command);
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    command.args(["-B", "-m", "unittest", "discover", "-v", "-s"]).arg(tests);
    command.env("ASSAY_RUNS", &runs).env("ASSAY_PROGRAM", bench.executable());
    let ended = command.output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{text}");
    for line in text.lines().filter(|line| line.contains("... skipped ")) {
        skip("documents for other tools", line);
    }
}
