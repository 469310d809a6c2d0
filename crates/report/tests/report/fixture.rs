//! Synthetic runs: what a recorder and a judge would have left behind, built from a few numbers.

use std::collections::BTreeMap;

use assay_facts::{Available, CgroupLayout, Controller, Cpus, Hierarchy, HostFacts, Layout, Node};
use assay_facts::{Cache, Disk, Scheduler, Tool};
use assay_judge::{
    Cause, Check, GroupJudgement, Interval, Judgement, PromiseJudgement, TrialJudgement, Verdict,
};
use assay_record::{
    Change, Column, DiskRecord, GroupRecord, IoClass, KnobRecord, Latency, Manifest, PromiseRecord,
    QueueReading, Reading, RelationRecord, RepeatRecord, SamplerCost, Table, TrialRecord,
    WarmUpRecord, WorkloadRecord, WorkloadResult,
};
use assay_units::{Bytes, CpuSet};

/// Everything a report is made of.
pub(crate) struct Run {
    pub(crate) manifest: Manifest,
    pub(crate) judgement: Judgement,
    pub(crate) samples: Vec<Vec<Vec<Table>>>,
}

/// What a trial is to look like.
pub(crate) struct Shape {
    pub(crate) groups: usize,
    pub(crate) seconds: u64,
    pub(crate) repeats: usize,
    pub(crate) verdict: Verdict,
    /// 0: shares follow the weights. 1: all groups get the same.
    pub(crate) collapse: f64,
    /// Whether the workloads write as well.
    pub(crate) mixed: bool,
}

const SECOND: u64 = 1_000_000_000;
const RATE: f64 = 214e6;
const WARM_UP_S: f64 = 2.1;

/// A kept trial of four groups.
pub(crate) const KEPT: Shape = Shape {
    groups: 4,
    seconds: 20,
    repeats: 3,
    verdict: Verdict::Kept,
    collapse: 0.004,
    mixed: false,
};

/// A run with one trial for each shape.
pub(crate) fn run(shapes: &[Shape]) -> Run {
    let trials: Vec<TrialRecord> = shapes.iter().map(trial).collect();
    let judged: Vec<TrialJudgement> = shapes.iter().map(judged).collect();
    let verdict = [Verdict::Broken, Verdict::Void, Verdict::Undecided]
        .into_iter()
        .find(|verdict| shapes.iter().any(|shape| shape.verdict == *verdict))
        .unwrap_or(Verdict::Kept);
    Run {
        manifest: manifest(trials),
        judgement: Judgement {
            wrong_by_chance: None,
            schema: 1,
            study: "io-weight-scaling".to_owned(),
            verdict,
            trials: judged,
            comparisons: Vec::new(),
            references: Vec::new(),
            restored: Some(true),
            guest: None,
            caveat: None,
        },
        samples: shapes.iter().map(samples).collect(),
    }
}

fn weight(index: usize) -> f64 {
    100.0 * f64::from(1 << (index % 4))
}

fn name(index: usize) -> String {
    format!("task{}", index + 1)
}

fn promised(groups: usize, index: usize) -> f64 {
    weight(index) / (0..groups).map(weight).sum::<f64>()
}

/// Steps without a generator: the fractional part of multiples of the golden ratio.
fn noise(seed: usize) -> f64 {
    (seed as f64 * 0.618_033_988_75).fract() - 0.5
}

fn share(shape: &Shape, index: usize) -> f64 {
    let blend = |i: usize| {
        let fair = promised(shape.groups, i);
        let mixed = fair * (1.0 - shape.collapse) + shape.collapse / shape.groups as f64;
        mixed * (1.0 + noise(i + 1) * 0.02)
    };
    blend(index) / (0..shape.groups).map(blend).sum::<f64>()
}

