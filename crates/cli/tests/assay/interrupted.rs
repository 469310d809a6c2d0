//! Signals in every phase: the run ends by itself and restores the host. Other instants are drawn in `kills.rs`.

use std::time::Duration;

use rustix::process::Signal;

use crate::bench::Bench;
use crate::halt::{Moment, run_until};
use crate::running::json;

/// SIGTERM is sent only to the program, the others as from a terminal, also to programs such as mkfs that the run has started.
fn interrupt(test: &str, moment: Moment, signal: Signal, name: &str) {
    let Some(bench) = Bench::on_host(&format!("{name} while {test}")) else { return };
    let run = run_until(&bench, moment);
    if signal == Signal::TERM {
        run.signal(signal);
    } else {
        run.signal_from_terminal(signal);
    }
    let ended = run.end(Duration::from_secs(60));
    ended.assert_code(130);
    bench.assert_host_is_as_before(&format!("after {name} at {moment:?}"));
    let manifest = json(&bench.out().join("manifest.json"));
    let early = manifest["ended_early"].as_str().unwrap_or_default().to_owned();
    assert!(early.contains(&format!("interrupted by {name}")), "{name} {moment:?}: {early:?}");
    assert_eq!(manifest["restored"], true);
    let nothing = bench.assay(["restore"]);
    assert_eq!(nothing.stdout, "nothing to restore\n");
}

#[test]
fn a_run_interrupted_while_the_image_is_filled_restores_the_host() {
    interrupt("the image is filled", Moment::Filling, Signal::INT, "SIGINT");
}

#[test]
fn a_run_interrupted_after_the_image_is_attached_restores_the_host() {
    interrupt("file systems are made", Moment::Attached, Signal::INT, "SIGINT");
}

#[test]
fn a_run_interrupted_while_groups_are_made_restores_the_host() {
    interrupt("groups are made", Moment::Groups, Signal::QUIT, "SIGQUIT");
}

#[test]
fn a_run_interrupted_while_workloads_start_restores_the_host() {
    interrupt("workloads start", Moment::Start, Signal::TERM, "SIGTERM");
}

#[test]
fn a_run_interrupted_while_workloads_run_restores_the_host() {
    interrupt("workloads run", Moment::Run, Signal::INT, "SIGINT");
}

#[test]
fn a_run_interrupted_while_workloads_are_stopped_restores_the_host() {
    interrupt("workloads are stopped", Moment::Stop, Signal::TERM, "SIGTERM");
}
