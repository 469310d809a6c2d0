//! What the sentences call their numbers: measured ones, their intervals, and the noise of one window.

use assay_run_folder::{EveryRecord, RelationRecord};
use assay_verdict::Verdict;

use crate::synthetic::{Scenario, Server};

const LADDER: [u32; 4] = [100, 200, 400, 800];

/// One repeat is a fact about its window: no confidence in anything beyond it.
#[test]
fn one_repeat_has_no_confidence() {
    let one = |shares: &[f64]| {
        let scenario = Scenario { alone: true, ..Scenario::new(&LADDER) };
        scenario.shares(shares).run().promise()
    };
    let exact: Vec<f64> = LADDER.iter().map(|weight| f64::from(*weight) / 1500.0).collect();
    let (kept, broken) = (one(&exact), one(&[0.25; 4]));
    let near = one(&[0.0737, 0.1333, 0.2667, 0.5263]);
    for (promise, said) in [
        (&kept, "% given the noise within the window; one repeat shows only its own window"),
        (&near, "given the noise within the window, which leaves open"),
        (&broken, "% given the noise within the window, over all of 4 groups"),
    ] {
        assert!(!promise.reason.contains("confidence"), "{}", promise.reason);
        assert!(promise.reason.contains(said), "no `{said}` in {}", promise.reason);
        // The fact has the counters' grain as its only error.
        assert!(promise.reason.contains("by the counters' grain"), "{}", promise.reason);
    }
    let three = Scenario { repeats: 3, ..Scenario::new(&LADDER) }.run().promise();
    assert!(three.reason.contains("with 95.0 % confidence"), "{}", three.reason);
}

#[test]
fn spans_of_one_repeat_are_counted_without_an_interval() {
    let mut scenario = Scenario { alone: true, ..Scenario::new(&LADDER) };
    scenario.promise.every = Some(EveryRecord { span_s: 1.0, part: 0.9 });
    let reason = scenario.run().promise().reason;
    assert!(reason.contains("100 % of its spans of 1.0 s, where 90.0 % was promised"), "{reason}");
}

/// The upper end of an interval was printed as what was used.
#[test]
fn a_limit_that_never_bound_shows_the_measured_use_and_its_interval() {
    let server = Server::Noise { deviation: 0.3, correlation: 0.3 };
    let scenario = Scenario { server, repeats: 3, between: 0.03, ..Scenario::new(&[100, 100]) };
    let run = scenario.promise("io.bytes", RelationRecord::AtMost(900e6)).run();
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
    let most = promise.groups.iter().max_by(|a, b| a.high.total_cmp(&b.high)).unwrap();
    let mega = |value: f64| format!("{:.1} MB/s", value / 1e6);
    assert_ne!(mega(most.share), mega(most.high), "the test shows nothing");
    let said = format!(
        "no group came near it: `{}` used {} ({} to {} over 3 repeats)",
        most.name,
        mega(most.share),
        mega(most.low),
        mega(most.high)
    );
    assert!(promise.reason.contains(&said), "no `{said}` in {}", promise.reason);
}