fn judged(shape: &Shape) -> TrialJudgement {
    let half = if shape.verdict == Verdict::Undecided { 0.09 } else { 0.012 };
    let groups: Vec<GroupJudgement> = (0..shape.groups)
        .map(|index| {
            let (share, expected) = (share(shape, index), promised(shape.groups, index));
            let error = (share / expected - 1.0).abs();
            GroupJudgement {
                was: None,
                worst_span: None,
                name: name(index),
                knob: Some(weight(index)),
                expected_share: expected,
                share_by_weight: None,
                share,
                low: share * (1.0 - half),
                high: share * (1.0 + half),
                rate: share * RATE,
                verdict: match shape.verdict {
                    Verdict::Broken if error < 0.1 => Verdict::Kept,
                    other => other,
                },
            }
        })
        .collect();
    let worst = groups.iter().map(|g| (g.share / g.expected_share - 1.0).abs()).fold(0.0, f64::max);
    let promise = PromiseJudgement {
        was: None,
        will_be: None,
        spans: None,
        measure: "io.bytes".to_owned(),
        is: "proportional".to_owned(),
        to: Some("io.weight".to_owned()),
        within: 0.1,
        confidence: 0.95,
        verdict: shape.verdict,
        reason: reason(shape, worst),
        worst_error: Some(Interval { value: worst, low: worst * 0.9, high: worst * 1.1 + 0.004 }),
        errors: Vec::new(),
        jain: Some(1.0 - worst * worst * 0.1),
        total_rate: Some(RATE),
        needs_repeats: None,
        needs_s: (shape.verdict == Verdict::Undecided).then_some(140.0),
        groups,
        causes: causes(shape),
    };
    TrialJudgement {
        factors: factors(shape),
        verdict: shape.verdict,
        repeats: shape.repeats,
        promises: vec![promise],
        validity: checks(shape),
        facts: vec![assay_judge::Fact {
            fact: "pool".to_owned(),
            evidence: "loop0: 64 requests, 128 are wanted".to_owned(),
        }],
        rounds: (1..=shape.repeats).collect(),
        window_s: (shape.seconds as f64 - WARM_UP_S) * shape.repeats as f64,
        warm_up_s: WARM_UP_S,
        observer_cpu: 0.0041,
        workloads: Vec::new(),
    }
}

fn reason(shape: &Shape, worst: f64) -> String {
    let worst = worst * 100.0;
    match shape.verdict {
        Verdict::Kept => format!(
            "shares of io.bytes follow io.weight: the worst group is {worst:.1} % off, the margin is 10 %"
        ),
        Verdict::Broken => format!(
            "shares of io.bytes do not follow io.weight: the worst group is {worst:.0} % off, the margin is 10 %"
        ),
        Verdict::Undecided => format!(
            "the worst error of {worst:.1} % has an interval that crosses the margin of 10 %"
        ),
        Verdict::Void => {
            "the disk was idle for 62 % of the window, so nothing was contended".to_owned()
        }
    }
}

fn causes(shape: &Shape) -> Vec<Cause> {
    if shape.verdict != Verdict::Broken {
        return vec![];
    }
    vec![Cause {
        code: "C-REQUEST-POOL".to_owned(),
        summary: "All groups together ask for more requests than the queue has.".to_owned(),
        evidence: vec![
            format!(
                "{} groups x iodepth 32 = {} requests are wanted",
                shape.groups,
                shape.groups * 32
            ),
            "nr_requests of loop0 is 64".to_owned(),
        ],
        strength: None,
    }]
}

fn checks(shape: &Shape) -> Vec<Check> {
    let void = shape.verdict == Verdict::Void;
    let check = |check: &str, ok: bool, evidence: &str| Check {
        check: check.to_owned(),
        ok,
        evidence: evidence.to_owned(),
    };
    vec![
        check(
            "backlogged",
            !void,
            if void {
                "requests were in flight in 38 % of the samples of loop0; 95 % are needed"
            } else {
                "requests were in flight in 100 % of the samples of loop0"
            },
        ),
        check("cpu", true, "the CPUs were 61 % busy at the most"),
        check("scheduler", true, "bfq was active on loop0 at start and end"),
        check("knobs", true, "every knob read back as written, at start and end"),
        check("page-cache", true, "bytes at the device / bytes of the workloads = 1.00"),
        check("start", true, "the first I/O of all groups lies within 0.18 s"),
    ]
}

fn factors(shape: &Shape) -> BTreeMap<String, serde_json::Value> {
    BTreeMap::from([("groups".to_owned(), shape.groups.into()), ("iodepth".to_owned(), 32.into())])
}

fn trial(shape: &Shape) -> TrialRecord {
    TrialRecord {
        factors: factors(shape),
        groups: (0..shape.groups).map(|index| group(shape, index)).collect(),
        disks: vec![DiskRecord {
            name: "scratch".to_owned(),
            source: "loop".to_owned(),
            device: Some("loop0".to_owned()),
            scheduler: Some("bfq".to_owned()),
            queue: BTreeMap::from([("iosched/low_latency".to_owned(), "0".to_owned())]),
        }],
        settings: Vec::new(),
        placements: Vec::new(),
        promises: vec![PromiseRecord {
            measure: "io.bytes".to_owned(),
            is: RelationRecord::Proportional("io.weight".to_owned()),
            within: 0.1,
            confidence: 0.95,
            every: None,
        }],
        warm_up: WarmUpRecord::Auto,
        at_most_s: shape.seconds as f64,
        stop: Default::default(),
        planned_repeats: None,
        repeats: (0..shape.repeats).map(|repeat| repeat_record(shape, repeat)).collect(),
    }
}

