//! Measurements: one series per metric. Each thread has its own set, so that threads do not wait
//! for each other; sets are added up for the status line and at the end.

mod buckets;
mod hdr;
mod raw;
mod series;
mod timeline;

pub(super) use series::{Kind, Number, Presentation, Series};

use super::hash::{concurrent_map_order, java_string};
use super::store::Status;

/// An operation with a latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
    Cleanup,
    Verify,
    ScanPerRecord,
}

impl Operation {
    const ALL: [Self; 8] = [
        Self::Read,
        Self::Update,
        Self::Insert,
        Self::Scan,
        Self::ReadModifyWrite,
        Self::Cleanup,
        Self::Verify,
        Self::ScanPerRecord,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Insert => "INSERT",
            Self::Scan => "SCAN",
            Self::ReadModifyWrite => "READ-MODIFY-WRITE",
            Self::Cleanup => "CLEANUP",
            Self::Verify => "VERIFY",
            Self::ScanPerRecord => "SCAN-LATENCY-PER-RECORD",
        }
    }
}

/// Start of the latency (`measurement.interval`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interval {
    /// From the actual start of the operation.
    Op,
    /// From its intended start.
    Intended,
    /// Both, side by side.
    Both,
}

/// Failures with a latency series of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tracked {
    /// `reportlatencyforeacherror`.
    pub(super) all: bool,
    /// `latencytrackederrors`.
    pub(super) names: Vec<String>,
}

/// Measurement settings of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rules {
    pub(super) kind: Kind,
    pub(super) interval: Interval,
    pub(super) tracked: Tracked,
}

/// The operation itself, its failures, and failures by status.
const OUTCOMES: usize = 2 + Status::ALL.len();
const METRICS: usize = Operation::ALL.len() * OUTCOMES;

/// The measurements of one thread, or of all together.
#[derive(Debug)]
pub(super) struct Measurements {
    /// By operation and outcome.
    op: Vec<Option<Box<Series>>>,
    intended: Vec<Option<Box<Series>>>,
    /// Number of operations by operation and status.
    returns: [[u64; Status::ALL.len()]; Operation::ALL.len()],
}

