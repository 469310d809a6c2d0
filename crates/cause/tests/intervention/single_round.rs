//! What rests on a single round is marked, and concludes nothing.

use assay_cause::{Effect, Finding};
use assay_judge::verdict::Verdict;

use crate::explained::{BROKEN, KEPT, explained, explained_by, finding, interventions};

/// One round in which the change removed the error, possibly by chance.
#[test]
fn one_round_confirms_nothing_and_rules_nothing_out() {
    let mut run = interventions(&[&[BROKEN], &[KEPT], &[BROKEN]]);
    run.eightfold = false;
    let (found, _) = explained_by(&run.judge(), 1, 1);
    assert_eq!(found.verdict, Verdict::Undecided);
    for (arm, code) in found.arms.iter().zip(["C-TAG-CAP", "C-INJECTION"]) {
        assert_eq!(arm.effect, Effect::Open, "{arm:#?}");
        assert_eq!(finding(&found, code), Finding::Open);
        assert_eq!(arm.repeats, 1);
        assert!(arm.predictions.iter().all(|one| one.right.is_none()), "{:#?}", arm.predictions);
    }
    assert_eq!(found.repeats, 1);
    assert!(
        found.sentence.contains("Measured again in a single round, io.bytes is off by"),
        "{}",
        found.sentence
    );
    let said = &found.causes.iter().find(|cause| cause.code == "C-TAG-CAP").unwrap().evidence;
    assert!(said[0].contains("one round cannot be told from chance"), "{said:?}");
    assert!(said.iter().all(|line| !line.contains(": right")), "{said:?}");
}

/// A failed check is a fact of its round, and proves its cause; a kept promise is not.
#[test]
fn what_a_single_round_shows_is_marked() {
    let single = |shares: [f64; 4], idle: f64| {
        let mut run = interventions(&[&[shares], &[KEPT], &[shares]]);
        run.eightfold = false;
        for trial in &mut run.samples {
            let all = trial[0].iter_mut().filter(|table| table.source == "host_cpu");
            for column in all.flat_map(|table| &mut table.columns) {
                if ["idle_ns", "iowait_ns"].contains(&column.name.as_str()) {
                    let values = column.values.iter_mut().flatten();
                    values.for_each(|value| *value = (*value as f64 * idle) as u64);
                }
            }
        }
        explained_by(&run.judge(), 1, 1).0
    };
    let found = single(BROKEN, 0.0);
    assert_eq!((found.verdict, found.causes[0].finding), (Verdict::Void, Finding::Proven));
    assert!(found.sentence.ends_with("All figures are of a single round."), "{}", found.sentence);
    let found = explained(&[BROKEN, KEPT, BROKEN]).0;
    assert!(!found.sentence.contains("single round"), "{}", found.sentence);
}