fn group(shape: &Shape, index: usize) -> GroupRecord {
    GroupRecord {
        name: name(index),
        measured: true,
        knobs: vec![KnobRecord {
            knob: "io.weight".to_owned(),
            asked: weight(index).to_string(),
            file: "blkio.bfq.weight".to_owned(),
            written: weight(index).to_string(),
            note: Some("on cgroup v1 the weight of BFQ has a file of its own".to_owned()),
            obeyed_by: Some("bfq".to_owned()),
            also: BTreeMap::new(),
        }],
        workloads: vec![WorkloadRecord {
            name: format!("{}.reader", name(index)),
            tool: "fio".to_owned(),
            io: IoClass {
                direct: true,
                reads: true,
                writes: shape.mixed,
                sequential: false,
                outstanding: Some(32),
                block_size: Some(4096),
            },
            threads: Some(1),
            taken_over: vec!["`cgroup=` was left out: Assay places the job".to_owned()],
            ..WorkloadRecord::default()
        }],
        disk: Some("scratch".to_owned()),
    }
}

fn release(repeat: usize) -> u64 {
    (repeat as u64 + 1) * 1_000 * SECOND
}

fn repeat_record(shape: &Shape, repeat: usize) -> RepeatRecord {
    let released_ns = release(repeat);
    let knobs = (0..shape.groups).map(|index| Reading {
        group: name(index),
        knob: "io.weight".to_owned(),
        file: "blkio.bfq.weight".to_owned(),
        at_start: Available::Value(weight(index).to_string()),
        at_end: Available::Value(weight(index).to_string()),
        also: BTreeMap::new(),
        drift: BTreeMap::new(),
    });
    let attributes = BTreeMap::from([
        ("iosched/low_latency".to_owned(), "0".to_owned()),
        ("nr_requests".to_owned(), "64".to_owned()),
        ("rotational".to_owned(), "1".to_owned()),
    ]);
    RepeatRecord {
        released_ns,
        all_released_ns: released_ns + SECOND / 5,
        stopped_ns: released_ns + shape.seconds * SECOND,
        start_skew_s: Available::Value(0.18),
        knobs: knobs.collect(),
        queues: vec![QueueReading {
            disk: "scratch".to_owned(),
            device: "loop0".to_owned(),
            scheduler_at_start: "bfq".to_owned(),
            scheduler_at_end: "bfq".to_owned(),
            at_start: attributes.clone(),
            at_end: attributes,
            drift: BTreeMap::new(),
        }],
        workloads: (0..shape.groups).map(|index| result(shape, repeat, index)).collect(),
        sampler: SamplerCost {
            interval_s: 0.1,
            rounds: shape.seconds * 10,
            missed: 0,
            latest_s: 0.0021,
            cpu_s: shape.seconds as f64 * 0.0041,
            wall_s: shape.seconds as f64,
            sources: BTreeMap::new(),
            by_source_s: BTreeMap::from([
                ("io".to_owned(), shape.seconds as f64 * 0.003),
                ("disk".to_owned(), shape.seconds as f64 * 0.0007),
                ("host_cpu".to_owned(), shape.seconds as f64 * 0.0004),
            ]),
            ..SamplerCost::default()
        },
        ..RepeatRecord::without_a_window(&format!("trial-00-repeat-{repeat:02}"), "")
    }
}

fn result(shape: &Shape, repeat: usize, index: usize) -> WorkloadResult {
    let iops = share(shape, index) * RATE / 4096.0;
    // Little's law: 32 requests are always outstanding.
    let mean_ns = 32.0 / iops * 1e9;
    let at = |factor: f64| mean_ns * factor * (1.0 + noise(index + repeat) * 0.1);
    let percentiles = [("50", 0.8), ("90", 1.9), ("99", 4.2), ("99.9", 9.5), ("99.99", 14.0)];
    let latency = Latency {
        mean_ns,
        percentiles_ns: percentiles.map(|(name, f)| (name.to_owned(), at(f))).into(),
    };
    let mut directions = BTreeMap::from([("read".to_owned(), latency.clone())]);
    if shape.mixed {
        directions.insert("write".to_owned(), latency);
    }
    WorkloadResult {
        workload: format!("{}.reader", name(index)),
        group: name(index),
        failure: None,
        log: format!("logs/trial-00-repeat-{repeat:02}/{}.reader.json", name(index)),
        runtime_s: Some(shape.seconds as f64),
        metrics: BTreeMap::from([("read_iops".to_owned(), iops)]),
        latency: directions,
        ..WorkloadResult::default()
    }
}

