//! Judging and reporting a recorded run again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::Bench;
use crate::running::json;
use crate::study::Weights;
use assay_test_support::HostSnapshot;

/// The verdict does not matter.
fn brief(bench: &Bench) -> PathBuf {
    bench.write("study.toml", &Weights { at_most: "1 s", ..Weights::small() }.text())
}

fn judge(bench: &Bench, run: &Path) -> (Option<i32>, String) {
    let ended = bench.assay(["judge".as_ref(), run.as_os_str()]);
    (ended.status.code(), fs::read_to_string(run.join("verdict.json")).unwrap())
}

#[test]
fn judging_a_run_again_gives_an_identical_verdict() {
    let Some(bench) = Bench::on_host("judging again") else { return };
    let first = bench.run(&brief(&bench), &[]);
    first.assert_verdict();
    let run = bench.out();
    let verdict = fs::read_to_string(run.join("verdict.json")).unwrap();
    let report = fs::read_to_string(run.join("report.html")).unwrap();
    for _ in 0..2 {
        assert_eq!(judge(&bench, &run), (first.status.code(), verdict.clone()));
    }
    assert_eq!(fs::read_to_string(run.join("report.html")).unwrap(), report);

    fs::remove_file(run.join("report.html")).unwrap();
    let reported = bench.assay(["report".as_ref(), run.as_os_str()]);
    reported.assert_code(0);
    assert_eq!(reported.stdout.trim(), run.join("report.html").display().to_string());
    assert_eq!(fs::read_to_string(run.join("report.html")).unwrap(), report);
    HostSnapshot::assert_same(bench.before(), "after judging again");
}

#[test]
fn a_moved_run_without_logs_can_be_judged() {
    let Some(bench) = Bench::on_host("judging a copy") else { return };
    let first = bench.run(&brief(&bench), &[]);
    first.assert_verdict();
    let verdict = fs::read_to_string(bench.out().join("verdict.json")).unwrap();
    let moved = bench.path("elsewhere");
    fs::rename(bench.out(), &moved).unwrap();
    fs::remove_dir_all(moved.join("logs")).unwrap();
    assert_eq!(judge(&bench, &moved), (first.status.code(), verdict));
}

#[test]
fn a_damaged_table_of_samples_is_an_error_or_void_and_never_a_verdict() {
    let Some(bench) = Bench::on_host("damaged samples") else { return };
    let first = bench.run(&brief(&bench), &[]);
    first.assert_verdict();
    let table = bench.out().join("samples/trial-00-repeat-00/io.parquet");
    let bytes = fs::read(&table).unwrap();
    fs::write(&table, &bytes[..bytes.len() / 2]).unwrap();
    let ended = bench.assay(["judge".as_ref(), bench.out().as_os_str()]);
    match ended.status.code() {
        Some(3) => assert_eq!(json(&bench.out().join("verdict.json"))["verdict"], "void"),
        Some(2) => ended.assert_says(&["io.parquet"]),
        _ => panic!("{ended:?}"),
    }
}
