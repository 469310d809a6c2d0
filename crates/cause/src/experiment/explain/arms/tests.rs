//! Which changes are chosen, for recorded runs.

use assay_record::run_folder::Run;
use assay_run::prepare::Destination;
use assay_sys::exit::Code;
use assay_sys::files::Trust;
use assay_test_support::hosts::host;

use super::*;
use crate::replay::as_recorded_now;

fn target(name: &str) -> Target {
    let temp = tempfile::tempdir().unwrap();
    let run = Run::load(&as_recorded_now(name, &temp)).unwrap();
    let judgement = crate::judge(&run.manifest, &run.samples);
    Target::find(&run.manifest, &judgement, None).unwrap()
}

fn choose(target: &Target, facts: &HostFacts, only: &[&str]) -> Result<Chosen, Error> {
    choose_in(target, facts, only, false)
}

fn choose_in(
    target: &Target,
    facts: &HostFacts,
    only: &[&str],
    is_lab: bool,
) -> Result<Chosen, Error> {
    let options = ExplainOptions {
        trial: None,
        at_most: None,
        rounds: None,
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        destination: Destination { out: None, trust: Trust::Checked },
        trust_run: true,
    };
    let plan = |study: &Study| assay_study::plan::plan(study, facts, 0);
    Chooser::new(target, facts, &options, is_lab, &plan).choose()
}

fn names(chosen: &Chosen) -> Vec<&str> {
    chosen.arms.iter().map(|arm| arm.name.as_str()).collect()
}

/// The recorded trial as if a suspicion fitted its broken shares.
fn suspected(code: &str) -> Target {
    let mut target = target("low-latency-on");
    target.judged.verdict = Verdict::Broken;
    target.judged.causes.retain(|cause| cause.code == "C-CPU");
    target.judged.causes[0].code = code.to_owned();
    target
}

#[test]
fn a_cause_that_a_check_proves_leaves_only_its_own_remedies_to_try() {
    let target = target("one-cpu");
    let chosen = choose(&target, &host(false), &[]).unwrap();
    let [unchanged, others @ ..] = chosen.arms.as_slice() else { panic!("no arms") };
    assert_eq!((unchanged.name.as_str(), unchanged.trial.clone()), ("unchanged", Ok(0)));
    assert!(!others.is_empty());
    let proven: Vec<&str> = target.suspects().iter().map(|cause| cause.code.as_str()).collect();
    for arm in others {
        let tests = arm.tests.iter().all(|code| proven.contains(&code.as_str()));
        assert!(tests, "{}: {:?}", arm.name, arm.tests);
    }
}

#[test]
fn a_suspicion_is_tested_first_and_then_everything_that_breaks_shares() {
    let code = "C-REQUEST-POOL";
    let chosen = choose(&suspected(code), &host(false), &[]).unwrap();
    let own = cause_entry(code).unwrap().tests;
    assert_eq!(names(&chosen)[1..=own.len()], *own);
    assert!(chosen.arms.len() > own.len() + 2, "{:?}", names(&chosen));
    assert_eq!(names(&chosen).last(), Some(&PERMUTE), "the weights are unequal");
    // Trials are numbered in the order of the possible arms.
    let possible: Vec<&Arm> = chosen.arms.iter().filter(|arm| arm.trial.is_ok()).collect();
    assert_eq!(possible.len(), chosen.trials.len());
    for (number, (arm, (name, _))) in possible.iter().zip(&chosen.trials).enumerate() {
        assert_eq!((&arm.name, &arm.trial), (name, &Ok(number)));
    }
}

#[test]
fn only_what_is_requested_is_tried() {
    let target = suspected("C-REQUEST-POOL");
    let chosen = choose(&target, &host(false), &["requests", "low-latency"]).unwrap();
    assert_eq!(names(&chosen), ["unchanged", "requests", "low-latency"]);
    let request_pool = ("nr_requests".to_owned(), "1024".to_owned());
    assert!(chosen.trials[1].1.disks[0].queue.contains(&request_pool));
    let why = Err("`iosched/low_latency` is already 0".to_owned());
    assert_eq!(chosen.arms[2].trial, why);
    let error = choose(&target, &host(false), &["no-such"]).err().unwrap();
    assert_eq!(error.code, Code::Usage);
    assert!(error.to_string().contains("unknown cause or change `no-such`"), "{error}");
}

#[test]
fn more_requests_are_as_many_as_the_groups_keep_outstanding() {
    let mut target = target("low-latency-on");
    // Which has no caps.
    target.repeat.queues[0].scheduler_at_start = "mq-deadline".to_owned();
    target.repeat.queues[0].at_start.insert("nr_requests".to_owned(), "32\n".to_owned());
    for (outstanding, expected) in [(None, 128), (Some(500), 1000), (Some(9000), MOST_REQUESTS)] {
        target.outstanding = outstanding;
        let (change, times) =
            intervention("requests", &target, &host(false), DEFAULT_LENGTH).unwrap();
        assert!(change.to_string().contains(&expected.to_string()), "{change}");
        assert!((times - f64::from(expected) / 32.0).abs() < 1e-9);
    }
    target.repeat.queues[0].at_start.insert("nr_requests".to_owned(), "2048".to_owned());
    let refused = intervention("requests", &target, &host(false), DEFAULT_LENGTH).unwrap_err();
    assert_eq!(refused, "`nr_requests` is already 2048");
}

