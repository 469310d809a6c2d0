//! One test for each validity check: what makes a promise void, and what does not.

use assay_host::facts::{Available, Hierarchy};
use assay_judge::verdict::{Check, Verdict};
use assay_record::run_folder::{Change, RelationRecord, SettingReading, SettingRecord};

use crate::synthetic::{Run, Scenario};

const LADDER: [u32; 4] = [100, 200, 400, 800];

fn run() -> Run {
    Scenario::new(&LADDER).run()
}

fn check(run: &Run, name: &str) -> Check {
    let trial = run.judge().trials.remove(0);
    trial.validity.into_iter().find(|check| check.check == name).unwrap()
}

/// The check fails, voids the promise, and gives this evidence in the check and in the reason.
fn assert_void(run: &Run, name: &str, evidence: &str) {
    let found = check(run, name);
    assert!(!found.ok && found.evidence.contains(evidence), "{}", found.evidence);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains(&format!("`{name}`: ")), "{}", promise.reason);
    assert_eq!(run.judge().verdict, Verdict::Void);
}

/// The check passes with this evidence, and the promise is judged.
fn assert_passes(run: &Run, name: &str, evidence: &str) {
    let found = check(run, name);
    assert!(found.ok && found.evidence.contains(evidence), "{}", found.evidence);
    assert_ne!(run.promise().verdict, Verdict::Void);
}

#[test]
fn a_sound_run_passes_every_check_in_a_fixed_order() {
    let trial = run().judge().trials.remove(0);
    let names: Vec<&str> = trial.validity.iter().map(|check| check.check.as_str()).collect();
    assert_eq!(
        names,
        [
            "repeats",
            "workloads",
            "knobs",
            "scheduler",
            "backlogged",
            "demand",
            "cpu",
            "quota",
            "buffered-writes",
            "page-cache",
            "steal",
            "neighbours",
            "clock",
            "start",
            "window"
        ]
    );
    for check in &trial.validity {
        assert!(check.ok && !check.evidence.contains("not available"), "{check:?}");
    }
}

#[test]
fn a_workload_that_failed_voids_and_the_other_groups_stay_in_the_judgement() {
    let mut run = run();
    run.repeat().workloads[1].failure = Some("exit code 1: no space left".to_owned());
    assert_void(&run, "workloads", "`task2.reader` of `task2`: exit code 1");
    let promise = run.promise();
    assert_eq!(promise.groups.len(), 4);
    assert!(promise.groups.iter().all(|group| group.verdict == Verdict::Void && group.share > 0.0));
}

/// A check, its evidence, and what makes it fail.
type Defect = (&'static str, &'static str, fn(&mut Run));

#[test]
fn each_defect_voids_by_its_own_check() {
    let defects: [Defect; 10] = [
        ("workloads", "`task3.reader` of `task3` left no result", |run| {
            run.repeat().workloads.remove(2);
        }),
        ("knobs", "of `task1` was written `100` and reads `500` at the end", |run| {
            run.repeat().knobs[0].at_end = Available::Value("500\n".to_owned());
        }),
        ("knobs", "reads `163` after it was written", |run| {
            run.repeat().knobs[3].at_start = Available::Value("163".to_owned());
        }),
        ("scheduler", "need bfq, but `mq-deadline` was active at the end", |run| {
            run.repeat().queues[0].scheduler_at_end = "mq-deadline".to_owned();
        }),
        ("scheduler", "`iosched/low_latency` of loop0 was set to `0` and reads `1`", |run| {
            let end = &mut run.repeat().queues[0].at_end;
            end.insert("iosched/low_latency".to_owned(), "1".to_owned());
        }),
        ("scheduler", "not available: the queue of disk `scratch` was not read", |run| {
            run.repeat().queues.clear();
        }),
        ("backlogged", "not available: the directory lies on", |run| {
            run.drop_table("disk");
            let why = "the directory lies on a device without statistics".to_owned();
            run.repeat().not_available.insert("disk".to_owned(), why);
        }),
        ("cpu", "not available: the run has no samples of `host_cpu`", |run| {
            run.drop_table("host_cpu");
        }),
        ("page-cache", "times the bytes that the workloads of `task3` report", |run| {
            *run.repeat().workloads[2].metrics.get_mut("read_bytes").unwrap() *= 1.3;
        }),
        ("start", "first I/O within 1500.0 ms", |run| {
            run.repeat().start_skew_s = Available::Value(1.5);
        }),
    ];
    for (check, evidence, damage) in defects {
        let mut run = run();
        damage(&mut run);
        assert_void(&run, check, evidence);
    }
}

