//! The whole document as JSON.

use crate::synthetic::Scenario;

#[test]
fn a_broken_promise_as_verdict_json() {
    let scenario =
        Scenario { outstanding: Some(256), mean_queue: 250.0, ..Scenario::new(&[100, 400]) };
    let judgement = scenario.shares(&[0.5, 0.5]).run().judge();
    insta::assert_snapshot!(serde_json::to_string_pretty(&judgement).unwrap());
}

#[test]
fn a_document_that_was_written_can_be_read() {
    let judgement = Scenario::new(&[100, 400]).run().judge();
    let text = serde_json::to_string(&judgement).unwrap();
    let read: assay_judge::verdict::Judgement = serde_json::from_str(&text).unwrap();
    assert_eq!(read.trials[0].promises[0].groups.len(), 2);
    assert_eq!(read.verdict, judgement.verdict);
}
