//! Synthetic runs: promised shares, true shares, and noise.

#[path = "synthetic/served.rs"]
mod served;

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_cause::judge;
use assay_host::facts::{Available, CgroupLayout, Controller, Cpus, Hierarchy, HostFacts, Layout};
use assay_judge::verdict::{Judgement, PromiseJudgement};
use assay_record::run_folder::{
    Column, DiskRecord, GroupRecord, IoClass, KnobRecord, Latency, Manifest, PromiseRecord,
    QueueReading, Reading, RelationRecord, RepeatRecord, SamplerCost, Table, TrialRecord,
    WarmUpRecord, WorkloadRecord, WorkloadResult,
};
use assay_record::terms::Measure;
use assay_stats::rule::{FEWEST, LOOKS};
use assay_sys::units::{Bytes, CpuSet, NodeSet};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Release of the first workload in every synthetic repeat.
pub(crate) const RELEASED_NS: u64 = 10_000_000_000;
const STEP_NS: u64 = 100_000_000;
const BYTES_PER_SECOND: f64 = 400e6;
const BLOCK: f64 = 4096.0;

/// How the disk serves the groups.
#[derive(Clone, Copy)]
pub(crate) enum Server {
    /// Each group's rate is its share times AR(1) noise: relative deviation and correlation of
    /// adjacent 100 ms.
    Noise { deviation: f64, correlation: f64 },
    /// One group after the other has the whole disk, for a time in proportion to its share; a round
    /// takes this many seconds on average and starts anywhere.
    Turns { round_s: f64, jitter: f64 },
    /// Each group's rate is its share times `rate` of this time and group, with white noise of this
    /// relative deviation.
    Scripted { rate: fn(f64, usize) -> f64, deviation: f64 },
}

/// A trial to be synthesised.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) weights: Vec<u32>,
    /// True shares; in proportion to the weights by default.
    pub(crate) shares: Vec<f64>,
    pub(crate) seconds: f64,
    pub(crate) server: Server,
    pub(crate) seed: u64,
    pub(crate) repeats: usize,
    /// Whether a single repeat is judged as one; by default it is judged as eight or more identical ones,
    /// so that most tests need only one.
    pub(crate) alone: bool,
    /// Standard deviation of ln(share) from one repeat to the next.
    pub(crate) between: f64,
    pub(crate) promise: PromiseRecord,
    pub(crate) warm_up: WarmUpRecord,
    pub(crate) outstanding: Option<u32>,
    pub(crate) sequential: bool,
    pub(crate) mean_queue: f64,
    pub(crate) idle: f64,
}

/// A finished run.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) manifest: Manifest,
    pub(crate) samples: Vec<Vec<Vec<Table>>>,
    /// Whether a single repeat is judged as eight or more identical ones.
    pub(crate) eightfold: bool,
}

impl Scenario {
    pub(crate) fn new(weights: &[u32]) -> Self {
        let sum: u32 = weights.iter().sum();
        Self {
            weights: weights.to_vec(),
            shares: weights.iter().map(|weight| f64::from(*weight) / f64::from(sum)).collect(),
            seconds: 20.0,
            server: Server::Noise { deviation: 0.05, correlation: 0.3 },
            seed: 7,
            repeats: 1,
            alone: false,
            between: 0.0,
            promise: PromiseRecord {
                measure: "io.bytes".to_owned(),
                is: RelationRecord::Proportional("io.weight".to_owned()),
                within: 0.1,
                every: None,
            },
            warm_up: WarmUpRecord::Seconds(0.0),
            outstanding: Some(8),
            sequential: false,
            mean_queue: 8.0 * weights.len() as f64,
            idle: 0.6,
        }
    }

    pub(crate) fn shares(mut self, shares: &[f64]) -> Self {
        self.shares = shares.to_vec();
        self
    }

    pub(crate) fn promise(mut self, measure: &str, is: RelationRecord) -> Self {
        self.promise.measure = measure.to_owned();
        self.promise.is = is;
        self
    }

