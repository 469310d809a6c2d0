//! The cost of observation, since a number is only worth something next to the cost of getting it:
//! the sampler's own account per repeat, and per source over all repeats.

use std::collections::BTreeMap;

use assay_run_folder::RepeatRecord;
use serde::Serialize;

use crate::number::{self, NONE};
use crate::trial::Trial;
use crate::wording;

/// The cost of sampling over the whole run.
#[derive(Serialize)]
pub(crate) struct Cost {
    rows: Vec<Row>,
    sources: Vec<Source>,
}

/// One repeat.
#[derive(Serialize)]
struct Row {
    trial: String,
    repeat: usize,
    interval_ms: String,
    rounds: u64,
    missed: u64,
    late: u64,
    latest_ms: String,
    /// `None` in older records that do not count it.
    wakeups: Option<u64>,
    cpu_percent: String,
    affinity: String,
}

/// One source over all repeats.
#[derive(Serialize)]
struct Source {
    name: String,
    /// Reads and rows; empty for other activities, and in older records that do not count them.
    reads: String,
    rows: String,
    cpu_ms: String,
    /// CPU time of one read.
    cpu_us: String,
    part: String,
}

/// Totals of one source over all repeats.
#[derive(Default)]
struct Sum {
    reads: u64,
    rows: u64,
    cpu_s: f64,
}

impl Cost {
    pub(crate) fn new(trials: &[Trial<'_>]) -> Self {
        let mut rows = Vec::new();
        let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
        for trial in trials {
            for (index, repeat) in trial.record.repeats.iter().enumerate() {
                rows.push(row(wording::factors(&trial.record.factors), index + 1, repeat));
                add(&mut sums, repeat);
            }
        }
        let total: f64 = sums.values().map(|sum| sum.cpu_s).sum();
        let sources = sums.into_iter().map(|(name, sum)| source(name, &sum, total));
        Self { rows, sources: sources.collect() }
    }
}

fn row(trial: String, number: usize, repeat: &RepeatRecord) -> Row {
    let sampler = &repeat.sampler;
    Row {
        trial,
        repeat: number,
        interval_ms: number::fixed(sampler.interval_s * 1e3, 0),
        rounds: sampler.rounds,
        missed: sampler.missed,
        late: sampler.late,
        latest_ms: number::fixed(sampler.latest_s * 1e3, 1),
        wakeups: (sampler.wakeups > 0).then_some(sampler.wakeups),
        cpu_percent: match sampler.wall_s > 0.0 {
            true => number::percent(sampler.cpu_s / sampler.wall_s, 2),
            false => NONE.to_owned(),
        },
        affinity: affinity(repeat),
    }
}

/// CPU and group of the sampling thread, or why it had no dedicated ones.
fn affinity(repeat: &RepeatRecord) -> String {
    let why = |what: &str, key: &str| match repeat.not_available.get(key) {
        Some(reason) => format!("no dedicated {what}: {reason}"),
        None => format!("no dedicated {what} is recorded"),
    };
    let sampler = &repeat.sampler;
    let cpu = match sampler.cpu {
        Some(cpu) => format!("CPU {cpu}"),
        None => why("CPU", "sampler.cpu"),
    };
    let group = sampler.group.clone().unwrap_or_else(|| why("group", "sampler.group"));
    format!("{cpu}; {group}")
}

fn add<'r>(sums: &mut BTreeMap<&'r str, Sum>, repeat: &'r RepeatRecord) {
    for (source, seconds) in &repeat.sampler.by_source_s {
        sums.entry(source).or_default().cpu_s += seconds;
    }
    for (source, cost) in &repeat.sampler.sources {
        let sum = sums.entry(source).or_default();
        sum.reads += cost.rounds;
        sum.rows += cost.rows;
    }
    if let Some(watch) = &repeat.watch {
        sums.entry("re-reading knobs and queues").or_default().cpu_s += watch.cpu_s;
    }
    if let Some(shown) = repeat.shown_cpu_s {
        sums.entry("interim results and display").or_default().cpu_s += shown;
    }
    if let Some(programs) = repeat.evidence.as_ref().and_then(|evidence| evidence.cpu_s) {
        sums.entry("eBPF programs of the evidence").or_default().cpu_s += programs;
    }
}

fn source(name: &str, sum: &Sum, total: f64) -> Source {
    let counted = |count: u64| match sum.reads {
        0 => NONE.to_owned(),
        _ => count.to_string(),
    };
    Source {
        name: name.to_owned(),
        reads: counted(sum.reads),
        rows: counted(sum.rows),
        cpu_ms: number::fixed(sum.cpu_s * 1e3, 1),
        cpu_us: match sum.reads {
            0 => NONE.to_owned(),
            reads => number::fixed(sum.cpu_s * 1e6 / reads as f64, 1),
        },
        part: number::percent(if total > 0.0 { sum.cpu_s / total } else { 0.0 }, 1),
    }
}
