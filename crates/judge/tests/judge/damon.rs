//! Pages evicted by DAMON, suspected where a promise depends on them.

use assay_facts::{Available, DamonScheme};
use assay_run_folder::RelationRecord;
use assay_verdict::{Cause, Verdict};

use crate::synthetic::{Run, Scenario, table};

const SCHEME: &str = "kdamond0.0.0:pageout";

/// A file of which too little was in memory at the second reading.
fn run(action: &str) -> Run {
    let scenario =
        Scenario::new(&[1]).promise("reader.second_read_memory_part", RelationRecord::AtLeast(1.0));
    let mut run = Scenario { repeats: 3, ..scenario }.run();
    for (index, repeat) in run.trial().repeats.iter_mut().enumerate() {
        for result in &mut repeat.workloads {
            let part = 0.7 + index as f64 * 1e-4;
            result.metrics.insert("second_read_memory_part".to_owned(), part);
        }
    }
    run.manifest.host.damon = Available::Value(vec![DamonScheme {
        name: SCHEME.to_owned(),
        action: action.to_owned(),
        pid: Some(77),
    }]);
    run
}

/// Samples of the scheme in every repeat, which evicted this many bytes a second; `None` where the
/// kernel does not report it.
fn sampled(run: &mut Run, bytes_s: Option<u64>) {
    let columns = ["applied_bytes", "cpu_ns"];
    let mut samples = table("damon", &[SCHEME], &columns, 20, |_, ns| {
        vec![bytes_s.unwrap_or(0) * (ns / 1_000_000_000), ns / 1000]
    });
    if bytes_s.is_none() {
        samples.columns[0].values.fill(None);
    }
    for tables in &mut run.samples[0] {
        tables.push(samples.clone());
    }
}

fn found(run: &Run) -> Option<Cause> {
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
    promise.causes.into_iter().find(|cause| cause.code == "C-DAMON-RECLAIM")
}

#[test]
fn a_pageout_scheme_is_suspected_of_missing_cache() {
    let mut run = run("pageout");
    sampled(&mut run, None);
    let why = "refresh_ms is 0".to_owned();
    for repeat in &mut run.trial().repeats {
        repeat.not_available.insert("damon.applied_bytes".to_owned(), why.clone());
    }
    let cause = found(&run).unwrap();
    let evidence = cause.evidence.join("; ");
    assert!(cause.summary.starts_with("suspected: DAMON"), "{}", cause.summary);
    assert!(evidence.contains("is not available: refresh_ms is 0"), "{evidence}");
    assert!(evidence.contains("ms of CPU time"), "{evidence}");
}

#[test]
fn evicted_bytes_are_evidence_and_none_rule_it_out() {
    let mut taking = run("pageout");
    sampled(&mut taking, Some(10 << 20));
    let evidence = found(&taking).unwrap().evidence.join("; ");
    assert!(evidence.contains(&format!("repeat 1: `{SCHEME}` evicted 200 MiB")), "{evidence}");
    let mut resting = run("pageout");
    sampled(&mut resting, Some(0));
    assert_eq!(found(&resting), None);
    let unknown = &resting.promise().causes[0];
    assert_eq!(unknown.code, "C-UNKNOWN");
    assert!(unknown.evidence.iter().any(|line| line.contains("C-DAMON-RECLAIM: schemes that")));
}

#[test]
fn a_monitoring_scheme_is_not_suspected() {
    assert_eq!(found(&run("stat")), None);
}

#[test]
fn a_promise_that_eviction_helps_has_another_cause() {
    let mut run = run("pageout");
    let promise = &mut run.trial().promises[0];
    promise.measure = "reader.first_read_disk_part".to_owned();
    for repeat in &mut run.trial().repeats {
        for result in &mut repeat.workloads {
            let part = result.metrics["second_read_memory_part"];
            result.metrics.insert("first_read_disk_part".to_owned(), part);
        }
    }
    assert_eq!(found(&run), None);
}