    pub(crate) fn run(&self) -> Run {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut samples = Vec::new();
        let mut repeats = Vec::new();
        for number in 0..self.repeats {
            let (tables, totals) = self.moved(&mut random).tables(&mut random);
            repeats.push(self.repeat(number, &totals));
            samples.push(tables);
        }
        let trial = TrialRecord {
            factors: BTreeMap::from([("groups".to_owned(), self.weights.len().into())]),
            groups: (0..self.weights.len()).map(|group| self.group(group)).collect(),
            disks: vec![DiskRecord {
                name: "scratch".to_owned(),
                source: "loop".to_owned(),
                device: Some("loop0".to_owned()),
                scheduler: Some("bfq".to_owned()),
                queue: BTreeMap::from([("iosched/low_latency".to_owned(), "0".to_owned())]),
            }],
            settings: Vec::new(),
            placements: Vec::new(),
            promises: vec![self.promise.clone()],
            warm_up: self.warm_up,
            at_most_s: self.seconds,
            stop: Default::default(),
            planned_repeats: None,
            repeats,
        };
        let eightfold = self.repeats == 1 && !self.alone;
        Run { manifest: manifest(trial), samples: vec![samples], eightfold }
    }

    /// The scenario with the shares of one repeat.
    fn moved(&self, random: &mut ChaCha8Rng) -> Self {
        let mut one = self.clone();
        if self.between > 0.0 {
            one.shares.iter_mut().for_each(|share| *share *= (self.between * normal(random)).exp());
            let sum: f64 = one.shares.iter().sum();
            one.shares.iter_mut().for_each(|share| *share /= sum);
        }
        one
    }

    fn steps(&self) -> usize {
        (self.seconds * 10.0).round() as usize
    }

    fn tables(&self, random: &mut ChaCha8Rng) -> (Vec<Table>, Vec<f64>) {
        let rows = self.served(random);
        let width = self.shares.len();
        let names: Vec<String> = (0..width).map(name).collect();
        let mut io =
            Builder::new("io", &names, &["read_bytes", "write_bytes", "read_ios", "write_ios"]);
        let mut cpu = Builder::new("cpu", &names, &["usage_ns"]);
        let mut disk = Builder::new(
            "disk",
            &["loop0".to_owned()],
            &["weighted_ms", "io_ms", "in_flight", "read_sectors", "write_sectors"],
        );
        let mut host = Builder::new(
            "host_cpu",
            &["host".to_owned()],
            &[
                "user_ns",
                "nice_ns",
                "system_ns",
                "idle_ns",
                "iowait_ns",
                "irq_ns",
                "softirq_ns",
                "steal_ns",
            ],
        );
        let last = self.steps() + 4;
        for (round, row) in rows.iter().enumerate().take(last + 1) {
            // The first two readings come before the release.
            let time = RELEASED_NS - 2 * STEP_NS + round as u64 * STEP_NS;
            for (group, served) in row.iter().enumerate() {
                let at = time + 20_000 * group as u64;
                let bytes = served * BYTES_PER_SECOND;
                io.row(at, group, &[bytes as u64, 0, (bytes / BLOCK) as u64, 0]);
                cpu.row(at, group, &[(served * 2e9) as u64]);
            }
            let passed = round as f64 * 0.1;
            disk.row(
                time,
                0,
                &[
                    (passed * 1000.0 * self.mean_queue) as u64,
                    (passed * 990.0) as u64,
                    self.mean_queue as u64,
                    (row.iter().sum::<f64>() * BYTES_PER_SECOND / 512.0) as u64,
                    0,
                ],
            );
            let idle = (passed * 2e9 * self.idle) as u64;
            let user = (passed * 2e9 * (1.0 - self.idle)) as u64;
            host.row(time, 0, &[user, 0, 0, idle / 2, idle - idle / 2, 0, 0, 0]);
        }
        let tables = vec![io.table, cpu.table, disk.table, host.table];
        (tables, rows[last].iter().zip(&rows[2]).map(|(end, start)| end - start).collect())
    }

    fn group(&self, group: usize) -> GroupRecord {
        let weight = self.weights[group].to_string();
        GroupRecord {
            existing: None,
            name: name(group),
            measured: true,
            knobs: vec![KnobRecord {
                knob: "io.weight".to_owned(),
                asked: weight.clone(),
                file: "blkio.bfq.weight".to_owned(),
                written: weight,
                note: None,
                obeyed_by: Some("bfq".to_owned()),
                also: BTreeMap::new(),
            }],
            workloads: vec![WorkloadRecord {
                name: format!("{}.reader", name(group)),
                tool: "fio".to_owned(),
                io: IoClass {
                    direct: true,
                    reads: true,
                    writes: false,
                    sequential: self.sequential,
                    outstanding: self.outstanding,
                    block_size: Some(4096),
                    closed_loop: None,
                },
                threads: Some(1),
                taken_over: Vec::new(),
                ..WorkloadRecord::default()
            }],
            disk: Some("scratch".to_owned()),
            outside: false,
        }
    }