#[test]
fn a_workload_outside_the_measured_set_may_fail() {
    let mut run = run();
    let mut background = run.trial().groups[0].clone();
    background.name = "noise".to_owned();
    background.measured = false;
    run.trial().groups.push(background);
    assert_passes(&run, "workloads", "4 workloads ran");
}

#[test]
fn a_knob_that_was_not_read_back_voids() {
    let mut run = run();
    run.repeat().knobs.remove(0);
    assert_void(&run, "knobs", "was not read back");
    assert!(run.promise().groups.is_empty());
}

/// A run whose weights iocost obeys, with this mean number of requests in the device.
fn under_iocost(mean_queue: f64) -> Run {
    let mut run = Scenario { mean_queue, ..Scenario::new(&LADDER) }.run();
    for group in &mut run.trial().groups {
        group.knobs[0].obeyed_by = Some("iocost".to_owned());
    }
    run.trial().disks[0].scheduler = None;
    let queue = &mut run.repeat().queues[0];
    (queue.scheduler_at_start, queue.scheduler_at_end) = ("none".to_owned(), "none".to_owned());
    run
}

#[test]
fn a_workload_that_iocost_never_throttled_voids() {
    // The heaviest gets 8 of 15 parts: 7.7 of 14.4 requests in the device, of 8 in total.
    assert_void(&under_iocost(14.4), "backlogged", "had 7.7 of 8.0 outstanding requests in the");
    assert_passes(&under_iocost(12.0), "backlogged", "had 6.4 of 8.0 outstanding requests");
}

#[test]
fn a_rate_below_the_configuration_of_iocost_voids() {
    let configured = |iops: u32| {
        let mut run = under_iocost(8.0);
        run.manifest.changes.push(Change {
            what: "write /sys/fs/cgroup/io.cost.model".to_owned(),
            before: None,
            set: Some(format!("254:0 ctrl=user model=linear rseqiops=9 rrandiops={iops}")),
            restored: Available::Value(true),
        });
        run
    };
    let done: f64 =
        under_iocost(8.0).repeat().workloads.iter().map(|result| result.metrics["read_iops"]).sum();
    assert_passes(
        &configured(done as u32),
        "backlogged",
        "requests a second were done, 100 % of the",
    );
    assert_void(&configured(done as u32 * 2), "backlogged", "that iocost was configured with");
}

#[test]
fn iocost_obeys_under_any_scheduler_except_bfq() {
    let mut run = Scenario { mean_queue: 8.0, ..Scenario::new(&LADDER) }.run();
    for group in &mut run.trial().groups {
        group.knobs[0].obeyed_by = Some("iocost".to_owned());
    }
    assert_void(&run, "scheduler", "need any scheduler but `bfq`");
    run.trial().disks[0].scheduler = None;
    let queue = &mut run.repeat().queues[0];
    (queue.scheduler_at_start, queue.scheduler_at_end) = ("none".to_owned(), "none".to_owned());
    assert_passes(&run, "scheduler", "`none` on loop0");
    // iocost holds requests back before the queue: a short queue does not show a lack of demand.
    assert_passes(&run, "backlogged", "busy 99.0 % of the time");
}

#[test]
fn a_short_mean_queue_voids() {
    let run = Scenario { mean_queue: 12.0, ..Scenario::new(&LADDER) }.run();
    assert_void(&run, "backlogged", "a mean queue of 12.0 requests (the workloads keep 32");
}

#[test]
fn a_queue_often_shorter_than_the_number_of_groups_voids() {
    let mut run = run();
    for value in run.column("disk", "in_flight").iter_mut().step_by(10) {
        *value = Some(2);
    }
    assert_void(&run, "backlogged", "fewer than 4 in flight in 10");
}

