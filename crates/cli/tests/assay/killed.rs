//! SIGKILL in every phase, then `assay restore`.

use std::time::Duration;

use rustix::process::Signal;

use crate::bench::Bench;
use crate::halt::{Moment, run_until};
use crate::running::Running;
use crate::study::Weights;

fn kill_and_restore(test: &str, moment: Moment) {
    let Some(bench) = Bench::on_host(test) else { return };
    let run = run_until(&bench, moment);
    run.kill();

    let study = bench.write("next.toml", &Weights::small().text());
    let mut next = bench.program();
    next.args(["run", "--yes"]).arg(study).arg("--out").arg(bench.path("next"));
    let next = bench.finish(next);
    next.assert_code(4);
    next.assert_says(&["ended without restoring the host", "assay restore"]);
    assert!(!bench.path("next").exists(), "a refused run makes no folder");

    let restored = bench.assay(["restore"]);
    restored.assert_code(0);
    restored.assert_says(&["restored: "]);
    assert_eq!(restored.stdout, "the host is restored\n");
    bench.assert_host_is_as_before(&format!("killed at {moment:?} and restored"));

    let again = bench.assay(["restore"]);
    again.assert_code(0);
    assert_eq!(again.stdout, "nothing to restore\n");

    // The recorded part can be judged.
    let judged = bench.assay(["judge".as_ref(), bench.out().as_os_str()]);
    judged.assert_code(3);
}

#[test]
fn a_run_killed_while_the_image_is_filled_is_restored() {
    kill_and_restore("killed while the image is filled", Moment::Filling);
}

#[test]
fn a_run_killed_after_the_image_is_attached_is_restored() {
    kill_and_restore("killed after the image is attached", Moment::Attached);
}

#[test]
fn a_run_killed_while_groups_are_made_is_restored() {
    kill_and_restore("killed while groups are made", Moment::Groups);
}

#[test]
fn a_run_killed_while_workloads_start_is_restored() {
    kill_and_restore("killed while workloads start", Moment::Start);
}

#[test]
fn a_run_killed_while_workloads_run_is_restored() {
    kill_and_restore("killed while workloads run", Moment::Run);
}

#[test]
fn a_run_killed_while_workloads_are_stopped_is_restored() {
    kill_and_restore("killed while workloads are stopped", Moment::Stop);
}

#[test]
fn restore_and_a_second_run_leave_a_run_in_progress_alone() {
    let Some(bench) = Bench::on_host("restore beside a run in progress") else { return };
    let run = run_until(&bench, Moment::Run);
    let mut command = bench.program();
    let beside = command.arg("restore").output().unwrap();
    assert_eq!(beside.status.code(), Some(0));
    let stderr = String::from_utf8(beside.stderr).unwrap();
    assert!(stderr.contains("is in progress; it was left alone"), "{stderr}");
    let study = bench.path("study.toml");
    let second = bench
        .program()
        .args(["run", "--yes"])
        .arg(study)
        .arg("--out")
        .arg("second")
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(4));
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert!(stderr.contains("is in progress (process "), "{stderr}");
    assert!(!bench.path("second").exists() && stderr.contains("`--wait`"), "{stderr}");
    assert!(!crate::running::processes_in(bench.folder()).is_empty(), "workloads go on");
    let mut queued = bench.program();
    queued.args(["run", "--yes"]).arg(bench.path("study.toml")).args([
        "--out",
        "third",
        "--duration",
        "1s",
        "--wait",
    ]);
    let output = bench.path("output");
    std::fs::create_dir(&output).unwrap();
    let mut queued = Running::start(queued, &output, bench.path("third"));
    queued.wait_until("its place in the queue", |run| run.stderr().contains("waiting until run "));
    run.signal(Signal::TERM);
    run.end(Duration::from_secs(60)).assert_code(130);
    queued.end(Duration::from_secs(60)).assert_verdict();
    bench.assert_host_is_as_before("interrupted");
}