fn samples(shape: &Shape) -> Vec<Vec<Table>> {
    (0..shape.repeats)
        .map(|repeat| {
            vec![
                io(shape, repeat),
                cpu(shape, repeat),
                disk(shape, repeat),
                host_cpu(shape, repeat),
            ]
        })
        .collect()
}

fn column(name: &str, values: Vec<u64>) -> Column {
    Column { name: name.to_owned(), values: values.into_iter().map(Some).collect() }
}

fn rounds(shape: &Shape, repeat: usize) -> impl Iterator<Item = (usize, u64)> {
    let start = release(repeat);
    (0..=shape.seconds as usize * 10).map(move |round| (round, start + round as u64 * SECOND / 10))
}

/// The counters of `subjects` in rounds: `grown(subject, round)` is what a round adds.
fn cumulative(
    shape: &Shape,
    repeat: usize,
    subjects: usize,
    grown: impl Fn(usize, usize) -> f64,
) -> Vec<u64> {
    let mut sums = vec![0.0; subjects];
    let mut values = Vec::new();
    for (round, _) in rounds(shape, repeat) {
        for (subject, sum) in sums.iter_mut().enumerate() {
            *sum += grown(subject, round);
            values.push(*sum as u64);
        }
    }
    values
}

fn group_table(shape: &Shape, repeat: usize, source: &str, columns: Vec<Column>) -> Table {
    let times = rounds(shape, repeat);
    let times = times.flat_map(|(_, time)| std::iter::repeat_n(time, shape.groups));
    let time_ns: Vec<u64> = times.collect();
    Table {
        source: source.to_owned(),
        subject: (0..time_ns.len()).map(|row| (row % shape.groups) as u32).collect(),
        time_ns,
        subjects: (0..shape.groups).map(name).collect(),
        columns,
    }
}

fn io(shape: &Shape, repeat: usize) -> Table {
    let shares: Vec<f64> = (0..shape.groups).map(|index| share(shape, index)).collect();
    let bytes = |subject: usize, round: usize| {
        let settled = 1.0 - 0.5 * (-(round as f64) / 8.0).exp();
        let ripple = 1.0 + 0.16 * noise(round * 7 + subject * 13 + repeat * 29 + 1);
        shares[subject] * RATE / 10.0 * settled * ripple
    };
    let read = if shape.mixed { 0.5 } else { 1.0 };
    let values = |factor: f64| cumulative(shape, repeat, shape.groups, |s, r| bytes(s, r) * factor);
    let columns = vec![
        column("read_bytes", values(read)),
        column("write_bytes", values(1.0 - read)),
        column("read_ios", values(read / 4096.0)),
        column("write_ios", values((1.0 - read) / 4096.0)),
    ];
    group_table(shape, repeat, "io", columns)
}

fn cpu(shape: &Shape, repeat: usize) -> Table {
    let values = cumulative(shape, repeat, shape.groups, |s, _| 4e6 + s as f64 * 1e5);
    group_table(shape, repeat, "cpu", vec![column("usage_ns", values)])
}

fn one_subject(
    shape: &Shape,
    repeat: usize,
    source: &str,
    subject: &str,
    columns: Vec<Column>,
) -> Table {
    let time_ns: Vec<u64> = rounds(shape, repeat).map(|(_, time)| time).collect();
    Table {
        source: source.to_owned(),
        subject: vec![0; time_ns.len()],
        time_ns,
        subjects: vec![subject.to_owned()],
        columns,
    }
}

fn disk(shape: &Shape, repeat: usize) -> Table {
    let in_flight = rounds(shape, repeat).map(|(round, _)| (28.0 + 9.0 * noise(round + 3)) as u64);
    let columns = vec![column("in_flight", in_flight.collect())];
    one_subject(shape, repeat, "disk", "loop0", columns)
}

fn host_cpu(shape: &Shape, repeat: usize) -> Table {
    let parts = [
        ("user_ns", 0.17),
        ("nice_ns", 0.0),
        ("system_ns", 0.31),
        ("idle_ns", 0.35),
        ("iowait_ns", 0.1),
        ("irq_ns", 0.01),
        ("softirq_ns", 0.04),
        ("steal_ns", 0.02),
    ];
    let columns = parts.iter().enumerate().map(|(place, (name, part))| {
        let grown = |_, round: usize| 2e8 * part * (1.0 + 0.3 * noise(round * 3 + place));
        column(name, cumulative(shape, repeat, 1, grown))
    });
    one_subject(shape, repeat, "host_cpu", "host", columns.collect())
}

