//! Several repeats, lost samples, warm-up.

use assay_judge::verdict::Verdict;
use assay_record::run_folder::{Fault, WarmUpRecord};

use crate::synthetic::{Run, Scenario};

const LADDER: [u32; 4] = [100, 200, 400, 800];

fn nine() -> Run {
    Scenario { repeats: 9, seconds: 5.0, ..Scenario::new(&LADDER) }.run()
}

fn fault() -> Option<Fault> {
    Some(Fault { kind: "interrupted".to_owned(), message: "the user pressed Ctrl-C".to_owned() })
}

#[test]
fn repeats_are_judged_together() {
    let trial = nine().judge().trials.remove(0);
    assert_eq!((trial.repeats, trial.verdict), (9, Verdict::Kept), "{}", trial.promises[0].reason);
    assert!((trial.window_s - 44.1).abs() < 1.0, "{}", trial.window_s);
    assert!(trial.observer_cpu > 0.0);
}

#[test]
fn an_interrupted_repeat_is_left_out_by_name() {
    let mut run = nine();
    run.trial().repeats[1].fault = fault();
    let trial = run.judge().trials.remove(0);
    assert_eq!((trial.repeats, trial.verdict), (8, Verdict::Kept), "{}", trial.promises[0].reason);
    assert!(trial.validity[0].ok);
    assert!(
        trial.validity[0].evidence.contains("8 of 9 started repeats count; repeat 2 left out"),
        "{}",
        trial.validity[0].evidence
    );
}

#[test]
fn no_whole_repeat_is_void_and_still_shows_numbers() {
    let mut run = Scenario::new(&LADDER).run();
    run.repeat().fault = fault();
    let trial = run.judge().trials.remove(0);
    assert_eq!((trial.repeats, trial.verdict), (0, Verdict::Void));
    assert!(trial.promises[0].reason.contains("Ctrl-C"), "{}", trial.promises[0].reason);
    assert_eq!(trial.promises[0].groups.len(), 4);
}

#[test]
fn a_trial_that_never_ran_is_void() {
    let mut run = Scenario::new(&LADDER).run();
    run.trial().repeats.clear();
    run.samples[0].clear();
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert_eq!(promise.reason, "`repeats`: no repeat of this trial was started");
}

#[test]
fn lost_samples_are_void_and_not_zero() {
    let mut run = Scenario::new(&LADDER).run();
    run.samples[0][0] = Vec::new();
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains("the samples of this repeat are lost"), "{}", promise.reason);
    assert!(promise.groups.is_empty() && promise.worst_error.is_none());
}

#[test]
fn a_fixed_warm_up_is_obeyed() {
    let warm_up = WarmUpRecord::Seconds(5.0);
    let scenario = Scenario { warm_up, alone: true, ..Scenario::new(&LADDER) };
    let trial = scenario.run().judge().trials.remove(0);
    assert_eq!(trial.warm_up_s, 5.0);
    assert!((trial.window_s - 14.9).abs() < 0.11, "{}", trial.window_s);
}

#[test]
fn an_automatic_warm_up_is_half_a_second_and_at_most_a_fifth() {
    for (seconds, cut_s) in [(20.0, 0.5), (2.0, 0.4)] {
        let warm_up = WarmUpRecord::Auto;
        let scenario = Scenario { seconds, warm_up, alone: true, ..Scenario::new(&LADDER) };
        let trial = scenario.run().judge().trials.remove(0);
        assert!((trial.warm_up_s - cut_s).abs() < 1e-3, "{}", trial.warm_up_s);
    }
}
