//! Shares of CPU time and CPU quotas: what is feasible, what voids, and why shares break.

use std::collections::BTreeMap;

use assay_host::facts::Available;
use assay_judge::verdict::{Check, Strength, Verdict};
use assay_record::run_folder::{RelationRecord, Table};

use crate::synthetic::{Run, Scenario, table};

/// A run in which the groups have all of two CPUs, with this many threads each.
fn run(weights: &[u32], shares: &[f64], threads: u32) -> Run {
    let follows = RelationRecord::Proportional("io.weight".to_owned());
    let scenario = Scenario { idle: 0.0, ..Scenario::new(weights) };
    let mut run = scenario.shares(shares).promise("cpu.time", follows).run();
    run.manifest.host.cpus.allowed = "0-1".parse().unwrap();
    for group in &mut run.trial().groups {
        group.workloads[0].threads = Some(threads);
    }
    run
}

fn check(run: &Run, name: &str) -> Option<Check> {
    run.judge().trials.remove(0).validity.into_iter().find(|check| check.check == name)
}

fn fact(run: &Run, name: &str) -> Option<String> {
    let facts = run.judge().trials.remove(0).facts.into_iter();
    facts.into_iter().find(|fact| fact.fact == name).map(|fact| fact.evidence)
}

fn assert_void(run: &Run, name: &str, cause: &str, evidence: &str) {
    let found = check(run, name).unwrap();
    assert!(!found.ok && found.evidence.contains(evidence), "{}", found.evidence);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.causes.iter().any(|found| found.code == cause), "{:?}", promise.causes);
}

const LADDER: [u32; 4] = [100, 200, 400, 800];
const BY_WEIGHT: [f64; 4] = [1.0 / 15.0, 2.0 / 15.0, 4.0 / 15.0, 8.0 / 15.0];

#[test]
fn groups_with_enough_threads_are_promised_their_weights() {
    let run = run(&LADDER, &BY_WEIGHT, 2);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    assert!(promise.groups.iter().all(|group| group.share_by_weight.is_none()));
    assert!(fact(&run, "feasible").is_none());
    let cpu = check(&run, "cpu").unwrap();
    assert!(cpu.evidence.contains("the groups have 8 threads for 2 CPUs (0-1)"), "{cpu:?}");
}

#[test]
fn a_group_of_one_thread_is_promised_one_cpu() {
    let feasible = [0.5 / 7.0, 1.0 / 7.0, 2.0 / 7.0, 0.5];
    let kept = run(&LADDER, &feasible, 1);
    let promise = kept.promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    assert!((promise.groups[3].expected_share - 0.5).abs() < 1e-12);
    assert!((promise.groups[3].share_by_weight.unwrap() - 8.0 / 15.0).abs() < 1e-12);
    let said = fact(&kept, "feasible").unwrap();
    let expected = "`task4`: 800 of 1500 would be 53.3 %, its 1 thread can have at most 50.0 %: \
                    expected 50.0 %";
    assert!(said.contains(expected), "{said}");
    // What the weights alone would give is infeasible, and therefore not promised.
    assert_eq!(run(&LADDER, &[0.01, 0.02, 0.04, 0.93], 1).promise().verdict, Verdict::Broken);
}

