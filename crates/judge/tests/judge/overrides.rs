//! Checks of what overrides weights: limits, quotas, classes, policies, other schedulers, stacked
//! disks, one busy CPU, and groups with low demand.

use std::collections::BTreeMap;

use assay_host::facts::Available;
use assay_judge::verdict::{Check, Verdict};
use assay_record::run_folder::{
    LimitReading, OverridesRecord, RelationRecord, Table, ThreadReading,
};

use crate::synthetic::{Run, Scenario, table};

const LADDER: [u32; 4] = [100, 200, 400, 800];
const BY_WEIGHT: [f64; 4] = [1.0 / 15.0, 2.0 / 15.0, 4.0 / 15.0, 8.0 / 15.0];
/// The heaviest group falls short, and the rest goes to the others by weight.
const HEAVY_SHORT: [f64; 4] = [0.08, 0.16, 0.32, 0.44];

fn nothing() -> OverridesRecord {
    OverridesRecord {
        limits: Vec::new(),
        threads: Vec::new(),
        sched_ext: Available::NotAvailable("no such file".to_owned()),
        stacked: BTreeMap::new(),
    }
}

fn with(shares: &[f64; 4], overrides: OverridesRecord) -> Run {
    let mut run = Scenario::new(&LADDER).shares(shares).run();
    run.repeat().overrides = Some(overrides);
    run
}

fn check(run: &Run, name: &str) -> Option<Check> {
    run.judge().trials.remove(0).validity.into_iter().find(|check| check.check == name)
}

/// Void, with this cause first, because of this check.
fn assert_first(run: &Run, name: &str, cause: &str, evidence: &str) {
    let found = check(run, name).unwrap();
    assert!(!found.ok && found.evidence.contains(evidence), "{}", found.evidence);
    let promise = run.promise();
    assert_eq!(promise.verdict, Verdict::Void);
    assert_eq!(promise.causes[0].code, cause, "{:?}", promise.causes);
    assert_eq!(promise.causes[0].strength, None, "a proven cause has no strength");
}

fn assert_passes(run: &Run, name: &str) {
    let found = check(run, name).unwrap();
    assert!(found.ok, "{}", found.evidence);
}

fn limit(group: &str, file: &str, text: &str) -> OverridesRecord {
    let (group, file, at_start) = (group.to_owned(), file.to_owned(), text.to_owned());
    let limits = vec![LimitReading { group, file, at_end: at_start.clone(), at_start }];
    OverridesRecord { limits, ..nothing() }
}

#[test]
fn a_group_with_less_demand_than_its_promise_voids_shares() {
    let mut run = Scenario::new(&LADDER).shares(&HEAVY_SHORT).run();
    // Five of eight requests outstanding: the whole queue is as long as before.
    run.repeat().workloads[3].latency.get_mut("read").unwrap().mean_ns *= 5.0 / 8.0;
    assert_first(&run, "demand", "C-DEMAND", "`task4` kept 5.0 of 8 requests outstanding");
}

#[test]
fn a_group_with_less_demand_than_its_lower_bound_voids() {
    let floor = || RelationRecord::AtLeast(200e6);
    let mut run = Scenario::new(&[100, 300]).promise("io.bytes", floor()).run();
    // 100 of 400 MB/s.
    assert_eq!(run.promise().verdict, Verdict::Broken, "{}", run.promise().reason);
    run.repeat().workloads[0].latency.get_mut("read").unwrap().mean_ns *= 0.2;
    assert_first(&run, "demand", "C-DEMAND", "`task1` kept 1.6 of 8 requests outstanding");
    // BFQ lets it hold 64 of its 90.
    let deep = Scenario { outstanding: Some(90), mean_queue: 150.0, ..Scenario::new(&[100, 300]) };
    let mut run = deep.promise("io.bytes", floor()).run();
    run.repeat().workloads[0].latency.get_mut("read").unwrap().mean_ns *= 0.2;
    assert_passes(&run, "demand");
}

/// The CPUs are saturated as well, without effect: the others keep up their demand, and divide by
/// weight what the heaviest leaves.
#[test]
fn low_demand_comes_before_a_busy_host_where_it_explains_every_share() {
    let busy = Scenario { idle: 0.0, ..Scenario::new(&LADDER) };
    let lazy = |shares: &[f64; 4]| {
        let mut run = busy.clone().shares(shares).run();
        run.repeat().workloads[3].latency.get_mut("read").unwrap().mean_ns *= 0.2;
        run
    };
    let codes = |run: &Run| -> Vec<String> {
        run.promise().causes.iter().map(|cause| cause.code.clone()).collect()
    };
    assert_eq!(codes(&lazy(&HEAVY_SHORT)), ["C-DEMAND", "C-CPU"]);
    // All got the same, as threads of equal rights get of a CPU.
    assert_eq!(codes(&lazy(&[0.25; 4])), ["C-CPU", "C-DEMAND"]);
    // Two groups with low demand and one without: the last gets the rest in any case.
    let mut run = lazy(&HEAVY_SHORT);
    for index in [1, 2] {
        run.repeat().workloads[index].latency.get_mut("read").unwrap().mean_ns *= 0.2;
    }
    assert_eq!(codes(&run)[0], "C-CPU");
}

