//! Explanations of made-up interventions: what confirms a cause, what contradicts it, and what
//! says nothing.

use assay_judge::{
    Arm, Effect, Explanation, Finding, Judgement, Prediction, Question, Verdict, excluded, explain,
    predict,
};

use crate::synthetic::{Run, Scenario};

const LADDER: [u32; 4] = [100, 200, 400, 800];
const KEPT: [f64; 4] = [1.0 / 15.0, 2.0 / 15.0, 4.0 / 15.0, 8.0 / 15.0];
const BROKEN: [f64; 4] = [0.12, 0.13, 0.30, 0.45];

/// Four groups that want 32 requests each of a pool of 256, of which few are in the queue.
fn scenario(shares: &[f64; 4]) -> Scenario {
    let base = Scenario { outstanding: Some(32), mean_queue: 100.0, ..Scenario::new(&LADDER) };
    base.shares(shares)
}

fn recorded() -> Run {
    let mut run = scenario(&BROKEN).run();
    let attributes = &mut run.repeat().queues[0].at_start;
    attributes.insert("iosched/strict_guarantees".to_owned(), "0".to_owned());
    run
}

/// A run with one trial an arm and one repeat a round.
fn interventions(arms: &[&[[f64; 4]]]) -> Run {
    let mut all = recorded();
    all.manifest.trials.clear();
    all.samples.clear();
    for shares in arms {
        let mut each = shares.iter().map(|shares| scenario(shares).run());
        let mut one = each.next().unwrap();
        for mut other in each {
            one.manifest.trials[0].repeats.append(&mut other.manifest.trials[0].repeats);
            one.samples[0].append(&mut other.samples[0]);
        }
        all.manifest.trials.append(&mut one.manifest.trials);
        all.samples.append(&mut one.samples);
    }
    all
}

fn arm(name: &str, times: f64, tests: &[&str], trial: usize) -> Arm {
    Arm {
        name: name.to_owned(),
        change: name.to_owned(),
        remedy: None,
        times,
        tests: tests.iter().map(|code| (*code).to_owned()).collect(),
        trial: Ok(trial),
    }
}

fn arms() -> Vec<Arm> {
    vec![
        arm("unchanged", 1.0, &[], 0),
        arm("requests", 4.0, &["C-TAG-CAP"], 1),
        arm("strict", 1.0, &["C-INJECTION"], 2),
    ]
}

/// What one round says.
fn explained(shares: &[[f64; 4]]) -> (Explanation, Vec<Prediction>) {
    let each: Vec<&[[f64; 4]]> = shares.chunks(1).collect();
    explained_by(&interventions(&each).judge(), 1)
}

fn explained_by(again: &Judgement, looks: usize) -> (Explanation, Vec<Prediction>) {
    let recorded = recorded();
    let judged = recorded.promise();
    assert_eq!(judged.verdict, Verdict::Broken);
    let predictions = predict(&recorded.manifest.trials[0], &judged, &arms());
    let question = Question {
        promise: 0,
        was_broken: true,
        looks,
        suspects: &judged.causes,
        predictions: &predictions,
    };
    (explain(again, question, &arms()).unwrap(), predictions)
}

fn finding(found: &Explanation, code: &str) -> Finding {
    found.causes.iter().find(|cause| cause.code == code).unwrap().finding
}

#[test]
fn the_cap_is_suspected_first_where_requests_wait_in_front_of_the_scheduler() {
    let mut run = scenario(&BROKEN).run();
    // 32 outstanding each by latency times rate, and 40 in the queue.
    for result in &mut run.repeat().workloads {
        result.latency.get_mut("read").unwrap().mean_ns *= 4.0;
    }
    run.column("disk", "weighted_ms").iter_mut().flatten().for_each(|ms| *ms = *ms * 2 / 5);
    run.column("disk", "in_flight").iter_mut().flatten().for_each(|queue| *queue = 40);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
    assert_eq!(promise.causes[0].code, "C-TAG-CAP");
    let evidence = promise.causes[0].evidence.join("\n");
    for said in ["`task1` wants 32 requests and may have 17", "kept 128 outstanding, and 40"] {
        assert!(evidence.contains(said), "{evidence}");
    }
}

