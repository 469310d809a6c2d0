//! Comparison of numbers that are known to one unit only: a few requests or pages, and counts of
//! events.

use assay_judge::compare::Terms;
use assay_judge::verdict::{Equivalence, MeasureComparison};
use assay_record::run_folder::RelationRecord;

use crate::compare_runs::compare;
use crate::synthetic::{Run, Scenario};

/// Bytes of a request.
const BYTES: u64 = 65_536;

/// The groups serve these numbers of requests in each of the repeats.
fn serving(requests: &[u64], repeats: usize) -> Run {
    let weights = vec![100; requests.len()];
    let bound = RelationRecord::AtMost(1e9);
    let mut run = Scenario { repeats, ..Scenario::new(&weights) }.promise("io.ios", bound).run();
    for repeat in 0..repeats {
        serve(&mut run, repeat, requests);
    }
    run
}

/// Lets the groups serve so many requests in one repeat, all in the middle of the window.
fn serve(run: &mut Run, repeat: usize, requests: &[u64]) {
    for table in &mut run.samples[0][repeat] {
        let subjects = table.subject.clone();
        for column in &mut table.columns {
            let each = match column.name.as_str() {
                "read_ios" => 1,
                "read_bytes" => BYTES,
                "read_sectors" => BYTES / 512,
                "write_bytes" | "write_ios" | "write_sectors" => 0,
                _ => continue,
            };
            let mut rows = vec![0; requests.len()];
            for (value, subject) in column.values.iter_mut().zip(&subjects) {
                let row: &mut u64 = &mut rows[*subject as usize];
                *row += 1;
                let served = |requests: u64| requests.min(requests * row.saturating_sub(60) / 80);
                let own = match table.source.as_str() {
                    "io" => served(requests[*subject as usize]),
                    _ => requests.iter().map(|requests| served(*requests)).sum(),
                };
                *value = Some(each * own);
            }
        }
    }
    let results = run.trial().repeats[repeat].workloads.iter_mut().zip(requests);
    for (result, requests) in results {
        result.metrics.insert("read_bytes".to_owned(), (requests * BYTES) as f64);
    }
}

fn measure(
    (a, b): (&Run, &Run),
    measure: &str,
    (of, group): (&str, Option<&str>),
) -> MeasureComparison {
    let terms = Terms { measures: vec!["io.bytes".to_owned()], ..Terms::default() };
    let found = compare(a, b, &terms).trials.remove(0).measures;
    let mut found = found.into_iter().filter(|one| one.measure == measure && one.of == of);
    found.find(|one| one.group.as_deref() == group).unwrap()
}

/// Three requests in a window may be nearly four.
#[test]
fn the_same_few_requests_in_every_repeat_are_known_to_one_request() {
    let verdict = |a: u64, b: u64, of: &str| {
        let total = ("rate", None);
        let found = measure((&serving(&[a], 9), &serving(&[b], 9)), of, total);
        assert!(found.ratio.is_some(), "{found:?}");
        assert!((found.ratio.unwrap() - b as f64 / a as f64).abs() < 1e-6, "{found:?}");
        found.verdict
    };
    for of in ["io.ios", "io.bytes"] {
        assert_eq!(verdict(3, 4, of), Equivalence::Undecided, "{of}");
        assert_eq!(verdict(3, 3, of), Equivalence::Undecided, "{of}");
        assert_eq!(verdict(3, 9, of), Equivalence::Better, "{of}");
        assert_eq!(verdict(9, 3, of), Equivalence::Worse, "{of}");
        assert_eq!(verdict(1000, 1000, of), Equivalence::Equal, "{of}");
    }
}

/// The total differs from repeat to repeat by less than a request of the light group matters.
#[test]
fn a_share_of_few_requests_is_known_to_one_of_them() {
    let run = |light: u64| {
        let mut run = serving(&[light, 4000], 9);
        run.trial().promises[0].is = RelationRecord::Equal;
        for repeat in 0..9 {
            serve(&mut run, repeat, &[light, 4000 + repeat as u64]);
        }
        run
    };
    let light =
        |a: u64, b: u64| measure((&run(a), &run(b)), "io.ios", ("share", Some("task1"))).verdict;
    assert_eq!(light(3, 4), Equivalence::Undecided);
    assert_eq!(light(3, 3), Equivalence::Undecided);
    assert_eq!(light(3, 30), Equivalence::Different);
}

/// One request is not much more than none.
#[test]
fn a_group_without_requests_differs_from_one_with_many() {
    let verdict = |a: u64, b: u64| {
        let total = ("rate", None);
        measure((&serving(&[a], 9), &serving(&[b], 9)), "io.bytes", total).verdict
    };
    assert_eq!(verdict(1, 0), Equivalence::Undecided);
    assert_eq!(verdict(2, 0), Equivalence::Undecided);
    assert_eq!(verdict(50, 0), Equivalence::Worse);
}

/// A mean over two counts is no whole number, and no better known for that.
#[test]
fn a_mean_over_few_events_is_known_to_one_event_each() {
    let reporting = |counts: [f64; 2]| {
        let bound = RelationRecord::AtMost(1e6);
        let scenario = Scenario { repeats: 8, ..Scenario::new(&[1, 1]) };
        let mut run = scenario.promise("reader.events", bound).run();
        for repeat in &mut run.trial().repeats {
            for (workload, count) in repeat.workloads.iter_mut().zip(counts) {
                workload.metrics.insert("events".to_owned(), count);
            }
        }
        run
    };
    let verdict = |a: [f64; 2], b: [f64; 2]| {
        measure((&reporting(a), &reporting(b)), "reader.events", ("number", None)).verdict
    };
    assert_eq!(verdict([2.0, 3.0], [3.0, 3.0]), Equivalence::Undecided);
    assert_eq!(verdict([2.0, 3.0], [2.0, 3.0]), Equivalence::Undecided);
    assert_eq!(verdict([2.0, 3.0], [20.0, 30.0]), Equivalence::Different);
    assert_eq!(verdict([2000.0, 3000.0], [2000.0, 3000.0]), Equivalence::Equal);
}

/// Percentiles are those of a histogram; a mean is a sum of exact times.
#[test]
fn a_mean_latency_is_finer_than_a_bucket() {
    let taking = |times: [f64; 3]| {
        let mut run = Scenario { repeats: 8, ..Scenario::new(&[1]) }.run();
        for (repeat, mean) in run.trial().repeats.iter_mut().zip(times.iter().cycle().copied()) {
            let latency = repeat.workloads[0].latency.get_mut("read").unwrap();
            latency.mean_ns = mean;
            latency.percentiles_ns.insert("99".to_owned(), mean);
        }
        run
    };
    let (a, b) =
        (taking([100_000.0, 100_100.0, 99_900.0]), taking([103_000.0, 103_100.0, 102_900.0]));
    let verdict = |name: &str| measure((&a, &b), name, ("number", None)).verdict;
    assert_eq!(verdict("reader.read_mean_ns"), Equivalence::Equal);
    assert_eq!(verdict("reader.read_p99_ns"), Equivalence::Undecided);
}
