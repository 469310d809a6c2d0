//! Metrics that are known to one unit, and zeros among them.

use assay_run_folder::RelationRecord;
use assay_verdict::{PromiseJudgement, Verdict};

use crate::metrics::run;

/// These numbers of one group by this name.
fn named(measure: &str, relation: RelationRecord, within: f64, values: &[f64]) -> PromiseJudgement {
    let mut run = run(relation, &[values.to_vec()]);
    run.trial().promises[0].measure = format!("reader.{measure}");
    run.trial().promises[0].within = within;
    for (repeat, value) in run.trial().repeats.iter_mut().zip(values) {
        repeat.workloads[0].metrics.insert(measure.to_owned(), *value);
    }
    run.promise()
}

#[test]
fn a_fraction_that_is_all_or_nothing_is_no_count() {
    let all = named("second_read_memory_part", RelationRecord::AtLeast(1.0), 0.01, &[1.0; 3]);
    assert_eq!(all.verdict, Verdict::Kept, "{}", all.reason);
    let none = named("second_read_disk_part", RelationRecord::AtMost(0.1), 0.01, &[0.0; 3]);
    assert_eq!(none.verdict, Verdict::Kept, "{}", none.reason);
    // Numbers of which one is whole by chance are no counts either.
    let near = named("rise", RelationRecord::AtMost(1.0), 0.1, &[0.999, 1.0, 1.001]);
    assert_eq!(near.verdict, Verdict::Kept, "{}", near.reason);
}

#[test]
fn the_same_count_nearly_always_is_known_to_one_unit() {
    let of = |values: &[f64]| named("errors", RelationRecord::AtMost(3.0), 0.1, values);
    let mut nearly = vec![3.0; 9];
    nearly.push(4.0);
    for values in [&[3.0; 10][..], &nearly] {
        assert_eq!(of(values).verdict, Verdict::Undecided, "{}", of(values).reason);
    }
    // What scatters by half a unit or more includes the rounding.
    let both = [[3.0, 4.0]; 50].concat();
    let found = named("errors", RelationRecord::AtMost(4.0), 0.01, &both);
    assert_eq!(found.verdict, Verdict::Kept, "{}", found.reason);
}

#[test]
fn more_zeros_bound_a_count_more_closely() {
    let of = |values: &[f64]| named("errors", RelationRecord::AtMost(0.5), 0.1, values);
    assert_eq!(of(&[0.0; 3]).verdict, Verdict::Undecided);
    assert_eq!(of(&[0.0; 3]).needs_repeats, Some(7), "{}", of(&[0.0; 3]).reason);
    assert_eq!(of(&[0.0; 10]).verdict, Verdict::Kept, "{}", of(&[0.0; 10]).reason);
    assert!((of(&[0.0; 10]).groups[0].high - 0.369).abs() < 0.003);
    // One event in ten repeats may be 5.6, and leaves more open than none.
    let mut once = vec![0.0; 9];
    once.push(1.0);
    assert!((of(&once).groups[0].high - 0.557).abs() < 0.005, "{}", of(&once).reason);
    assert_eq!(of(&once).verdict, Verdict::Undecided);
}

#[test]
fn a_lower_number_never_breaks_an_upper_bound() {
    let of = |values: &[f64]| named("waited_s", RelationRecord::AtMost(1.4), 0.1, values);
    let mut values = [[0.2, 5.0]; 30].concat();
    let kept = of(&values);
    assert_eq!(kept.verdict, Verdict::Kept, "{}", kept.reason);
    values[0] = 0.0;
    let lower = of(&values);
    assert_eq!(lower.verdict, Verdict::Kept, "{}", lower.reason);
    assert!((lower.groups[0].share - kept.groups[0].share).abs() < 1e-9, "{lower:?}");
    // The others are far off by themselves, and so is the mean of all.
    let mut far = [[5.0, 5.1]; 30].concat();
    far[0] = 0.0;
    assert_eq!(of(&far).verdict, Verdict::Broken, "{}", of(&far).reason);
}