#[test]
fn equal_shares_are_feasible_ones() {
    // Four CPUs, of which the first group with its one thread can use one.
    let mut run = run(&[100; 3], &[0.25, 0.375, 0.375], 4);
    run.manifest.host.cpus.allowed = "0-3".parse().unwrap();
    run.trial().promises[0].is = RelationRecord::Equal;
    run.trial().groups[0].workloads[0].threads = Some(1);
    run.column("cpu", "usage_ns").iter_mut().flatten().for_each(|usage| *usage *= 2);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    let expected: Vec<f64> = promise.groups.iter().map(|group| group.expected_share).collect();
    assert_eq!(expected, [0.25, 0.375, 0.375]);
    assert!((promise.groups[0].share_by_weight.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    let said = fact(&run, "feasible").unwrap();
    assert!(said.contains("its 1 thread can have at most 25.0 %"), "{said}");
}

#[test]
fn a_thread_for_each_cpu_is_no_contention() {
    let run = run(&[100, 200], &[0.5, 0.5], 1);
    assert_void(
        &run,
        "cpu",
        "C-CPU-UNCONTENDED",
        "nothing was contended: the groups have 2 threads",
    );
}

#[test]
fn two_threads_compete_for_the_cpu_of_a_cpuset() {
    let mut run = run(&[100, 300], &[0.25, 0.75], 1);
    let one = Available::Value("0".to_owned());
    run.repeat().cpus = ["task1", "task2"].map(|group| (group.to_owned(), one.clone())).into();
    // Half of what the synthetic groups use, and all of CPU 0; CPU 1 is idle.
    run.column("cpu", "usage_ns").iter_mut().flatten().for_each(|usage| *usage /= 2);
    run.samples[0][0].push(two_cpus());
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
}

/// CPU 0 busy all the time and CPU 1 never.
fn two_cpus() -> Table {
    let columns =
        ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns"];
    let columns: Vec<&str> = columns.into_iter().chain(["steal_ns"]).collect();
    table("cpus", &["cpu0", "cpu1"], &columns, 200, |subject, ns| {
        let (busy, idle) = if subject == 0 { (ns, 0) } else { (0, ns) };
        vec![busy, 0, 0, idle, 0, 0, 0, 0]
    })
}

/// Equal weights, one thread beside four on two CPUs, as Linux 7.3 divides them.
#[test]
fn weights_that_count_by_threads_are_a_cause_of_their_own() {
    let by_threads = |kernel: &str, mode: Available<String>| {
        let mut run = run(&[100, 100], &[1.0 / 3.0, 2.0 / 3.0], 4);
        run.trial().groups[0].workloads[0].threads = Some(1);
        run.manifest.host.cpus.online = "0-1".parse().unwrap();
        run.manifest.host.kernel = kernel.to_owned();
        run.manifest.host.weight_mode = mode;
        run.promise()
    };
    let strength = |kernel: &str, mode| {
        let promise = by_threads(kernel, mode);
        assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
        assert!((promise.groups[0].expected_share - 0.5).abs() < 1e-12);
        let found = promise.causes.into_iter().find(|cause| cause.code == "C-WEIGHT-MODE");
        found.and_then(|cause| cause.strength)
    };
    let known = |mode: &str| Available::Value(mode.to_owned());
    let unknown = || Available::NotAvailable("debugfs is not mounted".to_owned());
    assert_eq!(strength("7.3.4", known("concur")), Some(Strength::Strong));
    assert_eq!(strength("7.3.4", unknown()), Some(Strength::Strong), "the default of 7.3");
    assert_eq!(strength("7.3.4", known("smp")), None);
    assert_eq!(strength("7.2.13", unknown()), None);
}

#[test]
fn groups_on_different_cpus_have_no_shares() {
    let mut run = run(&[100, 100], &[0.5, 0.5], 2);
    let on = |cpus: &str| Available::Value(cpus.to_owned());
    run.repeat().cpus =
        BTreeMap::from([("task1".to_owned(), on("0")), ("task2".to_owned(), on("0-1"))]);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains("compete on some CPUs only"), "{}", promise.reason);
}

#[test]
fn others_on_the_same_cpus_make_shares_void() {
    let mut run = run(&LADDER, &BY_WEIGHT, 2);
    // The groups used eight tenths of what was used.
    run.column("cpu", "usage_ns").iter_mut().flatten().for_each(|usage| *usage = *usage / 10 * 8);
    assert_void(&run, "others", "C-CPU-OTHERS", "processes outside the groups used 20.");
}

/// Eight busy CPUs, of which the groups use seven and this part of the first.
fn on_eight(part_of_first: f64) -> Run {
    let mut run = run(&LADDER, &BY_WEIGHT, 8);
    run.manifest.host.cpus.allowed = "0-7".parse().unwrap();
    for usage in run.column("cpu", "usage_ns").iter_mut().flatten() {
        *usage = (*usage as f64 * (7.0 + part_of_first) / 2.0) as u64;
    }
    let names: Vec<String> = (0..8).map(|cpu| format!("cpu{cpu}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns =
        ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns"];
    let columns: Vec<&str> = columns.into_iter().chain(["steal_ns"]).collect();
    let busy = |_, ns: u64| vec![ns, 0, 0, 0, 0, 0, 0, 0];
    run.samples[0][0].push(table("cpus", &names, &columns, 200, busy));
    let groups = ["task1", "task2", "task3", "task4"];
    let columns: Vec<String> = names.iter().map(|name| format!("{name}_ns")).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let used = |group: usize, ns: u64| {
        let on = |part: f64| (ns as f64 * BY_WEIGHT[group] * part) as u64;
        std::iter::once(on(part_of_first)).chain([on(1.0); 7]).collect::<Vec<u64>>()
    };
    run.samples[0][0].push(table("cpu_split", &groups, &columns, 200, used));
    run
}

#[test]
fn others_on_one_cpu_of_many_are_not_averaged_away() {
    let some = on_eight(0.7);
    let others = check(&some, "others").unwrap();
    let said = "processes outside used up to 30.0 % of cpu0";
    assert!(others.ok && others.evidence.contains(said), "{}", others.evidence);
    assert_eq!(some.promise().verdict, Verdict::Kept, "{}", some.promise().reason);
    // 7.5 % of all eight, and 60 % of one.
    assert_void(&on_eight(0.4), "others", "C-CPU-OTHERS", "used up to 60.0 % of cpu0");
}

#[test]
fn others_on_a_single_cpu_do_not_move_shares() {
    let mut run = run(&LADDER, &BY_WEIGHT, 2);
    run.manifest.host.cpus.allowed = "0".parse().unwrap();
    run.column("cpu", "usage_ns").iter_mut().flatten().for_each(|usage| *usage = *usage / 10 * 2);
    let others = check(&run, "others").unwrap();
    assert!(others.ok && others.evidence.contains("used 60.0 % of CPU 0"), "{}", others.evidence);
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
}

/// Part of the time in which some task of each of two groups waited for a CPU.
fn pressure(parts: [f64; 2]) -> Table {
    table("pressure", &["task1", "task2"], &["cpu_some_us"], 200, |subject, ns| {
        vec![(ns as f64 * 1e-3 * parts[subject]) as u64]
    })
}

#[test]
fn a_sleeping_group_was_not_denied_cpu_time() {
    // The first group has 0.2 of two CPUs, and is promised 0.4.
    let short = || run(&[200, 800], &[0.1, 0.9], 2);
    let waiting = |part: f64| {
        let mut run = short();
        run.samples[0][0].push(pressure([part, 0.5]));
        run
    };
    assert_void(&waiting(0.0), "demand", "C-DEMAND", "`task1` ran or waited for a CPU");
    for run in [waiting(0.8), short()] {
        assert!(check(&run, "demand").unwrap().ok);
        assert_eq!(run.promise().verdict, Verdict::Broken, "{}", run.promise().reason);
    }
    assert!(check(&short(), "demand").unwrap().evidence.contains("not available"));
}

#[test]
fn a_single_group_voids_shares() {
    let run = run(&[100], &[1.0], 3);
    assert_void(&run, "alone", "C-ALONE", "`task1` is the only measured group");
}

#[test]
fn shares_of_v1_are_reported_as_the_written_weights() {
    let mut run = run(&LADDER, &BY_WEIGHT, 2);
    let follows = RelationRecord::Proportional("cpu.weight".to_owned());
    run.trial().promises[0].is = follows;
    for (group, weight) in run.trial().groups.iter_mut().zip(LADDER) {
        group.knobs[0].knob = "cpu.weight".to_owned();
        group.knobs[0].file = "cpu.shares".to_owned();
        group.knobs[0].obeyed_by = None;
        group.knobs[0].written = (weight * 1024 / 100).to_string();
    }
    for (reading, weight) in run.repeat().knobs.iter_mut().zip(LADDER) {
        reading.knob = "cpu.weight".to_owned();
        reading.file = "cpu.shares".to_owned();
        reading.at_start = Available::Value((weight * 1024 / 100).to_string());
        reading.at_end = reading.at_start.clone();
    }
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Kept, "{}", promise.reason);
    let knobs: Vec<f64> = promise.groups.iter().filter_map(|group| group.knob).collect();
    assert_eq!(knobs, [100.0, 200.0, 400.0, 800.0]);
}

#[test]
fn a_hypervisor_that_takes_time_makes_shares_void() {
    let mut run = run(&LADDER, &BY_WEIGHT, 2);
    let user = run.column("host_cpu", "user_ns").clone();
    for (steal, user) in run.column("host_cpu", "steal_ns").iter_mut().zip(&user) {
        *steal = user.map(|user| user / 5);
    }
    assert_void(&run, "others", "C-STEAL", "the hypervisor took 16.7 %");
}

fn throttle(subject: &str, throttled_per_period: f64) -> Table {
    let columns = ["periods", "throttled_periods", "throttled_ns"];
    table("throttle", &[subject], &columns, 200, |_, ns| {
        let periods = ns / 100_000_000;
        vec![periods, (periods as f64 * throttled_per_period) as u64, 0]
    })
}

#[test]
fn a_binding_quota_above_voids_shares() {
    let mut run = run(&LADDER, &BY_WEIGHT, 2);
    run.samples[0][0].push(throttle("above:/sys/fs/cgroup/cpu/container", 0.5));
    assert_void(&run, "quota", "C-CPU-QUOTA", "above:/sys/fs/cgroup/cpu/container` bound in");
}

/// Two groups that got 0.4 and 0.4 CPUs under a quota.
fn quota(relation: RelationRecord, quota: &str, throttled: f64) -> Run {
    let scenario = Scenario { idle: 0.6, ..Scenario::new(&[1, 1]) };
    let mut run = scenario.promise("cpu.time", relation).run();
    run.manifest.host.cpus.allowed = "0-1".parse().unwrap();
    run.column("cpu", "usage_ns").iter_mut().flatten().for_each(|usage| *usage = *usage / 10 * 4);
    for group in &mut run.trial().groups {
        group.workloads[0].threads = Some(2);
        group.knobs[0].knob = "cpu.max".to_owned();
        group.knobs[0].file = "cpu.max".to_owned();
        group.knobs[0].obeyed_by = None;
        group.knobs[0].written = format!("{quota} 100000");
    }
    for reading in &mut run.repeat().knobs {
        reading.knob = "cpu.max".to_owned();
        reading.file = "cpu.max".to_owned();
        reading.at_start = Available::Value(format!("{quota} 100000\n"));
        reading.at_end = reading.at_start.clone();
    }
    run.samples[0][0].push(table(
        "throttle",
        &["task1", "task2"],
        &["periods", "throttled_periods", "throttled_ns"],
        200,
        |_, ns| {
            let periods = ns / 100_000_000;
            vec![periods, (periods as f64 * throttled) as u64, 0]
        },
    ));
    run
}

fn at_most() -> RelationRecord {
    RelationRecord::AtMostKnob("cpu.max".to_owned())
}

fn at_least() -> RelationRecord {
    RelationRecord::AtLeastKnob("cpu.max".to_owned())
}

#[test]
fn a_quota_is_the_bound_as_it_was_read_back() {
    let kept = quota(at_most(), "40000", 1.0).promise();
    assert_eq!(kept.verdict, Verdict::Kept, "{}", kept.reason);
    assert_eq!((kept.to.as_deref(), kept.groups[0].knob), (Some("cpu.max"), Some(0.4)));
    assert_eq!(quota(at_most(), "30000", 1.0).promise().verdict, Verdict::Broken);
    let none = quota(at_most(), "max", 0.0).promise();
    assert_eq!(none.verdict, Verdict::Void);
}

#[test]
fn the_quota_of_v1_is_divided_by_the_period_in_its_own_file() {
    let mut run = quota(at_most(), "40000", 1.0);
    for group in &mut run.trial().groups {
        group.knobs[0].file = "cpu.cfs_quota_us".to_owned();
        group.knobs[0].written = "20000".to_owned();
        group.knobs[0].also =
            BTreeMap::from([("cpu.cfs_period_us".to_owned(), "50000".to_owned())]);
    }
    for reading in &mut run.repeat().knobs {
        reading.file = "cpu.cfs_quota_us".to_owned();
        reading.at_start = Available::Value("20000".to_owned());
        reading.at_end = reading.at_start.clone();
        let period = Available::Value("50000".to_owned());
        reading.also = BTreeMap::from([("cpu.cfs_period_us".to_owned(), period)]);
    }
    assert_eq!(run.promise().verdict, Verdict::Kept, "{}", run.promise().reason);
    run.repeat().knobs[0].also.clear();
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert!(promise.reason.contains("cpu.cfs_period_us"), "{}", promise.reason);
}

/// The limit was reached all the time; the promise is void since the sampler was silent.
#[test]
fn a_limit_of_a_run_that_is_void_for_another_reason_is_not_said_to_be_untested() {
    let mut run = quota(at_most(), "40000", 1.0);
    run.silence(0, 5.0, 9.0);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
    assert!(promise.reason.contains("silent"), "{}", promise.reason);
    assert_eq!(promise.causes, []);
}

#[test]
fn a_quota_that_never_bound_was_not_tested() {
    let idle = quota(at_most(), "40000", 0.0).promise();
    assert_eq!(idle.verdict, Verdict::Void);
    assert!(idle.reason.contains("throttled in no period"), "{}", idle.reason);
    let cause = &idle.causes[0];
    assert_eq!(cause.code, "C-NEVER-BOUND");
    assert!(
        cause.evidence[1].contains("processes outside the groups used 0.0 % of CPUs 0-1"),
        "{cause:?}"
    );
    let far = quota(at_most(), "90000", 1.0).promise();
    assert_eq!(far.verdict, Verdict::Void);
    assert!(far.reason.contains("never bound"), "{}", far.reason);
}

#[test]
fn a_quota_is_delivered_where_there_is_room_for_it() {
    assert_eq!(quota(at_least(), "40000", 1.0).promise().verdict, Verdict::Kept);
    assert_eq!(quota(at_least(), "60000", 0.0).promise().verdict, Verdict::Broken);
    let mut full = quota(at_least(), "40000", 1.0);
    let user = full.column("host_cpu", "user_ns").clone();
    let idle = full.column("host_cpu", "idle_ns").clone();
    for (index, busy) in full.column("host_cpu", "user_ns").iter_mut().enumerate() {
        *busy = user[index].zip(idle[index]).map(|(user, idle)| user + 2 * idle);
    }
    for column in ["idle_ns", "iowait_ns"] {
        full.column("host_cpu", column).iter_mut().flatten().for_each(|idle| *idle = 0);
    }
    assert_void(&full, "cpu", "C-CPU-ROOM", "were idle 0.0 % of the time");
    let summary = &full.promise().causes[0].summary;
    assert!(summary.contains("had no room for the quotas"), "{summary}");
    let two = quota(at_least(), "300000", 0.0);
    assert_void(
        &two,
        "cpu",
        "C-CPU-ROOM",
        "2 threads of `task1` on 2 CPUs cannot use a quota of 3",
    );
}

/// Each group's time on CPU 0, as a part of all of its time.
fn split(shares: [f64; 4], parts: [f64; 4]) -> Table {
    let groups = ["task1", "task2", "task3", "task4"];
    table("cpu_split", &groups, &["cpu0_ns", "cpu1_ns"], 21, |subject, ns| {
        let all = 2.0 * ns as f64 * shares[subject];
        let first = all * parts[subject];
        vec![first as u64, (all - first) as u64]
    })
}

/// The heaviest group's threads are all on CPU 0, where they have 8 parts of 8 + 7 / 2; the others
/// run on both CPUs, and have CPU 1 to themselves.
const CROWDED: [f64; 4] = [0.0932, 0.1863, 0.3727, 0.3478];

#[test]
fn crowded_threads_are_suspected_of_broken_shares() {
    let mut run = run(&LADDER, &CROWDED, 2);
    run.samples[0][0].push(split(CROWDED, [0.2333, 0.2333, 0.2333, 1.0]));
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Broken, "{}", promise.reason);
    let cause = &promise.causes[0];
    assert_eq!(cause.code, "C-CPU-IMBALANCE");
    assert_eq!(cause.strength, Some(Strength::Strong), "{cause:?}");
    assert!(cause.evidence[0].contains("`task4` had 100 % of its time on one CPU"), "{cause:?}");
}

/// A thread is on one CPU at any instant: an uneven spread explains nothing unless the weights on
/// each CPU explain the shares.
#[test]
fn an_uneven_spread_that_does_not_explain_the_shares_is_not_a_cause() {
    let shares = [0.05, 0.1, 0.25, 0.6];
    let mut run = run(&LADDER, &shares, 2);
    run.samples[0][0].push(split(shares, [1.0, 0.0, 0.5, 0.5]));
    let promise = run.promise();
    assert_eq!(promise.causes[0].code, "C-UNKNOWN", "{:?}", promise.causes);
}

#[test]
fn an_even_spread_rules_the_imbalance_out() {
    let mut run = run(&LADDER, &[0.05, 0.1, 0.25, 0.6], 2);
    let unknown = |run: &Run| {
        let cause = run.promise().causes.remove(0);
        assert_eq!(cause.code, "C-UNKNOWN");
        cause.evidence.join("; ")
    };
    let said = unknown(&run);
    assert!(said.contains("not examined C-CPU-IMBALANCE"), "{said}");
    run.samples[0][0].push(split([0.05, 0.1, 0.25, 0.6], [0.5, 0.45, 0.5, 0.5]));
    let said = unknown(&run);
    assert!(said.contains("ruled out C-CPU-IMBALANCE: every group was spread evenly"), "{said}");
}
