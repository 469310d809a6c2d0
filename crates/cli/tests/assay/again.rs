//! Judging and reporting a recorded run again.

use std::fs;
use std::path::Path;

use crate::bench::Bench;
use crate::running::json;
use crate::study::Weights;
use assay_test_support::HostSnapshot;

fn judge(bench: &Bench, run: &Path) -> (Option<i32>, String) {
    let ended = bench.assay(["judge".as_ref(), run.as_os_str()]);
    (ended.status.code(), fs::read_to_string(run.join("verdict.json")).unwrap())
}

#[test]
fn judging_a_run_again_or_elsewhere_gives_an_identical_verdict() {
    let Some(bench) = Bench::on_host("judging again") else { return };
    let study = Weights { at_most: "1 s", ..Weights::small() };
    let first = bench.run(&bench.write("study.toml", &study.text()), &[]);
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

    // A copy elsewhere, without logs.
    let moved = bench.path("elsewhere");
    fs::rename(&run, &moved).unwrap();
    fs::remove_dir_all(moved.join("logs")).unwrap();
    assert_eq!(judge(&bench, &moved), (first.status.code(), verdict));
    never_a_verdict_on_damaged_samples(&bench, &moved);
}

/// An error or void.
fn never_a_verdict_on_damaged_samples(bench: &Bench, run: &Path) {
    let table = run.join("samples/trial-00-repeat-00/io.parquet");
    let bytes = fs::read(&table).unwrap();
    fs::write(&table, &bytes[..bytes.len() / 2]).unwrap();
    let ended = bench.assay(["judge".as_ref(), run.as_os_str()]);
    match ended.status.code() {
        Some(3) => assert_eq!(json(&run.join("verdict.json"))["verdict"], "void"),
        Some(2) => ended.assert_says(&["io.parquet"]),
        _ => panic!("{ended:?}"),
    }
}
