//! Conditions that need not void: others that could not have shifted a share, counters that leave
//! requests out.

use assay_judge::verdict::Verdict;
use assay_record::run_folder::{DiskRecord, RelationRecord};

use crate::synthetic::{Run, Scenario};

const LADDER: [u32; 4] = [100, 200, 400, 800];

/// Shares of two CPUs of which others used this part, in percent.
fn with_others(percent: u64, within: f64) -> Run {
    let follows = RelationRecord::Proportional("io.weight".to_owned());
    let scenario = Scenario { idle: 0.0, ..Scenario::new(&LADDER) };
    let mut run = scenario.promise("cpu.time", follows).run();
    run.manifest.host.cpus.allowed = "0-1".parse().unwrap();
    for group in &mut run.trial().groups {
        group.workloads[0].threads = Some(2);
    }
    run.trial().promises[0].within = within;
    let left = 100 - percent;
    run.column("cpu", "usage_ns").iter_mut().flatten().for_each(|ns| *ns = *ns / 100 * left);
    run
}

#[test]
fn others_may_take_less_than_shifts_a_share_by_the_margin() {
    assert_eq!(with_others(8, 0.1).promise().verdict, Verdict::Kept);
    assert_eq!(with_others(4, 0.03).promise().verdict, Verdict::Void);
}

/// Rates differ by a quarter; totals agree, since the workload reports a longer runtime.
#[test]
fn the_ratio_is_not_chosen_by_its_agreement() {
    let mut run = Scenario::new(&LADDER).run();
    let result = &mut run.repeat().workloads[2];
    result.runtime_s = result.runtime_s.map(|seconds| 1.25 * seconds);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
    assert!(promise.reason.contains("1.25 times the bytes"), "{}", promise.reason);
}

/// On v1 BFQ's own counters leave merged requests out, on disks where the run activates no others.
#[test]
fn bytes_hidden_by_merging_prove_neither_page_cache_nor_neighbours() {
    let mut run = Scenario { sequential: true, ..Scenario::new(&LADDER) }.run();
    for (group, result) in run.repeat().workloads.iter_mut().enumerate() {
        if group == 0 {
            *result.metrics.get_mut("read_bytes").unwrap() *= 1.4;
        }
    }
    assert_eq!(run.promise().causes[0].code, "C-PAGE-CACHE");
    let disk: &mut DiskRecord = &mut run.trial().disks[0];
    disk.source = "block".to_owned();
    let promise = run.promise();
    assert_eq!((promise.verdict, promise.causes[0].code.as_str()), (Verdict::Void, "C-MERGED"));
}
