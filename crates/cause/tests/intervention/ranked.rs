//! Several confirmed causes: the one that risked most comes first.

use assay_cause::{
    Arm, Explanation, FRESH, Finding, Fresh, Prediction, Question, explain, predict,
};
use assay_judge::verdict::{Cause, Judgement};

use crate::explained::{BROKEN, KEPT, arm, consistent, finding, interventions, job, recorded};

/// Explains a run in which `room` was confirmed after four rounds.
fn with_room_confirmed(
    again: &Judgement,
    suspects: &[Cause],
    predictions: &[Prediction],
    arms: &[Arm],
) -> Explanation {
    let fresh = &[Fresh { arm: "room".to_owned(), from: 5 }];
    let question =
        Question { promise: 0, was_broken: true, looks: 1, fresh, suspects, predictions };
    consistent(explain(again, question, arms).unwrap())
}

/// A larger pool with fewer outstanding beside it removes the error. The cap predicted so; injection
/// predicted only that less would remain.
#[test]
fn of_confirmed_causes_the_one_with_the_narrowest_right_prediction_is_named_first() {
    let rounds = 4 + FRESH;
    let again = interventions(&[&vec![BROKEN; rounds], &vec![KEPT; rounds]]).judge();
    let arms = [arm("unchanged", 1.0, &[], 0), arm("room", 4.0, &["C-INJECTION", "C-TAG-CAP"], 1)];
    let recorded = recorded();
    let mut judged = recorded.promise();
    judged.causes.sort_by_key(|cause| cause.code != "C-INJECTION");
    let predictions = predict(&recorded.manifest.trials[0], &judged, &arms);
    let found = with_room_confirmed(&again, &judged.causes, &predictions, &arms);
    for code in ["C-INJECTION", "C-TAG-CAP"] {
        assert_eq!(finding(&found, code), Finding::Confirmed, "{code}: {found:#?}");
    }
    assert_eq!(found.causes[0].code, "C-TAG-CAP", "{found:#?}");
    assert!(found.sentence.contains("Confirmed (C-TAG-CAP)"), "{}", found.sentence);
    assert!(
        found.sentence.contains("do not distinguish it from C-INJECTION"),
        "{}",
        found.sentence
    );
}

/// Of the fresh rounds one may be as bad as any, so that the error over all of them is not within the margin.
#[test]
fn an_error_over_all_rounds_beyond_the_margin_is_not_called_within_it() {
    let broken = vec![BROKEN; 4 + FRESH];
    let mut changed = vec![KEPT; 4 + FRESH];
    changed[5] = [0.02, 0.08, 0.30, 0.60];
    let again = interventions(&[&broken, &changed]).judge();
    let arms = [arm("unchanged", 1.0, &[], 0), arm("room", 4.0, &["C-TAG-CAP"], 1)];
    let found = with_room_confirmed(&again, &recorded().promise().causes, &[], &arms);
    assert!(found.arms[0].error.unwrap().value > found.within, "{found:#?}");
    let sentence = found.sentence;
    assert!(
        sentence.contains("over all rounds, and within what was promised in 4 of 4"),
        "{sentence}"
    );
}

/// Four groups keep 32 requests each outstanding, as in the thesis, and the cap of the lightest keeps 15 of them out of
/// the queue. Sequential ones merge, so that the queue is shorter still. Its gain looks like injection's too.
#[test]
fn a_cap_that_keeps_out_what_the_queue_lacks_is_suspected_before_injection() {
    let first = |lightest: f64, mean_queue| {
        let rest = (1.0 - lightest) / 14.0;
        let shares = [lightest, 2.0 * rest, 4.0 * rest, 8.0 * rest];
        job(&shares, mean_queue).promise().causes[0].code.clone()
    };
    for lightest in [0.1, 0.26] {
        for (mean_queue, code) in
            [(20.0, "C-TAG-CAP"), (113.0, "C-TAG-CAP"), (126.0, "C-INJECTION")]
        {
            assert_eq!(first(lightest, mean_queue), code, "{lightest}, {mean_queue}");
        }
    }
}