fn manifest(trials: Vec<TrialRecord>) -> Manifest {
    Manifest {
        schema: 1,
        assay: "0.1.0".to_owned(),
        study: "io-weight-scaling".to_owned(),
        title: "I/O weights while groups multiply".to_owned(),
        question: Some(
            "Do weights 100:200:400:800 still divide the disk among 4 to 128 groups?".to_owned(),
        ),
        study_text: "title = \"I/O weights while groups multiply\"\n\n[factors]\ngroups = [4, 8]\niodepth = [32]\n\n[disks.scratch]\nuse = \"loop\"\nscheduler = \"bfq\"\n".to_owned(),
        command: ["assay", "run", "io-weight-scaling", "--repeats", "3"].map(str::to_owned).into(),
        started_at: "2026-03-01T09:30:00Z".to_owned(),
        seed: 7_243_551,
        host: host(),
        trials,
        comparisons: Vec::new(),
        references: Vec::new(),
        changes: vec![
            change("attach backing.img to /dev/loop0", None, Some("2 GiB")),
            change("write /sys/block/loop0/queue/scheduler", Some("mq-deadline"), Some("bfq")),
            change("write /sys/block/loop0/queue/iosched/low_latency", Some("1"), Some("0")),
            change("create group assay/task1", None, None),
        ],
        restored: Some(true),
        ended_early: None,
        recording: None,
        guest: None,
    }
}

fn change(what: &str, before: Option<&str>, set: Option<&str>) -> Change {
    Change {
        what: what.to_owned(),
        before: before.map(str::to_owned),
        set: set.map(str::to_owned),
        restored: Available::Value(true),
    }
}

fn host() -> HostFacts {
    let cpus = || (0..2).collect::<CpuSet>();
    let controller = Controller {
        hierarchy: Hierarchy::V1("/sys/fs/cgroup/blkio".into()),
        own_group: "/".to_owned(),
    };
    HostFacts {
        host_name: "bench".to_owned(),
        machine: None,
        kernel: "6.18.5".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        effective_user: 0,
        root: Available::Value(()),
        virtual_machine: Some("kvm".to_owned()),
        cpus: Cpus {
            online: cpus(),
            allowed: cpus(),
            model: "AMD EPYC".to_owned(),
            cores: (0..2).map(|cpu| std::iter::once(cpu).collect()).collect(),
        },
        caches: vec![Cache {
            level: 3,
            kind: "Unified".to_owned(),
            size: Bytes::mebi(32),
            ways: 16,
            line: 64,
            shared_by: cpus(),
        }],
        nodes: vec![Node {
            id: 0,
            cpus: cpus(),
            memory: Bytes::mebi(23_552),
            distances: vec![10],
            access: Vec::new(),
        }],
        memory_nodes: std::iter::once(0).collect(),
        memory: Bytes::mebi(23_552),
        swap: Bytes::new(0),
        cgroup: CgroupLayout {
            layout: Layout::Hybrid,
            v2_mount: Some("/sys/fs/cgroup/unified".into()),
            controllers: BTreeMap::from([("io".to_owned(), controller)]),
            bases: BTreeMap::new(),
        },
        disks: vec![Disk {
            name: "vda".to_owned(),
            size: Bytes::mebi(65_536),
            major: 254,
            minor: 0,
            scheduler: Some(Scheduler {
                active: "none".to_owned(),
                offered: vec!["none".to_owned()],
            }),
            rotational: Some(false),
            nr_requests: Some(256),
            model: None,
            serial: None,
            partitions: vec![],
            holders: vec![],
            backing_file: None,
        }],
        schedulers: vec!["none".to_owned(), "bfq".to_owned(), "mq-deadline".to_owned()],
        null_blk: Available::Value(()),
        pressure: Available::Value(true),
        settings: BTreeMap::new(),
        damon: Available::Value(Vec::new()),
        parses_partitions: Available::NotAvailable("the kernel has no /proc/config.gz".to_owned()),
        tools: BTreeMap::from([(
            "fio".to_owned(),
            Tool {
                found: Available::Value("fio-3.33".to_owned()),
                package: "fio".to_owned(),
                path: None,
            },
        )]),
    }
}
