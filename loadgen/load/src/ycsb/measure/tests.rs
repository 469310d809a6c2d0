//! Metrics by name, order and kind.

use super::series::Line;
use super::*;

fn rules(kind: Kind, interval: Interval) -> Rules {
    Rules { kind, interval, tracked: Tracked::default() }
}

fn times(intended: u64, start: u64, end: u64) -> Times {
    Times { intended: intended * 1000, start: start * 1000, end: end * 1000 }
}

fn how() -> Presentation {
    Presentation { percentiles: vec![50.0, 99.9], verbose: false, no_summary: false }
}

fn names(measurements: &Measurements, rules: &Rules) -> Vec<String> {
    measurements.metrics(rules).into_iter().map(|metric| metric.name).collect()
}

#[test]
fn failures_have_their_own_latency_and_are_counted_with_the_operation() {
    let mut rules = rules(Kind::Hdr, Interval::Op);
    let mut measurements = Measurements::new();
    measurements.add(&rules, Operation::Read, Some(Status::NotFound), times(0, 0, 5));
    assert_eq!(names(&measurements, &rules), ["READ", "READ-FAILED"]);
    let metrics = measurements.metrics(&rules);
    assert!(metrics[0].series.is_none());
    assert_eq!(metrics[0].returns, [(Status::NotFound, 1)]);
    assert!(metrics[1].returns.is_empty());

    rules.tracked.names.push("NOT_FOUND".to_owned());
    let mut measurements = Measurements::new();
    measurements.add(&rules, Operation::Read, Some(Status::NotFound), times(0, 0, 5));
    measurements.add(&rules, Operation::Read, Some(Status::Error), times(0, 0, 5));
    let mut metric_names = names(&measurements, &rules);
    metric_names.sort();
    assert_eq!(metric_names, ["READ", "READ-FAILED", "READ-NOT_FOUND"]);
}

#[test]
fn the_interval_selects_the_latencies_and_their_names() {
    for (interval, expected, latency) in [
        (Interval::Op, vec!["READ"], 5),
        (Interval::Intended, vec!["READ"], 15),
        (Interval::Both, vec!["READ", "Intended-READ"], 5),
    ] {
        let rules = rules(Kind::Hdr, interval);
        let mut measurements = Measurements::new();
        measurements.add(&rules, Operation::Read, Some(Status::Ok), times(0, 10, 15));
        assert_eq!(names(&measurements, &rules), expected);
        let metrics = measurements.metrics(&rules);
        assert_eq!(metrics[0].series.unwrap().hdr().unwrap().max(), latency);
        assert_eq!(metrics[0].returns, [(Status::Ok, 1)]);
        assert!(metrics.get(1).is_none_or(|metric| metric.returns.is_empty()));
    }
}

#[test]
fn merged_measurements_add_up_and_leave_the_source_empty() {
    let rules = rules(Kind::Hdr, Interval::Op);
    let (mut all, mut one) = (Measurements::new(), Measurements::new());
    for _ in 0..3 {
        one.add(&rules, Operation::Scan, Some(Status::Ok), times(0, 0, 7));
        all.merge(&mut one);
    }
    assert_eq!(all.returned(Operation::Scan, Status::Ok), 3);
    assert_eq!(all.returned_by_any(Status::Ok), 3);
    assert_eq!(one.returned(Operation::Scan, Status::Ok), 0);
    assert_eq!(all.metrics(&rules)[0].series.unwrap().hdr().unwrap().count(), 3);
}

fn lines_of(kind: &Kind, latencies: &[u64]) -> (Vec<Line>, Vec<Line>) {
    let mut series = Series::new(kind);
    for (latency, index) in latencies.iter().zip(0u64..) {
        series.record(*latency, index * 600_000_000);
    }
    series.lines(&how())
}

fn value(lines: &[Line], name: &str) -> Number {
    lines.iter().find(|(metric_names, _)| metric_names == name).unwrap().1
}

#[test]
fn every_kind_gives_the_lines_of_ycsb() {
    let latencies = [100, 2300, 4500, 1_500_000];
    let (hdr, _) = lines_of(&Kind::Hdr, &latencies);
    assert_eq!(value(&hdr, "50thPercentileLatency(us)"), Number::Whole(2301));
    assert_eq!(hdr.last().unwrap().0, "99.9PercentileLatency(us)");

    let (buckets, _) = lines_of(&Kind::Buckets(1000), &latencies);
    assert_eq!(value(&buckets, "MaxLatency(us)"), Number::Whole(1_500_000));
    assert!(!buckets.iter().any(|(name, _)| name == "95thPercentileLatency(us)"), "out of range");
    let (buckets, _) = lines_of(&Kind::Buckets(1000), &latencies[..3]);
    assert_eq!(value(&buckets, "95thPercentileLatency(us)"), Number::Whole(4000));
    assert_eq!(value(&buckets, "AverageLatency(us)"), Number::Double(2300.0));

    let (raw, _) = lines_of(&Kind::Raw, &latencies);
    assert_eq!(value(&raw, "Total Operations"), Number::Whole(4));
    assert_eq!(value(&raw, "p50"), Number::Whole(4500));

    let (_, spans) = lines_of(&Kind::Timeline { granularity: 1000, start: 0 }, &latencies);
    let expected =
        [("0".to_owned(), Number::Double(1200.0)), ("1000".to_owned(), Number::Double(752_250.0))];
    assert_eq!(spans, expected);
}

#[test]
fn the_status_line_has_a_part_for_each_kind() {
    let summary = |kind| {
        let mut series = Series::new(&kind);
        series.record(7, 0);
        series.summary("READ")
    };
    assert_eq!(
        summary(Kind::Hdr),
        "[READ: Count=1, Max=7, Min=7, Avg=7, 50=7, 90=7, 99=7, 99.9=7, 99.99=7]"
    );
    assert_eq!(summary(Kind::Buckets(10)), "[READ AverageLatency(us)=7]");
    assert_eq!(summary(Kind::Raw), "READ count: 1, average latency(us): 7.00");
    let two = summary(Kind::Two(Box::new(Kind::Hdr), Box::new(Kind::Raw)));
    assert!(two.starts_with("[HdrREAD: ") && two.contains("\nRawREAD count"), "{two}");
}
