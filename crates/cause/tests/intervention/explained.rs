//! Explanations of synthetic interventions: what confirms or contradicts a cause, and what is
//! inconclusive.

use assay_cause::{
    Arm, Effect, Explanation, FRESH, Finding, Follows, Fresh, PERMUTE, Prediction, Question,
    excluded, explain, predict,
};
use assay_judge::verdict::{Judgement, Proof, ProofState, Verdict};

use crate::synthetic::{Run, Scenario};

const LADDER: [u32; 4] = [100, 200, 400, 800];
pub(crate) const KEPT: [f64; 4] = [1.0 / 15.0, 2.0 / 15.0, 4.0 / 15.0, 8.0 / 15.0];
pub(crate) const BROKEN: [f64; 4] = [0.12, 0.13, 0.30, 0.45];

/// Four groups that keep 32 requests each outstanding in a pool of 256, few of them in the queue.
fn scenario(shares: &[f64; 4]) -> Scenario {
    let base = Scenario { outstanding: Some(32), mean_queue: 100.0, ..Scenario::new(&LADDER) };
    base.shares(shares)
}

/// A run of these shares, with so many requests in the queue.
pub(crate) fn job(shares: &[f64; 4], mean_queue: f64) -> Run {
    let mut run = Scenario { mean_queue, ..scenario(shares) }.run();
    let attributes = &mut run.repeat().queues[0].at_start;
    attributes.insert("iosched/strict_guarantees".to_owned(), "0".to_owned());
    run
}

pub(crate) fn recorded() -> Run {
    job(&BROKEN, 100.0)
}

/// A run with one trial per arm and one repeat per round.
pub(crate) fn interventions(arms: &[&[[f64; 4]]]) -> Run {
    let mut all = recorded();
    all.manifest.trials.clear();
    all.samples.clear();
    for shares in arms {
        let mut each = shares.iter().map(|shares| scenario(shares).run());
        let mut one = each.next().unwrap();
        for (round, mut other) in (1..).zip(each) {
            other.manifest.trials[0].repeats[0].samples = format!("trial-00-repeat-{round:02}");
            one.manifest.trials[0].repeats.append(&mut other.manifest.trials[0].repeats);
            one.samples[0].append(&mut other.samples[0]);
        }
        all.manifest.trials.append(&mut one.manifest.trials);
        all.samples.append(&mut one.samples);
    }
    all
}