#[test]
fn caps_ask_for_more_requests_and_for_fewer_outstanding_where_those_are_too_few() {
    let mut target = target("low-latency-on");
    target.repeat.queues[0].scheduler_at_start = "bfq".to_owned();
    target.repeat.queues[0].at_start.insert("nr_requests".to_owned(), "256".to_owned());
    let weights: f64 = target.judged.groups.iter().filter_map(|group| group.knob).sum();
    let mut changes = |outstanding: u32| {
        for group in &mut target.trial.groups {
            group.workloads.iter_mut().for_each(|one| one.io.outstanding = Some(outstanding));
        }
        let of = |name| intervention(name, &target, &host(false), DEFAULT_LENGTH);
        let text = |change: Result<(Intervention, f64), String>| match change {
            Ok((change, _)) => change.to_string(),
            Err(why) => why,
        };
        [of("requests"), of("iodepth"), of("room")].map(text)
    };
    assert_eq!(weights, 1500.0, "the lightest of four has a part of 17 requests of 256");
    let [_, _, room] = changes(16);
    assert!(room.contains("hold what groups keep"), "{room}");
    let [requests, iodepth, room] = changes(64);
    assert_eq!(
        requests, "`nr_requests` = 2048",
        "1024 are 68 for the lightest, hardly more than 64"
    );
    assert_eq!(iodepth, "iodepth / 4");
    assert!(room.contains("hold what groups keep"), "{room}");
    let [requests, iodepth, room] = changes(512);
    assert_eq!(requests, "`nr_requests` = 2048");
    assert_eq!(iodepth, "iodepth / 4");
    assert_eq!(room, "`nr_requests` = 2048 with iodepth / 8", "a quarter is 128 of 137");
}

/// The lightest of 256 groups: it may hold 2 of 2048 requests, and got nothing for a minute while it kept 2.
#[test]
fn a_group_that_keeps_just_its_cap_has_no_room() {
    let mut target = target("low-latency-on");
    target.repeat.queues[0].scheduler_at_start = "bfq".to_owned();
    target.judged.groups[0].expected_share = 2.4 / f64::from(MOST_REQUESTS);
    let mut room = |outstanding: u32| {
        for group in &mut target.trial.groups {
            group.workloads.iter_mut().for_each(|one| one.io.outstanding = Some(outstanding));
        }
        room(&target, Some("256"))
    };
    let by = |by| Ok(Intervention::Room { requests: MOST_REQUESTS, by });
    assert_eq!((room(2), room(32)), (by(2), by(32)));
    assert!(room(1).unwrap_err().contains("hold what groups keep"));
    target.judged.groups[0].expected_share = 1.4 / f64::from(MOST_REQUESTS);
    let none = super::room(&target, Some("256")).unwrap_err();
    assert!(none.contains("with one request outstanding each"), "{none}");
}

#[test]
fn a_trial_that_did_not_fail_or_is_not_there_is_not_explained() {
    let temp = tempfile::tempdir().unwrap();
    let run = Run::load(&as_recorded_now("one-cpu", &temp)).unwrap();
    let mut judgement = crate::judge(&run.manifest, &run.samples);
    assert_eq!(Target::find(&run.manifest, &judgement, Some(1)).unwrap().number, 0);
    let refused = |judgement: &assay_judge::verdict::Judgement, number| {
        Target::find(&run.manifest, judgement, Some(number)).err().unwrap().to_string()
    };
    for number in [0, 99] {
        let error = refused(&judgement, number);
        assert!(error.contains(&format!("no trial {number}")), "{error}");
    }
    for promise in &mut judgement.trials[0].promises {
        promise.verdict = Verdict::Kept;
    }
    assert!(refused(&judgement, 1).contains("is broken or void"));
}

#[test]
fn another_scheduler_needs_one_that_obeys_weights() {
    let mut target = target("low-latency-on");
    let other = |target: &Target, v2| another_scheduler(target, &host(v2));
    assert_eq!(other(&target, true), Ok(Intervention::Scheduler("none".to_owned())));
    assert!(other(&target, false).unwrap_err().contains("on cgroup v1 no other scheduler"));
    target.repeat.queues[0].scheduler_at_start = "none".to_owned();
    assert_eq!(other(&target, false), Ok(Intervention::Scheduler("bfq".to_owned())));
}

#[test]
fn a_host_that_cannot_repeat_the_trial_is_left_alone() {
    let facts = HostFacts { schedulers: vec!["none".to_owned()], ..host(false) };
    let error = choose(&target("low-latency-on"), &facts, &[]).err().unwrap();
    assert_eq!((error.code, error.note.as_deref()), (Code::Host, Some("nothing was touched")));
    assert!(error.to_string().contains("`bfq`"), "{error}");
}

#[test]
fn repeats_are_no_longer_than_ten_seconds_unless_requested() {
    let chosen = choose(&target("one-cpu"), &host(false), &[]).unwrap();
    assert!(chosen.trials[0].1.at_most <= DEFAULT_LENGTH);
}

#[test]
fn the_mode_of_weights_is_switched_in_guests_of_the_lab_only() {
    let target = suspected("C-WEIGHT-MODE");
    let mut facts = host(false);
    let concur = || Available::Value("concur".to_owned());
    facts.weight_mode = concur();
    facts.settings.insert(WEIGHT_MODE.to_owned(), concur());
    let why = |is_lab| {
        let chosen = choose_in(&target, &facts, &["weight-mode"], is_lab).unwrap();
        chosen.arms.into_iter().nth(1).unwrap().trial.err()
    };
    assert!(why(false).is_some_and(|why| why.contains("assay lab exec")));
    assert_eq!(why(true), None);
}