#[test]
fn a_kernel_that_counts_only_dispatched_requests_does_not_void() {
    let mut run = run();
    run.column("disk", "in_flight").iter_mut().for_each(|value| *value = Some(1));
    assert_passes(&run, "backlogged", "a mean queue of 32.0");
}

#[test]
fn one_request_per_group_is_judged_by_half_of_them() {
    let scenario = Scenario { outstanding: Some(1), mean_queue: 3.0, ..Scenario::new(&LADDER) };
    assert_passes(&scenario.run(), "backlogged", "fewer than 2 in flight in 0.0 %");
}

#[test]
fn unknown_demand_is_judged_by_the_requests_in_flight() {
    let scenario = Scenario { outstanding: None, mean_queue: 20.0, ..Scenario::new(&LADDER) };
    assert_passes(&scenario.run(), "backlogged", "an unknown number outstanding");
    let scenario = Scenario { outstanding: None, mean_queue: 3.0, ..Scenario::new(&LADDER) };
    assert_void(&scenario.run(), "backlogged", "fewer than 4 in flight in 100 %");
}

#[test]
fn demand_beyond_the_pool_is_judged_by_the_pool() {
    let scenario = Scenario { outstanding: Some(128), mean_queue: 250.0, ..Scenario::new(&LADDER) };
    assert_passes(&scenario.run(), "backlogged", "the pool holds 256");
}

#[test]
fn the_backlog_shows_what_the_workloads_kept_outstanding() {
    assert_passes(&run(), "backlogged", "`task1.reader` kept 8.0");
}

#[test]
fn saturated_cpus_void_a_promise_about_the_disk() {
    let run = Scenario { idle: 0.02, ..Scenario::new(&LADDER) }.run();
    assert_void(&run, "cpu", "the CPUs were idle 2.0 % of the time");
}

#[test]
fn idle_cpus_void_a_promise_about_cpu_time() {
    let relation = RelationRecord::Equal;
    let run = Scenario::new(&[100, 100]).promise("cpu.time", relation).run();
    assert_void(&run, "cpu", "the CPUs were idle 60.0 % of the time");
    assert_eq!(run.promise().causes[0].code, "C-CPU-IDLE");
}

#[test]
fn buffered_writes_void_on_cgroup_v1_and_not_on_v2() {
    let mut run = run();
    let io = &mut run.trial().groups[0].workloads[0].io;
    (io.direct, io.writes) = (false, true);
    assert_void(&run, "buffered-writes", "`task1.reader` write through the page cache");
    let controllers = &mut run.manifest.host.cgroup.controllers;
    controllers.get_mut("io").unwrap().hierarchy = Hierarchy::V2("/sys/fs/cgroup".into());
    assert_passes(&run, "buffered-writes", "cgroup v2 charges writeback");
}

#[test]
fn buffered_reads_may_read_ahead_but_not_come_from_memory() {
    let mut run = run();
    for group in &mut run.trial().groups {
        group.workloads[0].io.direct = false;
    }
    let mut scale = |factor: f64| {
        for result in &mut run.repeat().workloads {
            *result.metrics.get_mut("read_bytes").unwrap() *= factor;
        }
    };
    scale(0.8);
    assert_passes(&run, "page-cache", "1.2");
    let mut scale = |factor: f64| {
        for result in &mut run.repeat().workloads {
            *result.metrics.get_mut("read_bytes").unwrap() *= factor;
        }
    };
    scale(2.0);
    assert_void(&run, "page-cache", "times the bytes");
}

