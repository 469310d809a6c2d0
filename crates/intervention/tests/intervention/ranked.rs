//! Several confirmed causes: the one that risked most comes first.

use assay_intervention::{FRESH, Finding, Fresh, Question, explain, predict};

use crate::explained::{BROKEN, KEPT, arm, finding, interventions, recorded};

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
    let question = Question {
        promise: 0,
        was_broken: true,
        looks: 1,
        fresh: &[Fresh { arm: "room".to_owned(), from: 5 }],
        suspects: &judged.causes,
        predictions: &predictions,
    };
    let found = explain(&again, question, &arms).unwrap();
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