#[test]
fn a_group_with_its_share_may_have_low_demand() {
    let mut run = Scenario::new(&LADDER).run();
    run.repeat().workloads[3].latency.get_mut("read").unwrap().mean_ns *= 5.0 / 8.0;
    assert_passes(&run, "demand");
    assert_eq!(run.promise().verdict, Verdict::Kept);
}

#[test]
fn a_group_that_waits_for_the_pool_has_full_demand() {
    let scenario = Scenario { outstanding: Some(128), mean_queue: 250.0, ..Scenario::new(&LADDER) };
    let mut run = scenario.shares(&HEAVY_SHORT).run();
    run.repeat().workloads[3].latency.get_mut("read").unwrap().mean_ns *= 0.2;
    assert_passes(&run, "demand");
}

/// The disk does 400 MB/s, of which the heaviest group has 44 %.
#[test]
fn a_limit_that_a_group_reached_is_named() {
    let near = limit("task4", "io.max", "7:0 rbps=177000000 wbps=max riops=max wiops=max");
    let run = with(&HEAVY_SHORT, near);
    assert_first(&run, "io-limit", "C-IO-LIMIT", "`io.max` of `task4` allows 177000000 bytes");
    let far = limit("task4", "io.max", "7:0 rbps=900000000 wbps=max riops=max wiops=max");
    assert_passes(&with(&BY_WEIGHT, far), "io-limit");
}

#[test]
fn a_limit_around_the_groups_counts_on_v2_and_not_on_v1() {
    let v2 = limit("above:/sys/fs/cgroup/user.slice", "io.max", "7:0 rbps=400000000");
    assert_first(&with(&BY_WEIGHT, v2), "io-limit", "C-IO-LIMIT", "`/sys/fs/cgroup/user.slice`");
    let file = "blkio.throttle.read_bps_device";
    let v1 = limit("above:/sys/fs/cgroup/blkio/user.slice", file, "7:0 400000000");
    assert_passes(&with(&BY_WEIGHT, v1), "io-limit");
    let own = limit("task4", file, "7:0 177000000");
    assert_first(&with(&HEAVY_SHORT, own), "io-limit", "C-IO-LIMIT", file);
}

#[test]
fn a_latency_target_throttles_the_others() {
    let latency = limit("task1", "io.latency", "7:0 target=75000");
    assert_first(&with(&BY_WEIGHT, latency), "io-limit", "C-IO-LIMIT", "75000 microseconds");
}

#[test]
fn a_cpu_quota_that_bound_voids_shares_of_a_disk() {
    let mut run = with(&HEAVY_SHORT, limit("task4", "cpu.max", "50000 100000"));
    assert_first(&run, "quota", "C-CPU-QUOTA", "how often it bound was not sampled");
    let columns = ["periods", "throttled_periods", "throttled_ns"];
    let counted = |throttled: u64| {
        table("throttle", &["above:/sys/fs/cgroup/cpu/a"], &columns, 200, |_, ns| {
            let periods = ns / 100_000_000;
            vec![periods, periods * throttled, 0]
        })
    };
    run.samples[0][0].push(counted(1));
    assert_first(&run, "quota", "C-CPU-QUOTA", "the quota of `above:/sys/fs/cgroup/cpu/a` bound");
    run.samples[0][0].pop();
    run.samples[0][0].push(counted(0));
    assert_passes(&run, "quota");
}

fn threads(classes: [&str; 4], policies: [&str; 4]) -> OverridesRecord {
    let thread = |group: usize, io_class: &str, policy: &str| ThreadReading {
        group: format!("task{}", group + 1),
        policy: policy.to_owned(),
        nice: 0,
        io_class: io_class.to_owned(),
        threads: 1,
    };
    let mut threads = Vec::new();
    for group in 0..4 {
        // A program's first thread starts the others and has no class.
        threads.push(thread(group, "none", "other"));
        threads.push(thread(group, classes[group], policies[group]));
    }
    OverridesRecord { threads, ..nothing() }
}

