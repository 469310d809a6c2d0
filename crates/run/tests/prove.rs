//! `assay blame --prove` on the real kernel: groups of which is known how much of a waiting they make. Others may use
//! the CPUs of the test as well, and take a part of what a group leaves; so the margins are wide.
// A panic in shared test code is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;
use std::time::Duration;

use assay_blame::collect::{
    BlameTarget, CommandOptions, Effect, HoldBy, Proof, ProveOptions, proof_text, prove,
};
use assay_host::facts::{Hierarchy, HostFacts};
use assay_host::gather;
use assay_run::blamed_command::blame_command;
use assay_run::context::Context;
use assay_run::exec::exec;
use assay_sys::kernel::Root;

use common::{HEAVY, lock, request, script};

/// A weight for groups that fill both CPUs: more of it would starve the test itself, to three minutes.
const FAIR: &str = "cpu.weight=1000";

/// A note on a thread without quota, which runs to its freezing point only with more of it: a thread that was charged
/// for what the hypervisor took stands still, but is not frozen yet.
const NOT_FROZEN: &str = "in 1 turns it was not frozen to the end";

fn path_of(name: &str) -> String {
    format!("/assay-test-{name}-{}", std::process::id())
}

fn options(culprit: &str, by: HoldBy) -> ProveOptions {
    ProveOptions {
        culprit: culprit.to_owned(),
        by,
        turns: 8,
        length: Duration::from_millis(400),
        seed: 3,
        allow_foreign: false,
    }
}

/// Waits until a group of the controller `cpu` has processes.
fn wait_for(facts: &HostFacts, path: &str) {
    let mount = match &facts.cgroup.controllers["cpu"].hierarchy {
        Hierarchy::V1(mount) | Hierarchy::V2(mount) => mount,
        Hierarchy::Absent(why) => panic!("{why}"),
    };
    let processes = mount.join(&path[1..]).join("cgroup.procs");
    while std::fs::read_to_string(&processes).unwrap_or_default().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // The shell starts what computes.
    std::thread::sleep(Duration::from_millis(500));
}

/// Groups by name, with their settings and the CPUs on which they compute.
type Groups<'a> = [(&'a str, &'a [&'a str], &'a [&'a str])];

/// What holding one of these groups back shows for the group `own`.
fn proven(groups: &Groups<'_>, culprit: &str, by: HoldBy) -> Proof {
    let folder = tempfile::tempdir().unwrap();
    let facts = gather(&Root::real()).unwrap();
    std::thread::scope(|scope| {
        let running = tempfile::NamedTempFile::new().unwrap();
        for (name, settings, cpus) in groups {
            let script = script(cpus, running.path());
            let request = request(folder.path(), name, settings, &script);
            let facts = &facts;
            scope.spawn(move || exec(&request, facts, &mut |_| ()).unwrap());
        }
        groups.iter().for_each(|(name, ..)| wait_for(&facts, &path_of(name)));
        let context =
            Context { state_dir: folder.path().join("prove"), ..Context::of_this_host(Vec::new()) };
        let target = BlameTarget::Group(path_of("own"));
        let options = options(&path_of(culprit), by);
        let mut said = String::new();
        let mut notify = |message: &str| said.push_str(message);
        let length = Duration::from_secs(1);
        let proven =
            prove((&context.root, &context.state_dir), &target, length, &options, &mut notify)
                .unwrap();
        assert!(proven.not_restored.is_empty(), "{:?}", proven.not_restored);
        assert!(said.contains("--prove will write "), "{said}");
        let proof = proven.proof.unwrap();
        assert_eq!(proof.turns.len(), 8, "{}", proof_text(&proof));
        let has_quota = groups.iter().any(|(_, settings, _)| settings.len() > 1);
        let notes = proof.notes.iter().filter(|note| !has_quota || *note != NOT_FROZEN);
        assert_eq!(notes.count(), 0, "{}", proof_text(&proof));
        proof
    })
}

fn effect(proof: &Proof) -> Effect {
    *proof.effect.value().unwrap_or_else(|| panic!("{}", proof_text(proof)))
}

fn attributed(proof: &Proof) -> f64 {
    proof.attributed_percent.unwrap()
}

#[test]
fn waiting_goes_away_with_the_only_hog() {
    let Some(_lock) = lock("prove: hog") else { return };
    for by in [HoldBy::Freezing, HoldBy::Weight] {
        let groups: &Groups<'_> = &[("own", &[HEAVY], &["0"]), ("hog", &[HEAVY], &["0"])];
        let proof = proven(groups, "hog", by);
        let text = proof_text(&proof);
        assert!(effect(&proof).percent > 40.0, "{by:?}: {text}");
        assert!(attributed(&proof) > 40.0, "{by:?}: {text}");
    }
}

/// One takes three times as much of its CPU from a thread as the other does from another thread.
#[test]
fn of_two_hogs_on_two_cpus_each_takes_its_part_away() {
    let Some(_lock) = lock("prove: two hogs") else { return };
    let groups: &Groups<'_> = &[
        ("own", &[FAIR], &["0", "1"]),
        ("three", &[FAIR, "cpu.max=45000 100000"], &["0"]),
        ("one", &[FAIR, "cpu.max=15000 100000"], &["1"]),
    ];
    for (culprit, truth) in [("three", 75.0), ("one", 25.0)] {
        let proof = proven(groups, culprit, HoldBy::Freezing);
        let text = proof_text(&proof);
        assert!((attributed(&proof) - truth).abs() < 15.0, "{culprit}: {text}");
        let effect = effect(&proof);
        let margin = 15.0;
        assert!(effect.low - margin < truth && truth < effect.high + margin, "{culprit}: {text}");
    }
}

#[test]
fn without_a_group_that_is_no_culprit_nothing_changes() {
    let Some(_lock) = lock("prove: innocent") else { return };
    let groups: &Groups<'_> =
        &[("own", &[HEAVY], &["0"]), ("hog", &[HEAVY], &["0"]), ("asleep", &[], &[])];
    let proof = proven(groups, "asleep", HoldBy::Freezing);
    let (text, effect) = (proof_text(&proof), effect(&proof));
    assert!(attributed(&proof) < 1.0, "{text}");
    assert!(effect.low < 10.0 && effect.high > -10.0, "{text}");
}

#[test]
fn lifting_a_quota_shows_its_part_while_the_command_runs() {
    let Some(_lock) = lock("prove: quota") else { return };
    let folder = tempfile::tempdir().unwrap();
    let settings = [HEAVY, "cpu.max=30000 100000"];
    let request = request(folder.path(), "own", &settings, "while :; do :; done");
    let command = CommandOptions {
        length: Some(Duration::from_secs(1)),
        prove: Some(options("own_quota", HoldBy::Freezing)),
    };
    let context = Context::of_this_host(Vec::new());
    let watched = blame_command(&context, &request, &command, &mut |_| ()).unwrap();
    assert!(watched.is_stopped && watched.outcome.not_restored.is_empty());
    let proof = watched.proof.unwrap();
    let text = proof_text(&proof);
    assert!(effect(&proof).percent > 40.0 && attributed(&proof) > 40.0, "{text}");
    assert!(!Path::new("/sys/fs/cgroup/cpu").join(&path_of("own")[1..]).exists(), "{text}");
}