/// Served in eight steps within the samples, which have half of what the workload reports: the rest may have been served while
/// the others ended.
#[test]
fn what_a_group_moves_while_others_end_is_counted_where_it_is_served_in_few_turns() {
    let mut run = run();
    let rows: Vec<usize> = {
        let table = run.samples[0][0].iter().find(|table| table.source == "io").unwrap();
        let index = table.subjects.iter().position(|name| name == "task3").unwrap();
        (0..table.subject.len()).filter(|row| table.subject[*row] as usize == index).collect()
    };
    let bytes = run.column("io", "read_bytes");
    let (first, last) = (bytes[rows[0]].unwrap(), bytes[*rows.last().unwrap()].unwrap());
    let step = (last - first) / 8;
    for row in rows {
        bytes[row] = bytes[row].map(|value| first + (value - first) / step * step / 2);
    }
    let differs = "times the bytes that the workloads of `task3` report";
    assert_void(&run, "page-cache", differs);
    let reported = run.repeat().workloads[2].metrics["read_bytes"] as u64;
    let at_end = |run: &mut Run, moved: u64| {
        run.repeat().disk_bytes_at_end.insert("task3".to_owned(), first + moved);
    };
    at_end(&mut run, reported);
    let found = check(&run, "page-cache");
    assert!(found.ok, "{}", found.evidence);
    at_end(&mut run, reported / 2);
    assert_void(&run, "page-cache", differs);
}

#[test]
fn a_tool_that_reports_no_bytes_does_not_void() {
    let mut run = run();
    for result in &mut run.repeat().workloads {
        result.metrics.clear();
    }
    assert_passes(&run, "page-cache", "not available: no measured workload reports");
}

#[test]
fn an_unknown_start_does_not_void() {
    let mut run = run();
    run.repeat().start_skew_s = Available::NotAvailable("too few samples".to_owned());
    assert_passes(&run, "start", "not available: too few samples");
}

#[test]
fn a_window_under_a_second_voids() {
    let mut run = Scenario { seconds: 0.8, ..Scenario::new(&LADDER) }.run();
    assert_void(&run, "window", "at least 1 s needed");
    run.repeat().workloads[1].ended_ns = Some(1);
    assert_void(&run, "window", "`task2.reader` of `task2` ended by itself: give it more to do");
}

#[test]
fn groups_on_different_disks_are_not_compared() {
    let mut run = run();
    run.trial().groups[0].disk = Some("other".to_owned());
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.groups.is_empty());
}

#[test]
fn a_limit_needs_neither_a_backlog_nor_spare_cpus() {
    let scenario = Scenario { mean_queue: 1.0, idle: 0.0, ..Scenario::new(&[100, 100]) };
    let run = scenario.promise("io.bytes", RelationRecord::AtMost(202e6)).run();
    assert_eq!(run.promise().verdict, Verdict::Kept);
}

#[test]
fn a_counter_that_goes_back_voids() {
    let mut run = run();
    run.column("io", "read_bytes").iter_mut().skip(400).for_each(|value| *value = Some(0));
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains("went back"), "{}", promise.reason);
}

#[test]
fn sequential_requests_that_merge_while_they_wait_are_a_backlog() {
    let short = Scenario { outstanding: Some(32), mean_queue: 21.0, ..Scenario::new(&LADDER) };
    // A quarter of it, by Little's law: no request waits in front of the scheduler.
    let mut dry = short.run();
    for result in &mut dry.repeat().workloads {
        result.latency.get_mut("read").unwrap().mean_ns *= 0.25;
    }
    assert_eq!(dry.promise().verdict, Verdict::Void);
    let merging = Scenario { sequential: true, ..short };
    let run = merging.run();
    assert_eq!(run.promise().verdict, Verdict::Kept);
    let evidence = check(&run, "backlogged").evidence;
    assert!(evidence.contains("keep 128 outstanding, at least 4 after merging"), "{evidence}");
}

/// The kernel zeroes the second when the first is written.
#[test]
fn settings_that_hold_pass_and_one_that_does_not_voids() {
    let mut run = run();
    for (setting, written) in [("vm.dirty_bytes", "314572800"), ("vm.dirty_ratio", "0")] {
        let value = || Available::Value(written.to_owned());
        run.trial().settings.push(SettingRecord {
            setting: setting.to_owned(),
            asked: written.to_owned(),
            path: String::new(),
            written: written.to_owned(),
            implied: written == "0",
        });
        run.repeat().settings.push(SettingReading {
            setting: setting.to_owned(),
            found: value(),
            at_start: value(),
            at_end: value(),
            drift: None,
        });
    }
    assert_passes(&run, "settings", "vm.dirty_bytes = 314572800");
    run.repeat().settings[1].at_end = Available::Value("20".to_owned());
    assert_void(&run, "settings", "`vm.dirty_ratio` should read `0` and reads `20` at the end");
}