/// Three times in CLOCK_MONOTONIC nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) intended: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Measurements {
    pub(super) fn new() -> Self {
        let none = || (0..METRICS).map(|_| None).collect();
        Self { op: none(), intended: none(), returns: Default::default() }
    }

    /// Adds one operation with its latencies and, if it has one, its status.
    pub(super) fn add(
        &mut self,
        rules: &Rules,
        operation: Operation,
        status: Option<Status>,
        times: Times,
    ) {
        let outcome = outcome(&rules.tracked, status.unwrap_or(Status::Ok));
        let index = operation as usize * OUTCOMES + outcome;
        if rules.interval != Interval::Intended {
            record(&mut self.op[index], &rules.kind, times.start, times.end);
        }
        if rules.interval != Interval::Op {
            record(&mut self.intended[index], &rules.kind, times.intended, times.end);
        }
        if let Some(status) = status {
            self.returns[operation as usize][status as usize] += 1;
        }
    }

    /// Adds a latency measured only from the actual start.
    pub(super) fn add_plain(
        &mut self,
        rules: &Rules,
        operation: Operation,
        status: Option<Status>,
        (start, end): (u64, u64),
    ) {
        if rules.interval != Interval::Intended {
            record(&mut self.op[operation as usize * OUTCOMES], &rules.kind, start, end);
        }
        if let Some(status) = status {
            self.returns[operation as usize][status as usize] += 1;
        }
    }

    /// Adds other measurements, which are left empty.
    pub(super) fn merge(&mut self, other: &mut Self) {
        let sides = [(&mut self.op, &mut other.op), (&mut self.intended, &mut other.intended)];
        for (own, others) in sides {
            for (own, other) in own.iter_mut().zip(others) {
                match (own.as_deref_mut(), other.as_deref_mut()) {
                    (Some(own), Some(other)) => own.merge(other),
                    (None, Some(_)) => *own = other.take(),
                    _ => {}
                }
            }
        }
        let returns = std::mem::take(&mut other.returns);
        for (own, other) in self.returns.iter_mut().flatten().zip(returns.iter().flatten()) {
            *own += other;
        }
    }

    /// Number of operations with this status.
    pub(super) fn returned(&self, operation: Operation, status: Status) -> u64 {
        self.returns[operation as usize][status as usize]
    }

    /// Number of operations of any kind with this status.
    pub(super) fn returned_by_any(&self, status: Status) -> u64 {
        Operation::ALL.iter().map(|operation| self.returned(*operation, status)).sum()
    }

    /// All metrics with their names, in YCSB's order: first those by actual start, then those by
    /// intended start, each in the order of Java's hash map.
    pub(super) fn metrics(&self, rules: &Rules) -> Vec<Metric<'_>> {
        let prefix = if rules.interval == Interval::Both { "Intended-" } else { "" };
        let carries_returns = rules.interval != Interval::Intended;
        let mut all = self.side(&self.op, "", carries_returns);
        all.extend(self.side(&self.intended, prefix, !carries_returns));
        all
    }

    fn side<'b>(
        &'b self,
        side: &'b [Option<Box<Series>>],
        prefix: &str,
        carries_returns: bool,
    ) -> Vec<Metric<'b>> {
        let mut metrics: Vec<(i32, Metric<'b>)> = Vec::new();
        for (index, series) in side.iter().enumerate() {
            let (operation, outcome) = (Operation::ALL[index / OUTCOMES], index % OUTCOMES);
            let returns = match carries_returns && outcome == 0 {
                true => returns(&self.returns[operation as usize]),
                false => Vec::new(),
            };
            // Statuses are reported under the operation even if every one of them failed.
            if series.is_some() || !returns.is_empty() {
                let key = metric_name(operation, outcome);
                let name = format!("{prefix}{key}");
                let metric = Metric { name, series: series.as_deref(), returns };
                metrics.push((java_string(&key), metric));
            }
        }
        let codes: Vec<i32> = metrics.iter().map(|(code, _)| *code).collect();
        let mut slots: Vec<Option<Metric<'b>>> =
            metrics.into_iter().map(|(_, metric)| Some(metric)).collect();
        concurrent_map_order(&codes).into_iter().filter_map(|index| slots[index].take()).collect()
    }
}

/// A metric of the measurements.
#[derive(Debug)]
pub(super) struct Metric<'b> {
    /// `READ`, `Intended-UPDATE-FAILED`.
    pub(super) name: String,
    /// `None` if every operation failed.
    pub(super) series: Option<&'b Series>,
    /// Statuses with their counts, in YCSB's order.
    pub(super) returns: Vec<(Status, u64)>,
}

fn record(slot: &mut Option<Box<Series>>, kind: &Kind, start: u64, end: u64) {
    let series = slot.get_or_insert_with(|| Box::new(Series::new(kind)));
    series.record(end.saturating_sub(start) / 1000, end);
}

/// Index of the series of an operation: 0 for success, 1 for failures, from 2 on by status.
fn outcome(tracked: &Tracked, status: Status) -> usize {
    if status == Status::Ok {
        0
    } else if tracked.all || tracked.names.iter().any(|name| name == status.name()) {
        2 + status as usize
    } else {
        1
    }
}

fn metric_name(operation: Operation, outcome: usize) -> String {
    match outcome {
        0 => operation.name().to_owned(),
        1 => format!("{}-FAILED", operation.name()),
        _ => format!("{}-{}", operation.name(), Status::ALL[outcome - 2].name()),
    }
}

fn returns(counts: &[u64]) -> Vec<(Status, u64)> {
    let counted: Vec<(Status, u64)> = Status::ALL
        .into_iter()
        .zip(counts.iter().copied())
        .filter(|(_, count)| *count > 0)
        .collect();
    let codes: Vec<i32> = counted.iter().map(|(status, _)| status.java_code()).collect();
    concurrent_map_order(&codes).into_iter().map(|index| counted[index]).collect()
}

#[cfg(test)]
mod tests;