    fn repeat(&self, number: usize, totals: &[f64]) -> RepeatRecord {
        let queue = BTreeMap::from([
            ("nr_requests".to_owned(), "256".to_owned()),
            ("iosched/low_latency".to_owned(), "0".to_owned()),
            ("iosched/slice_idle".to_owned(), "8".to_owned()),
        ]);
        RepeatRecord {
            released_ns: RELEASED_NS,
            all_released_ns: RELEASED_NS + 2_000_000,
            stopped_ns: RELEASED_NS + self.steps() as u64 * STEP_NS,
            start_skew_s: Available::Value(0.012),
            knobs: (0..self.weights.len()).map(|group| self.reading(group)).collect(),
            queues: vec![QueueReading {
                disk: "scratch".to_owned(),
                device: "loop0".to_owned(),
                scheduler_at_start: "bfq".to_owned(),
                scheduler_at_end: "bfq".to_owned(),
                at_start: queue.clone(),
                at_end: queue,
                drift: BTreeMap::new(),
            }],
            workloads: totals
                .iter()
                .enumerate()
                .map(|(group, total)| self.result(group, *total))
                .collect(),
            sampler: SamplerCost {
                interval_s: 0.1,
                rounds: 200,
                cpu_s: 0.06,
                wall_s: self.seconds,
                ..SamplerCost::default()
            },
            ..RepeatRecord::without_a_window(&format!("trial-00-repeat-{number:02}"), "")
        }
    }

    fn reading(&self, group: usize) -> Reading {
        let text = format!("{}\n", self.weights[group]);
        Reading {
            group: name(group),
            knob: "io.weight".to_owned(),
            file: "blkio.bfq.weight".to_owned(),
            at_start: Available::Value(text.clone()),
            at_end: Available::Value(text),
            also: BTreeMap::new(),
            drift: BTreeMap::new(),
        }
    }

    fn result(&self, group: usize, served: f64) -> WorkloadResult {
        let runtime = self.seconds + 0.2;
        let bytes = served * BYTES_PER_SECOND;
        let rate = bytes / BLOCK / runtime;
        let kept = f64::from(self.outstanding.unwrap_or(8));
        let latency = Latency { mean_ns: kept * 1e9 / rate, percentiles_ns: BTreeMap::new() };
        WorkloadResult {
            workload: format!("{}.reader", name(group)),
            group: name(group),
            failure: None,
            log: format!("logs/{}.json", name(group)),
            runtime_s: Some(runtime),
            metrics: BTreeMap::from([
                ("read_bytes".to_owned(), bytes),
                ("write_bytes".to_owned(), 0.0),
                ("read_iops".to_owned(), rate),
            ]),
            latency: BTreeMap::from([("read".to_owned(), latency)]),
            ..WorkloadResult::default()
        }
    }
}

impl Run {
    pub(crate) fn judge(&self) -> Judgement {
        if !self.eightfold {
            return judge(&self.manifest, &self.samples);
        }
        let (mut manifest, mut samples) = (self.manifest.clone(), self.samples.clone());
        // As many as decide: fractions of starts take more than means.
        let is_mean = |promise: &PromiseRecord| Measure::parse(&promise.measure).is_some();
        let mut promises = manifest.trials.iter().flat_map(|trial| &trial.promises);
        let times = if promises.all(is_mean) { FEWEST } else { LOOKS[3] };
        for trial in &mut manifest.trials {
            if let [one] = trial.repeats.as_slice() {
                trial.repeats = vec![one.clone(); times];
            }
        }
        for repeats in &mut samples {
            if let [one] = repeats.as_slice() {
                *repeats = vec![one.clone(); times];
            }
        }
        judge(&manifest, &samples)
    }

    /// The only promise of the only trial.
    pub(crate) fn promise(&self) -> PromiseJudgement {
        self.judge().trials[0].promises[0].clone()
    }

    pub(crate) fn trial(&mut self) -> &mut TrialRecord {
        &mut self.manifest.trials[0]
    }

    pub(crate) fn repeat(&mut self) -> &mut RepeatRecord {
        &mut self.manifest.trials[0].repeats[0]
    }

    pub(crate) fn column(&mut self, source: &str, column: &str) -> &mut Vec<Option<u64>> {
        let tables = &mut self.samples[0][0];
        let table = tables.iter_mut().find(|table| table.source == source).unwrap();
        &mut table.columns.iter_mut().find(|found| found.name == column).unwrap().values
    }

    /// Removes every reading of a repeat between two times, in seconds after the release.
    pub(crate) fn silence(&mut self, repeat: usize, from_s: f64, to_s: f64) {
        let at = |seconds: f64| RELEASED_NS + (seconds * 1e9) as u64;
        self.retain(repeat, |time_ns| time_ns < at(from_s) || time_ns > at(to_s));
    }