pub(crate) fn arm(name: &str, times: f64, tests: &[&str], trial: usize) -> Arm {
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

/// Rounds before the fresh ones.
const ROUNDS: usize = 4;

/// Explains identical rounds, the last of them fresh.
pub(crate) fn explained(shares: &[[f64; 4]]) -> (Explanation, Vec<Prediction>) {
    let each: Vec<Vec<[f64; 4]>> =
        shares.iter().map(|shares| vec![*shares; ROUNDS + FRESH]).collect();
    let each: Vec<&[[f64; 4]]> = each.iter().map(Vec::as_slice).collect();
    explained_by(&interventions(&each).judge(), 1, ROUNDS)
}

pub(crate) fn explained_by(
    again: &Judgement,
    looks: usize,
    before: usize,
) -> (Explanation, Vec<Prediction>) {
    let fresh = ["requests", "strict"].map(|arm| Fresh { arm: arm.to_owned(), from: before + 1 });
    explained_with(again, looks, &fresh)
}

fn explained_with(
    again: &Judgement,
    looks: usize,
    fresh: &[Fresh],
) -> (Explanation, Vec<Prediction>) {
    let recorded = recorded();
    let judged = recorded.promise();
    assert_eq!(judged.verdict, Verdict::Broken);
    let predictions = predict(&recorded.manifest.trials[0], &judged, &arms());
    let question = Question {
        promise: 0,
        was_broken: true,
        looks,
        fresh,
        suspects: &judged.causes,
        predictions: &predictions,
    };
    (consistent(explain(again, question, &arms()).unwrap()), predictions)
}

/// Asserts what holds of every explanation: its sentence follows from all its lines.
pub(crate) fn consistent(found: Explanation) -> Explanation {
    let said = found.sentence.as_str();
    let names = |code: &str| said.contains(code);
    let settled = [Finding::Proven, Finding::Confirmed];
    match found.causes.first() {
        Some(first) if settled.contains(&first.finding) => {
            assert!(names(&format!("({})", first.code)), "{found:#?}");
        }
        _ => assert!(!names("Proven (") && !names("Confirmed ("), "{found:#?}"),
    }
    let helped =
        found.arms.iter().any(|arm| matches!(arm.effect, Effect::Cured | Effect::Lessened));
    assert!(!(helped && names("None of ")), "{found:#?}");
    for cause in &found.causes {
        let excluded = cause.evidence.iter().any(|line| line.contains("events: excluded"));
        if excluded && cause.finding == Finding::Contradicted {
            let (_, after) = said.split_once("Contradictory (").unwrap();
            assert!(after.contains(&cause.code), "{found:#?}");
        } else if names("ruled out") {
            assert!(names(&cause.code), "{found:#?}");
        }
    }
    found
}

pub(crate) fn finding(found: &Explanation, code: &str) -> Finding {
    found.causes.iter().find(|cause| cause.code == code).unwrap().finding
}

#[test]
fn the_cap_is_suspected_first_where_requests_wait_in_front_of_the_scheduler() {
    let mut run = scenario(&BROKEN).run();
    // 32 outstanding each by latency times rate, and 40 in the queue.
    run.column("disk", "weighted_ms").iter_mut().flatten().for_each(|ms| *ms = *ms * 2 / 5);
    run.column("disk", "in_flight").iter_mut().flatten().for_each(|queue| *queue = 40);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
    assert_eq!(promise.causes[0].code, "C-TAG-CAP");
    let evidence = promise.causes[0].evidence.join("\n");
    for said in
        ["`task1` keeps 32 requests outstanding and may hold 17", "kept 128 outstanding, and 40"]
    {
        assert!(evidence.contains(said), "{evidence}");
    }
}

#[test]
fn only_more_of_a_measure_of_work_is_throughput() {
    let shares = [BROKEN, KEPT, BROKEN].map(|shares| vec![shares; ROUNDS + FRESH]);
    let each: Vec<&[[f64; 4]]> = shares.iter().map(Vec::as_slice).collect();
    let mut again = interventions(&each).judge();
    let shown = |again: &Judgement| {
        let (found, _) = explained_by(again, 1, ROUNDS);
        found.arms.iter().filter(|arm| arm.throughput.is_some()).count()
    };
    assert!(shown(&again) > 0);
    for trial in &mut again.trials {
        trial.promises[0].measure = "memory.refaults".to_owned();
    }
    assert_eq!(shown(&again), 0);
}

#[test]
fn a_prediction_made_before_is_scored_after() {
    let (found, predictions) = explained(&[BROKEN, KEPT, BROKEN]);
    let prediction = predictions
        .iter()
        .find(|one| (one.arm.as_str(), one.cause.as_str()) == ("requests", "C-TAG-CAP"));
    assert!(
        prediction.unwrap().why.contains("keeps 32 outstanding, its part is 68"),
        "{prediction:?}"
    );
    assert_eq!(found.arms[0].effect, Effect::Cured);
    assert_eq!(found.arms[1].effect, Effect::Unmoved);
    assert_eq!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
    assert_eq!(finding(&found, "C-INJECTION"), Finding::Refuted);
    let scored = found.arms[0]
        .predictions
        .iter()
        .find(|prediction| prediction.cause == "C-TAG-CAP")
        .unwrap();
    assert_eq!(scored.right, Some(true));
    assert!(found.sentence.contains("Confirmed (C-TAG-CAP)"), "{}", found.sentence);
    assert!(found.sentence.contains("as was predicted"), "{}", found.sentence);
}

/// More requests are unrelated to injection: that they cured the error contradicts it, although one
/// request in the device cured it too.
#[test]
fn a_wrong_prediction_for_another_change_contradicts_a_cause() {
    let (found, _) = explained(&[BROKEN, KEPT, KEPT]);
    assert_eq!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
    assert_eq!(finding(&found, "C-INJECTION"), Finding::Contradicted);
    assert_eq!(found.causes[0].code, "C-TAG-CAP");
}

#[test]
fn an_error_that_does_not_recur_confirms_nothing() {
    let (found, _) = explained(&[KEPT, KEPT, KEPT]);
    assert!(found.causes.iter().all(|cause| cause.finding != Finding::Confirmed), "{found:#?}");
    assert!(found.sentence.contains("did not recur"), "{}", found.sentence);
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
    explained_by(&again, looks, changed.len() - FRESH).0
}

#[test]
fn an_effect_in_every_round_confirms_where_the_overall_interval_does_not() {
    let found = explained_rounds(&[KEPT; 7], 6);
    let rounds = found.arms[0].rounds.unwrap();
    assert_eq!((rounds.rounds, rounds.within), (5, 5), "{rounds:?}");
    assert_eq!(found.arms[0].effect, Effect::Cured, "{found:#?}");
    assert_eq!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
    assert!(found.is_settled());
    assert_eq!(found.arms[1].effect, Effect::Unmoved);
    assert!(found.sentence.contains("from round to round"), "{}", found.sentence);
}

/// Four rounds of a change that helps in each, and no fresh ones.
#[test]
fn without_fresh_rounds_nothing_is_confirmed() {
    let rounds = |shares: [f64; 4]| [shares; 4];
    let again = interventions(&[&rounds(BROKEN), &rounds(KEPT), &rounds(BROKEN)]).judge();
    let (found, _) = explained_by(&again, 1, 4);
    assert_eq!((found.arms[0].effect, found.arms[0].confirmed), (Effect::Cured, None));
    assert_ne!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
}

#[test]
fn an_unsteady_change_stays_open_and_needs_more_rounds() {
    let changed: Vec<[f64; 4]> = (1..7).map(unsteady).collect();
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
    for code in ["C-REQUEST-POOL", "C-CPU-IMBALANCE"] {
        assert!(excluded(code, trial, &judged).is_some(), "{code}");
    }
    assert_eq!(excluded("C-TAG-CAP", trial, &judged), None);
}

/// In the first five rounds the change removed the error, in fresh ones it did not.
#[test]
fn an_effect_that_fresh_rounds_do_not_reproduce_confirms_nothing() {
    let mut changed = [KEPT; 7];
    changed[5..].copy_from_slice(&[unsteady(5), unsteady(6)]);
    let found = explained_rounds(&changed, 6);
    assert_eq!((found.arms[0].confirmed, found.arms[0].effect), (Some(false), Effect::Open));
    assert_ne!(finding(&found, "C-TAG-CAP"), Finding::Confirmed);
    assert!(!found.is_settled());
}

/// The first confirmation lacks a repeat; the second one is complete.
#[test]
fn an_incomplete_confirmation_does_not_hide_the_next() {
    let rounds = ROUNDS + 2 * FRESH;
    let (unchanged, changed) = (vec![BROKEN; rounds], vec![KEPT; rounds]);
    let mut run = interventions(&[&unchanged, &changed, &unchanged]);
    run.manifest.trials[1].repeats.remove(ROUNDS);
    run.samples[1].remove(ROUNDS);
    let again = run.judge();
    let fresh = |from: usize| Fresh { arm: "requests".to_owned(), from };
    let first = [fresh(ROUNDS + 1)];
    assert_eq!(explained_with(&again, 1, &first).0.arms[0].confirmed, None);
    let both = [fresh(ROUNDS + 1), fresh(ROUNDS + FRESH + 1)];
    assert_eq!(explained_with(&again, 1, &both).0.arms[0].confirmed, Some(true));
}

/// The change's second repeat failed and is left out: its third belongs to the third round.
#[test]
fn rounds_are_paired_by_number_and_not_by_index() {
    let unchanged: Vec<[f64; 4]> = vec![KEPT, KEPT, BROKEN, BROKEN];
    let mut run = interventions(&[&unchanged, &unchanged, &unchanged]);
    run.manifest.trials[1].repeats.remove(1);
    run.samples[1].remove(1);
    let (found, _) = explained_by(&run.judge(), 1, 10);
    let rounds = found.arms[0].rounds.unwrap();
    assert_eq!(rounds.rounds, 3);
    assert!((rounds.left - 1.0).abs() < 0.05, "nothing changed: {rounds:?}");
}

#[test]
fn exchanged_weights_show_what_an_error_follows() {
    // The heaviest weight gets half of its share, in whichever group; or the fourth group does.
    let follows_in = |rounds: usize, after: [f64; 4]| {
        let mut run = interventions(&[&vec![BROKEN; rounds], &vec![after; rounds]]);
        run.eightfold = false;
        let weights = ["200", "400", "800", "100"];
        let trial = &mut run.manifest.trials[1];
        for (group, weight) in trial.groups.iter_mut().zip(weights) {
            (group.knobs[0].asked, group.knobs[0].written) = (weight.to_owned(), weight.to_owned());
        }
        for repeat in &mut trial.repeats {
            for (reading, weight) in repeat.knobs.iter_mut().zip(weights) {
                let value = assay_host::facts::Available::Value(weight.to_owned());
                (reading.at_start, reading.at_end) = (value.clone(), value);
            }
        }
        let arms = [arm("unchanged", 1.0, &[], 0), arm(PERMUTE, 1.0, &[], 1)];
        let question = Question {
            promise: 0,
            was_broken: true,
            looks: 1,
            fresh: &[],
            suspects: &[],
            predictions: &[],
        };
        consistent(explain(&run.judge(), question, &arms).unwrap())
    };
    let follows = |after| follows_in(3, after);
    let rotated = [BROKEN[1], BROKEN[2], BROKEN[3], BROKEN[0]];
    assert_eq!(follows_in(1, rotated).follows, None, "one round");
    let found = follows(rotated);
    assert_eq!(found.follows, Some(Follows::Weight));
    assert!(found.sentence.contains("the error moved with them"), "{}", found.sentence);
    let errors: Vec<f64> = BROKEN.iter().zip(KEPT).map(|(seen, share)| seen / share).collect();
    let by_group = [2.0, 4.0, 8.0, 1.0].map(|weight: f64| weight / 15.0);
    let stayed: Vec<f64> =
        by_group.iter().zip(&errors).map(|(share, times)| share * times).collect();
    let all: f64 = stayed.iter().sum();
    let stayed: [f64; 4] =
        stayed.iter().map(|share| share / all).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(follows(stayed).follows, Some(Follows::Program));
}

fn proof(code: &str, state: ProofState) -> Proof {
    let (code, evidence) = (code.to_owned(), "the pool was full".to_owned());
    Proof { code, state, repeats: 4, of: 4, evidence }
}

/// No change helped, and none is needed: the unchanged trial itself says what it was and what it was not.
#[test]
fn what_events_prove_needs_no_change_and_what_they_exclude_is_not_tried() {
    let shares = [BROKEN, BROKEN, BROKEN].map(|shares| vec![shares; ROUNDS]);
    let each: Vec<&[[f64; 4]]> = shares.iter().map(Vec::as_slice).collect();
    let mut again = interventions(&each).judge();
    let before = explained_by(&again, 1, ROUNDS).0;
    assert!(!before.is_settled() && finding(&before, "C-TAG-CAP") != Finding::Proven);
    again.trials[0].promises[0].proofs = vec![
        proof("C-INJECTION", ProofState::Excluded),
        proof("C-WAKER", ProofState::Contributes),
        proof("C-TAG-CAP", ProofState::Proven),
    ];
    let (found, _) = explained_by(&again, 1, ROUNDS);
    assert!(found.is_settled());
    let first = &found.causes[0];
    assert_eq!((first.code.as_str(), first.finding), ("C-TAG-CAP", Finding::Proven));
    let said = "the kernel's events: proven in 4 of 4 rounds: the pool was full";
    assert_eq!(first.evidence[0], said);
    assert!(found.sentence.starts_with("Proven (C-TAG-CAP): "), "{}", found.sentence);
    assert_eq!(finding(&found, "C-INJECTION"), Finding::Excluded);
    // No change tests it: what the events say of it must not be lost.
    let waker = found.causes.iter().find(|cause| cause.code == "C-WAKER").unwrap();
    assert_eq!(waker.finding, Finding::Open);
    assert_eq!(
        waker.evidence[0],
        "the kernel's events: contributes in 4 of 4 rounds: the pool was full"
    );

    let mut judged = recorded().promise();
    let trial = &recorded().manifest.trials[0];
    assert_eq!(excluded("C-INJECTION", trial, &judged), None);
    judged.proofs = vec![proof("C-INJECTION", ProofState::Excluded)];
    assert_eq!(excluded("C-INJECTION", trial, &judged).as_deref(), Some("the pool was full"));
}

/// Whatever two changes did and whatever events say of their causes: no line of an explanation denies another.
#[test]
fn no_explanation_contradicts_itself() {
    use ProofState::{Contributes, Excluded, Proven};
    let states = [None, Some(Proven), Some(Excluded), Some(Contributes)];
    let tested = ["C-TAG-CAP", "C-INJECTION"];
    for did in [[BROKEN, BROKEN], [KEPT, BROKEN], [BROKEN, KEPT], [KEPT, KEPT]] {
        let shares = [BROKEN, did[0], did[1]].map(|shares| vec![shares; ROUNDS + FRESH]);
        let each: Vec<&[[f64; 4]]> = shares.iter().map(Vec::as_slice).collect();
        let mut again = interventions(&each).judge();
        for (cap, injection) in states.iter().flat_map(|cap| states.map(|other| (*cap, other))) {
            let said = tested.into_iter().zip([cap, injection]);
            again.trials[0].promises[0].proofs =
                said.filter_map(|(code, state)| Some(proof(code, state?))).collect();
            let (found, _) = explained_by(&again, 1, ROUNDS);
            let sentence = &found.sentence;
            let of = |code: &str, word: &str| sentence.contains(&format!("{word} ({code})"));
            for (code, arm) in tested.into_iter().zip(&found.arms) {
                let (finding, helped) = (finding(&found, code), arm.effect == Effect::Cured);
                assert!(
                    !(helped && [Finding::Excluded, Finding::Refuted].contains(&finding)),
                    "{found:#?}"
                );
                assert!(!(helped && sentence.contains("None of")), "{sentence}");
                let is_named = of(code, "Proven") || of(code, "Confirmed");
                let may_be = [Finding::Proven, Finding::Confirmed].contains(&finding);
                assert!(may_be || !is_named, "{code} is {finding:?}: {sentence}");
            }
            let cured = found.arms.iter().map(|arm| arm.effect == Effect::Cured);
            let denied = [cap, injection]
                .into_iter()
                .zip(cured)
                .any(|(state, cured)| cured && state == Some(Excluded));
            assert_eq!(denied, sentence.contains("Contradictory"), "{sentence}");
        }
    }
}
