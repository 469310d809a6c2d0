//! `measurementtype=raw`: every latency with its time.

use super::series::{Line, Number, Presentation};

/// End in CLOCK_MONOTONIC nanoseconds, and latency in microseconds.
#[derive(Debug, Default)]
pub(in crate::ycsb) struct Raw {
    points: Vec<(u64, u64)>,
    /// Points that no status line has included yet.
    since: usize,
}

/// YCSB's names, and the fraction of all values below.
const PARTS: [(&str, f64); 8] = [
    ("p1", 0.01),
    ("p5", 0.05),
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

impl Raw {
    pub(super) fn record(&mut self, latency: u64, now: u64) {
        self.points.push((now, latency));
    }

    pub(super) fn merge(&mut self, other: &mut Self) {
        self.since = self.points.len();
        self.points.append(&mut other.points);
    }

    pub(super) fn points(&self) -> &[(u64, u64)] {
        &self.points
    }

    pub(super) fn lines(&self, how: &Presentation) -> (Vec<Line>, Vec<Line>) {
        let all = self.points.len();
        let mut lines: Vec<Line> = vec![("Total Operations".to_owned(), (all as u64).into())];
        if all > 0 && !how.no_summary {
            let mut sorted: Vec<u64> = self.points.iter().map(|(_, latency)| *latency).collect();
            sorted.sort_unstable();
            let mean = sorted.iter().sum::<u64>() as f64 / all as f64;
            let heading = "Below is a summary of latency in microseconds:";
            lines.push((heading.to_owned(), Number::Whole(-1)));
            lines.push(("Average".to_owned(), Number::Double(mean)));
            lines.push(("Min".to_owned(), sorted[0].into()));
            lines.push(("Max".to_owned(), sorted[all - 1].into()));
            for (name, part) in PARTS {
                lines.push((name.to_owned(), sorted[(all as f64 * part) as usize].into()));
            }
        }
        (lines, Vec::new())
    }

    pub(super) fn summary(&self, name: &str) -> String {
        let window = &self.points[self.since.min(self.points.len())..];
        if window.is_empty() {
            return String::new();
        }
        let sum: u64 = window.iter().map(|(_, latency)| latency).sum();
        let mean = sum as f64 / window.len() as f64;
        format!("{name} count: {}, average latency(us): {mean:.2}", window.len())
    }
}
