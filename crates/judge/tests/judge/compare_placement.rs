//! Comparison of runs that promise a placement of threads and pages.

use std::collections::BTreeMap;

use assay_host::facts::Available;
use assay_judge::compare::Terms;
use assay_judge::verdict::{Equivalence, MeasureComparison, RunComparison};
use assay_record::run_folder::PlacementReading;

use crate::compare_runs::compare;
use crate::left_out::fault;
use crate::synthetic::Run;

/// A run with one repeat for each entry, which changes the reading of its only placement.
fn run(what: &str, repeats: usize, change: impl Fn(usize, &mut PlacementReading)) -> Run {
    let mut run = crate::placement::run(what);
    run.trial().repeats = vec![run.trial().repeats[0].clone(); repeats];
    run.samples[0] = vec![run.samples[0][0].clone(); repeats];
    for (index, repeat) in run.trial().repeats.iter_mut().enumerate() {
        repeat.samples = format!("samples/trial-00-repeat-{index:02}");
        change(index, &mut repeat.placements[0]);
    }
    run
}

/// Three or four numbers as often as makes nine.
fn often(numbers: &[u64]) -> Vec<u64> {
    match numbers.len() {
        3..5 => numbers.iter().copied().cycle().take(9).collect(),
        _ => numbers.to_vec(),
    }
}

/// Of 400 samples of threads so many were on the CPUs.
fn threads(on_cpus: &[u64]) -> Run {
    let often = often(on_cpus);
    run("threads", often.len(), |repeat, reading| reading.on_cpus = often[repeat])
}

/// Of two interleaved nodes the first has this part of the pages, in percent; half is in place.
fn pages(of_first: &[u64]) -> Run {
    let often = often(of_first);
    run("pages", often.len(), |repeat, reading| {
        let first = often[repeat];
        let by_node = BTreeMap::from([(0, first << 22), (1, (100 - first) << 22)]);
        reading.pages = Some(Available::Value(by_node));
    })
}

fn placed(found: &RunComparison) -> MeasureComparison {
    let all = found.trials[0].measures.iter();
    let mut placed = all.filter(|one| one.of == "in_place" && one.decides);
    placed.next().unwrap_or_else(|| panic!("{:?}", found.trials[0].measures)).clone()
}

fn against(a: &Run, b: &Run, baseline: bool) -> RunComparison {
    compare(a, b, &Terms { baseline, ..Terms::default() })
}

#[test]
fn less_in_place_is_worse_although_both_are_broken() {
    // 80 % and 70 % of the pages are in place: 50 % of one node, and the rest of the other.
    let (a, b) = (pages(&[70, 70, 69, 70]), pages(&[80, 80, 81, 80]));
    let found = against(&a, &b, true);
    assert_eq!(found.trials[0].promises[0].change, Equivalence::Equal, "both are broken");
    let one = placed(&found);
    assert_eq!(one.group.as_deref(), Some("task1.reader"));
    assert!((one.a.value.unwrap() - 0.8).abs() < 0.01, "{one:?}");
    assert!((one.b.value.unwrap() - 0.7).abs() < 0.01, "{one:?}");
    assert_eq!((one.verdict, found.verdict), (Equivalence::Worse, Equivalence::Worse));
    assert!(found.reason.contains("`pages` of `task1.reader`"), "{}", found.reason);
    assert_eq!(against(&b, &a, true).verdict, Equivalence::Better);
    assert_eq!(against(&a, &b, false).verdict, Equivalence::Different);
}

#[test]
fn the_same_part_in_place_is_equal() {
    for (a, b) in [
        (pages(&[70, 70, 71, 70]), pages(&[70, 71, 70, 70])),
        (threads(&[400; 4]), threads(&[400; 4])),
    ] {
        let found = against(&a, &b, false);
        assert_eq!(placed(&found).verdict, Equivalence::Equal, "{:?}", placed(&found));
    }
    // A thread that stays elsewhere for a second is 5 % of these windows of 20 s.
    let found = against(&threads(&[300, 280, 310]), &threads(&[290, 300, 280]), false);
    assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
    assert!(found.reason.contains("`threads` of `task1.reader` in place"), "{}", found.reason);
}

#[test]
fn nothing_in_place_is_worse_than_something() {
    let found = against(&threads(&[390, 392, 388]), &threads(&[0, 0, 0]), true);
    assert_eq!(found.verdict, Equivalence::Worse, "{}", found.reason);
    let found = against(&threads(&[200, 210, 190]), &threads(&[0, 0, 0]), true);
    assert_eq!(placed(&found).verdict, Equivalence::Worse, "{:?}", placed(&found));
}

#[test]
fn one_repeat_compares_no_placement() {
    let found = against(&threads(&[400]), &threads(&[100, 110, 90]), false);
    assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
    assert_eq!(placed(&found).low, None);
}

#[test]
fn a_repeat_without_a_reading_is_named() {
    let mut lost = pages(&[70, 70, 70]);
    lost.trial().repeats[1].placements[0].pages =
        Some(Available::NotAvailable("numa_maps is not readable".to_owned()));
    let found = against(&pages(&[70, 70, 70]), &lost, false);
    let why = placed(&found).not_available.unwrap();
    assert!(why.contains("in B: ") && why.contains("repeat 2"), "{why}");
    assert!(why.contains("numa_maps is not readable"), "{why}");
    assert_eq!(found.verdict, Equivalence::Undecided, "{}", found.reason);
}

#[test]
fn a_left_out_repeat_that_was_elsewhere_forbids_equality() {
    let same = [400; 9];
    let mut other = threads(&[400, 400, 400, 400, 400, 400, 400, 400, 40]);
    assert_eq!(
        placed(&against(&threads(&same), &threads(&same), false)).verdict,
        Equivalence::Equal
    );
    other.trial().repeats[8].fault = fault("interrupted");
    let one = placed(&against(&threads(&same), &other, false));
    assert_eq!(one.verdict, Equivalence::Undecided, "{one:?}");
    assert!(one.objection.unwrap().contains("repeat 9 of B, which is left out"));
}
