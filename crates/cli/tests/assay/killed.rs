//! SIGKILL in every phase, then `assay restore`.

use std::time::Duration;

use rustix::process::Signal;

use crate::bench::Bench;
use crate::halt::{Moment, run_until};
use crate::study::Weights;

fn kill_and_restore(test: &str, moment: Moment) {
    let Some(bench) = Bench::on_busy_host(test) else { return };
    let run = run_until(&bench, moment);
    run.kill();

    let study = bench.write("next.toml", &Weights::small().text());
    let mut next = bench.program();
    next.arg("run").arg(study).arg("--out").arg(bench.path("next"));
    let next = bench.finish(next);
    next.assert_code(4);
    next.assert_says(&["ended without putting the host back", "assay restore"]);
    assert!(!bench.path("next").exists(), "a refused run makes no folder");

    let restored = bench.assay(["restore"]);
    restored.assert_code(0);
    restored.assert_says(&["took back: "]);
    assert_eq!(restored.stdout, "the host is as it was found\n");
    bench.assert_host_is_as_before(&format!("killed at {moment:?} and restored"));

    let again = bench.assay(["restore"]);
    again.assert_code(0);
    assert_eq!(again.stdout, "nothing to restore\n");

    // What was recorded until then is judged for what it is.
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
fn a_run_in_progress_is_left_alone_by_restore_and_by_a_second_run() {
    let Some(bench) = Bench::on_busy_host("restore beside a run in progress") else { return };
    let run = run_until(&bench, Moment::Run);
    let mut command = bench.program();
    let beside = command.arg("restore").output().unwrap();
    assert_eq!(beside.status.code(), Some(0));
    let said = String::from_utf8(beside.stderr).unwrap();
    assert!(said.contains("is in progress; it was left alone"), "{said}");
    let study = bench.path("study.toml");
    let second = bench.program().arg("run").arg(study).arg("--out").arg("second").output().unwrap();
    assert_eq!(second.status.code(), Some(4));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("is in progress (process "), "{said}");
    assert!(!bench.path("second").exists());
    assert!(!crate::running::processes_in(bench.folder()).is_empty(), "workloads go on");
    run.signal(Signal::TERM);
    run.end(Duration::from_secs(60)).assert_code(130);
    bench.assert_host_is_as_before("interrupted");
}