    /// Keeps only the readings of a repeat at these times.
    pub(crate) fn retain(&mut self, repeat: usize, keep: impl Fn(u64) -> bool) {
        for table in &mut self.samples[0][repeat] {
            let seen: Vec<bool> = table.time_ns.iter().map(|time| keep(*time)).collect();
            let mut rows = seen.iter();
            table.time_ns.retain(|_| *rows.next().unwrap());
            let mut rows = seen.iter();
            table.subject.retain(|_| *rows.next().unwrap());
            for column in &mut table.columns {
                let mut rows = seen.iter();
                column.values.retain(|_| *rows.next().unwrap());
            }
        }
    }

    pub(crate) fn drop_table(&mut self, source: &str) {
        self.samples[0][0].retain(|table| table.source != source);
    }
}

/// A table with this many readings of each subject, 100 ms apart or fewer over 20 s, with values by
/// subject and nanoseconds since the first reading.
pub(crate) fn table(
    source: &str,
    subjects: &[&str],
    columns: &[&str],
    readings: u64,
    values: impl Fn(usize, u64) -> Vec<u64>,
) -> Table {
    let subjects: Vec<String> = subjects.iter().map(|name| (*name).to_owned()).collect();
    let mut builder = Builder::new(source, &subjects, columns);
    let step = 20 * 1_000_000_000 / readings.max(1);
    for reading in 0..readings + 4 {
        for subject in 0..subjects.len() {
            let time = RELEASED_NS - step + reading * step;
            builder.row(time, subject, &values(subject, reading * step));
        }
    }
    builder.table
}

struct Builder {
    table: Table,
}

impl Builder {
    fn new(source: &str, subjects: &[String], columns: &[&str]) -> Self {
        let columns = columns
            .iter()
            .map(|name| Column { name: (*name).to_owned(), values: Vec::new() })
            .collect();
        Self {
            table: Table {
                source: source.to_owned(),
                subjects: subjects.to_vec(),
                columns,
                ..Table::default()
            },
        }
    }

    fn row(&mut self, time_ns: u64, subject: usize, values: &[u64]) {
        self.table.time_ns.push(time_ns);
        self.table.subject.push(u32::try_from(subject).unwrap());
        for (column, value) in self.table.columns.iter_mut().zip(values) {
            column.values.push(Some(*value));
        }
    }
}

fn name(group: usize) -> String {
    format!("task{}", group + 1)
}

/// Nearly normal: the sum of twelve uniform numbers.
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

fn manifest(trial: TrialRecord) -> Manifest {
    Manifest {
        schema: 1,
        assay: "0.1.0".to_owned(),
        study: "io-weight".to_owned(),
        title: "I/O weights".to_owned(),
        question: None,
        study_text: String::new(),
        command: Vec::new(),
        study_choice: None,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        seed: 42,
        host: host(),
        trials: vec![trial],
        comparisons: Vec::new(),
        references: Vec::new(),
        changes: Vec::new(),
        restored: Some(true),
        ended_early: None,
        recording: None,
        guest: None,
    }
}

fn host() -> HostFacts {
    let io = Controller {
        hierarchy: Hierarchy::V1(PathBuf::from("/sys/fs/cgroup/blkio")),
        own_group: "/".to_owned(),
    };
    HostFacts {
        host_name: "synthetic".to_owned(),
        machine: None,
        kernel: "6.18.0".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: "none".to_owned(),
        effective_user: 0,
        root: Available::Value(()),
        virtual_machine: None,
        cpus: Cpus {
            online: CpuSet::default(),
            allowed: CpuSet::default(),
            model: "none".to_owned(),
            cores: Vec::new(),
        },
        caches: Vec::new(),
        nodes: Vec::new(),
        memory_nodes: NodeSet::default(),
        memory: Bytes::mebi(1024),
        swap: Bytes::new(0),
        cgroup: CgroupLayout {
            layout: Layout::Hybrid,
            v2_mount: None,
            controllers: BTreeMap::from([("io".to_owned(), io)]),
            bases: BTreeMap::new(),
        },
        disks: Vec::new(),
        schedulers: Vec::new(),
        null_blk: Available::Value(()),
        pressure: Available::Value(true),
        settings: BTreeMap::new(),
        weight_mode: Available::Value("smp".to_owned()),
        parses_partitions: Available::Value(true),
        tools: BTreeMap::new(),
    }
}