#[test]
fn a_law_is_told_before_and_found_right_after() {
    let (found, predictions) = explained(&[BROKEN, KEPT, BROKEN]);
    let law = predictions
        .iter()
        .find(|one| (one.arm.as_str(), one.cause.as_str()) == ("requests", "C-TAG-CAP"));
    assert!(law.unwrap().law.contains("wants 32 and may have 68"), "{law:?}");
    assert_eq!(found.arms[0].effect, Effect::Cured);
    assert_eq!(found.arms[1].effect, Effect::Unmoved);
    assert_eq!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
    assert_eq!(finding(&found, "C-INJECTION"), Finding::Refuted);
    let scored = found.arms[0].laws.iter().find(|law| law.cause == "C-TAG-CAP").unwrap();
    assert_eq!(scored.right, Some(true));
    assert!(found.sentence.contains("confirmed (C-TAG-CAP)"), "{}", found.sentence);
    assert!(found.sentence.contains("as was predicted"), "{}", found.sentence);
}

/// More requests have nothing to do with injection: that they cured the error speaks against it,
/// although one request in the device cured it too.
#[test]
fn a_cause_whose_law_is_wrong_of_another_change_is_contradicted() {
    let (found, _) = explained(&[BROKEN, KEPT, KEPT]);
    assert_eq!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
    assert_eq!(finding(&found, "C-INJECTION"), Finding::Contradicted);
    assert_eq!(found.causes[0].code, "C-TAG-CAP");
}

#[test]
fn an_error_that_did_not_come_back_confirms_nothing() {
    let (found, _) = explained(&[KEPT, KEPT, KEPT]);
    assert!(found.causes.iter().all(|cause| cause.finding != Finding::Confirmed), "{found:#?}");
    assert!(found.sentence.contains("did not come back"), "{}", found.sentence);
}

/// The lightest group gets twice its share in one round and a third in the next.
fn unsteady(round: usize) -> [f64; 4] {
    match round % 3 {
        0 => [2.2 / 15.0, 1.5 / 15.0, 3.8 / 15.0, 7.5 / 15.0],
        1 => [0.3 / 15.0, 2.4 / 15.0, 4.3 / 15.0, 8.0 / 15.0],
        _ => [1.4 / 15.0, 2.6 / 15.0, 4.0 / 15.0, 7.0 / 15.0],
    }
}

fn explained_rounds(changed: &[[f64; 4]], looks: usize) -> Explanation {
    let unchanged: Vec<[f64; 4]> = (0..changed.len()).map(unsteady).collect();
    let again = interventions(&[&unchanged, changed, &unchanged]).judge();
    assert_ne!(again.trials[0].promises[0].verdict, Verdict::Broken);
    explained_by(&again, looks).0
}

#[test]
fn what_every_round_shows_confirms_where_no_interval_over_all_rounds_could() {
    let found = explained_rounds(&[KEPT; 5], 6);
    let rounds = found.arms[0].rounds.unwrap();
    assert_eq!((rounds.rounds, rounds.within), (5, 5), "{rounds:?}");
    assert_eq!(found.arms[0].effect, Effect::Cured, "{found:#?}");
    assert_eq!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
    assert!(found.is_settled());
    assert_eq!(found.arms[1].effect, Effect::Unmoved);
    assert!(found.sentence.contains("from round to round"), "{}", found.sentence);
}

#[test]
fn a_change_that_is_unsteady_itself_is_left_open_and_asks_for_more() {
    let changed: Vec<[f64; 4]> = (1..5).map(unsteady).collect();
    let found = explained_rounds(&changed, 6);
    assert_eq!(found.arms[0].effect, Effect::Open, "{found:#?}");
    assert!(found.arms[0].effect.may_change());
    assert_ne!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
    assert!(!found.is_settled());
}

#[test]
fn a_cause_that_the_recorded_run_rules_out_is_not_tried() {
    let run = recorded();
    let (trial, judged) = (&run.manifest.trials[0], run.promise());
    for code in ["C-REQUEST-POOL", "C-CFQ-REENTRY", "C-CPU-IMBALANCE"] {
        assert!(excluded(code, trial, &judged).is_some(), "{code}");
    }
    assert_eq!(excluded("C-TAG-CAP", trial, &judged), None);
}
