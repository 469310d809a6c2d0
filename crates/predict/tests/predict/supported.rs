//! What a prediction does not say: that a promise is kept which the run could not show to be kept, or
//! which nothing here was measured for.

use assay_plan::{Plan, RepeatId, plan};
use assay_predict::{Basis, Cost, Costs, Prediction, RequestKind, predict, supported_verdict};
use assay_run_folder::EveryRecord;
use assay_study::{Study, parse, shipped, shipped_file};
use assay_test_support::hosts::host;
use assay_verdict::Verdict;

fn study(name: &str) -> Study {
    let found = shipped().iter().find(|study| study.name == name).unwrap();
    parse(name, found.text, &shipped_file).0.unwrap()
}

/// A plan with as many repeats of each trial.
fn planned(name: &str, repeats: usize) -> Plan {
    let mut plan = plan(&study(name), &host(false), 1);
    let slots = |repeat: usize| {
        (0..plan.trials.len()).map(move |trial| RepeatId { trial, repeat: repeat as u32 })
    };
    plan.slots = (0..repeats).flat_map(slots).collect();
    plan
}

/// Costs of a disk that leaves the CPUs idle.
fn measured() -> Costs {
    let cost = Cost { request_s: 1e-4, request_byte_s: 1e-9, cpu_s: 1e-6, cpu_byte_s: 1e-12 };
    RequestKind::ALL.iter().map(|kind| (kind.name().to_owned(), cost)).collect()
}

fn predicted(plan: &Plan, costs: &Costs) -> Prediction {
    let basis = Basis::Assumed("a test".to_owned());
    predict("test", plan, &host(false), costs, basis, 1)
}

fn verdicts(plan: &Plan) -> Vec<Option<Verdict>> {
    let prediction = predicted(plan, &measured());
    prediction.trials.iter().flat_map(|trial| &trial.promises).map(|one| one.verdict).collect()
}

#[test]
fn one_repeat_keeps_no_promise() {
    let twice = verdicts(&planned("io-weight", 2));
    assert!(twice.contains(&Some(Verdict::Kept)), "{twice:?}");
    let once = verdicts(&planned("io-weight", 1));
    assert!(once.iter().all(|one| *one == Some(Verdict::Undecided)), "{once:?}");
    let prediction = predicted(&planned("io-weight", 1), &measured());
    let promise = &prediction.trials[0].promises[0];
    assert!(promise.reason.contains("one repeat"), "{}", promise.reason);
    assert!(!promise.groups.is_empty() && promise.worst_error.is_some());
    assert_eq!(supported_verdict(&prediction, &planned("io-weight", 1)), Verdict::Undecided);
}

/// One repeat may show that a promise is broken, and that a test shows nothing.
#[test]
fn one_repeat_breaks_a_promise() {
    let mut once = planned("io-weight", 1);
    once.trials[0].disks[0].queue.push(("nr_requests".to_owned(), "8".to_owned()));
    assert!(
        verdicts(&once).iter().all(|one| *one == Some(Verdict::Broken)),
        "{:?}",
        verdicts(&once)
    );
    let prediction = predicted(&once, &measured());
    assert_eq!(supported_verdict(&prediction, &once), Verdict::Broken);
}

/// The formulas give means: nothing is known of single spans of time.
#[test]
fn spans_are_not_predicted_to_hold() {
    let mut plan = planned("io-weight", 5);
    assert_eq!(verdicts(&plan)[0], Some(Verdict::Kept));
    plan.trials[0].promises[0].every = Some(EveryRecord { span_s: 1.0, part: 0.95 });
    assert_eq!(verdicts(&plan)[0], Some(Verdict::Undecided));
}

#[test]
fn only_what_was_measured_and_compared_with_runs_is_supported() {
    let plan = planned("io-weight", 5);
    let known = predicted(&plan, &measured());
    assert!(known.trials[0].outside.is_empty(), "{:?}", known.trials[0].outside);
    assert_eq!(supported_verdict(&known, &plan), Verdict::Kept);
    // Without a calibration it is unknown whether the CPUs are the limit.
    let guess = predicted(&plan, &Costs::new());
    assert_eq!(guess.verdict, Some(Verdict::Kept));
    assert_eq!(supported_verdict(&guess, &plan), Verdict::Undecided);
    // One promise of several has no formula.
    let mut other = plan.clone();
    other.trials[0].promises[1].measure = "memory.current".to_owned();
    let partial = predicted(&other, &measured());
    assert_eq!(partial.verdict, Some(Verdict::Kept));
    assert_eq!(supported_verdict(&partial, &other), Verdict::Undecided);
    // Nor has a promise across trials.
    let across = Plan { comparisons: planned("memory-limit", 5).comparisons, ..plan.clone() };
    assert!(!across.comparisons.is_empty());
    assert_eq!(supported_verdict(&predicted(&across, &measured()), &across), Verdict::Undecided);
    let nothing = Plan { trials: Vec::new(), ..plan };
    assert_eq!(supported_verdict(&predicted(&nothing, &measured()), &nothing), Verdict::Undecided);
}