#[test]
fn another_io_class_overrides_the_weight() {
    let idle = threads(["none", "none", "none", "idle"], ["other"; 4]);
    let run = with(&HEAVY_SHORT, idle);
    assert_first(&run, "priority", "C-IO-PRIORITY", "`task4` has threads of the I/O class idle");
    assert_passes(&with(&BY_WEIGHT, threads(["idle"; 4], ["other"; 4])), "priority");
    let levels = threads(["none", "best-effort", "none", "best-effort"], ["other"; 4]);
    assert_passes(&with(&BY_WEIGHT, levels), "priority");
    let class = limit("task1", "io.prio.class", "idle");
    let threads = threads(["none"; 4], ["other"; 4]).threads;
    let run = with(&HEAVY_SHORT, OverridesRecord { threads, ..class });
    assert_first(&run, "priority", "C-IO-PRIORITY", "`io.prio.class` = idle");
}

/// Shares of the time of two busy CPUs.
fn of_cpu(overrides: OverridesRecord) -> Run {
    let follows = RelationRecord::Proportional("io.weight".to_owned());
    let scenario = Scenario { idle: 0.0, ..Scenario::new(&LADDER) };
    let mut run = scenario.promise("cpu.time", follows).run();
    run.manifest.host.cpus.allowed = "0-1".parse().unwrap();
    for group in &mut run.trial().groups {
        group.workloads[0].threads = Some(2);
    }
    run.repeat().overrides = Some(overrides);
    run
}

#[test]
fn another_policy_overrides_only_the_weight_of_cpu_time() {
    let fifo = || threads(["none"; 4], ["fifo", "other", "other", "other"]);
    let run = of_cpu(fifo());
    assert_first(&run, "priority", "C-CPU-POLICY", "`task1` has threads of SCHED_FIFO");
    assert_passes(&with(&BY_WEIGHT, fifo()), "priority");
    let idle = limit("task2", "cpu.idle", "1");
    let run =
        of_cpu(OverridesRecord { threads: threads(["none"; 4], ["other"; 4]).threads, ..idle });
    assert_first(&run, "priority", "C-CPU-POLICY", "`task2` has `cpu.idle` = 1");
}

#[test]
fn a_sched_ext_scheduler_voids_only_shares_of_cpu_time() {
    let state = |state: &str| OverridesRecord {
        sched_ext: Available::Value(state.to_owned()),
        ..nothing()
    };
    assert_first(&of_cpu(state("enabled rusty")), "sched-ext", "C-SCHED-EXT", "enabled rusty");
    assert_passes(&of_cpu(state("disabled")), "sched-ext");
    assert_eq!(with(&BY_WEIGHT, state("enabled rusty")).promise().verdict, Verdict::Kept);
}

#[test]
fn a_stacked_disk_is_named_before_its_missing_scheduler() {
    let stacked = BTreeMap::from([("scratch".to_owned(), vec!["sda".to_owned()])]);
    let mut run = with(&[0.25; 4], OverridesRecord { stacked, ..nothing() });
    assert_passes(&run, "stacked");
    let queue = &mut run.repeat().queues[0];
    (queue.scheduler_at_start, queue.scheduler_at_end) = (String::new(), String::new());
    assert_first(&run, "stacked", "C-STACKED", "`loop0` is stacked on sda");
}

/// 16 CPUs of which the first is busy, in user space or in the kernel.
fn cpus(user: u64, system: u64) -> Table {
    let names: Vec<String> = (0..16).map(|cpu| format!("cpu{cpu}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns =
        ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns"];
    let columns: Vec<&str> = columns.into_iter().chain(["steal_ns"]).collect();
    table("cpus", &names, &columns, 40, |cpu, ns| match cpu {
        0 => vec![
            ns / 100 * user,
            0,
            ns / 100 * system,
            ns / 100 * (100 - user - system),
            0,
            0,
            0,
            0,
        ],
        _ => vec![0, 0, 0, ns, 0, 0, 0, 0],
    })
}

#[test]
fn one_cpu_kept_busy_by_the_kernel_or_the_groups_limits_them() {
    let run = |table: Table, part_of_groups: Option<u64>| {
        let mut run = Scenario::new(&LADDER).run();
        run.samples[0][0].push(table);
        if let Some(percent) = part_of_groups {
            let groups = ["task1", "task2", "task3", "task4"];
            let split = |_, ns: u64| vec![ns / 400 * percent];
            run.samples[0][0].push(self::table("cpu_split", &groups, &["cpu0_ns"], 40, split));
        }
        run
    };
    assert_first(&run(cpus(5, 94), None), "cpu", "C-CPU", "cpu0, the busiest, was idle 1.0 %");
    assert_first(&run(cpus(94, 5), Some(94)), "cpu", "C-CPU", "cpu0, the busiest");
    // Another program, bound to it: the groups run elsewhere.
    assert_passes(&run(cpus(94, 5), Some(2)), "cpu");
    assert_passes(&run(cpus(50, 40), None), "cpu");
}
