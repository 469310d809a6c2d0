//! Statistics in filebench's format, and as JSON.

use serde_json::{Value, json};

use super::flow::Total;
use super::flow::kind::{Class, DataDirection};
use super::workload::Line;

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;

/// Statistics of all lines at one time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Snapshot {
    pub(super) totals: Vec<Total>,
    /// Seconds since the statistics were reset.
    pub(super) elapsed: f64,
}

/// Sums over the lines that are I/O.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Summary {
    pub(super) count: u64,
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) bytes: u64,
    latency: u64,
}

fn rate(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

fn mean_ms(latency: u64, count: u64) -> f64 {
    if count > 0 { latency as f64 / (count as f64 * NS_PER_MS) } else { 0.0 }
}

/// The minimum latency. filebench counts 0 for an instance that never executed the operation.
fn min_latency(total: &Total, corrected: bool) -> u64 {
    let never = total.count == 0 || (total.idle > 0 && !corrected);
    if never { 0 } else { total.min }
}

/// "Per-Operation Breakdown": the last operation first.
pub(super) fn breakdown(lines: &[Line], snapshot: &Snapshot, corrected: bool) -> String {
    let mut text = String::from("Per-Operation Breakdown");
    for (line, total) in lines.iter().zip(&snapshot.totals).rev() {
        text.push_str(&format!(
            "\n{:<20} {}ops {:8.0}ops/s {:5.1}mb/s {:8.3}ms/op [{:.3}ms - {:5.3}ms]",
            line.name,
            total.count,
            rate(total.count as f64, snapshot.elapsed),
            rate(total.bytes as f64 / MIB, snapshot.elapsed),
            mean_ms(total.latency, total.count),
            min_latency(total, corrected) as f64 / NS_PER_MS,
            total.max as f64 / NS_PER_MS,
        ));
        if !total.buckets.is_empty() {
            let buckets: Vec<String> = total.buckets.iter().map(u64::to_string).collect();
            text.push_str(&format!("\t[ {} ]", buckets.join(" ")));
        }
    }
    text
}

pub(super) fn summary(lines: &[Line], totals: &[Total]) -> Summary {
    let mut sum = Summary::default();
    for (line, total) in lines.iter().zip(totals) {
        if !matches!(line.kind.class(), Class::Io | Class::Aio) {
            continue;
        }
        sum.count += total.count;
        sum.bytes += total.bytes;
        sum.latency += total.latency;
        match line.kind.data_direction() {
            DataDirection::Reads => sum.reads += total.count,
            DataDirection::Writes => sum.writes += total.count,
            DataDirection::Neither => {}
        }
    }
    sum
}

/// "IO Summary".
pub(super) fn summary_line(lines: &[Line], snapshot: &Snapshot) -> String {
    let Snapshot { totals, elapsed } = snapshot;
    let sum = summary(lines, totals);
    format!(
        "IO Summary: {:5} ops {:5.3} ops/s {:.0}/{:.0} rd/wr {:5.1}mb/s {:5.3}ms/op",
        sum.count,
        rate(sum.count as f64, *elapsed),
        rate(sum.reads as f64, *elapsed),
        rate(sum.writes as f64, *elapsed),
        rate(sum.bytes as f64 / MIB, *elapsed),
        mean_ms(sum.latency, sum.count),
    )
}

/// `{ "elapsed_s", "operations": [...], "summary": {...} }`, operations in script order.
pub(super) fn json(lines: &[Line], snapshot: &Snapshot, corrected: bool) -> Value {
    let Snapshot { totals, elapsed } = snapshot;
    let operations: Vec<Value> = lines
        .iter()
        .zip(totals)
        .map(|(line, total)| {
            let mut one = json!({
                "name": line.name,
                "count": total.count,
                "bytes": total.bytes,
                "ops_per_s": rate(total.count as f64, *elapsed),
                "mib_per_s": rate(total.bytes as f64 / MIB, *elapsed),
                "latency_mean_ms": mean_ms(total.latency, total.count),
                "latency_min_ms": min_latency(total, corrected) as f64 / NS_PER_MS,
                "latency_max_ms": total.max as f64 / NS_PER_MS,
            });
            if !total.buckets.is_empty() {
                one["latency_buckets"] = json!(total.buckets);
            }
            one
        })
        .collect();
    let sum = summary(lines, totals);
    json!({
        "elapsed_s": elapsed,
        "operations": operations,
        "summary": {
            "ops": sum.count,
            "ops_per_s": rate(sum.count as f64, *elapsed),
            "reads_per_s": rate(sum.reads as f64, *elapsed),
            "writes_per_s": rate(sum.writes as f64, *elapsed),
            "mib_per_s": rate(sum.bytes as f64 / MIB, *elapsed),
            "bytes": sum.bytes,
            "latency_mean_ms": mean_ms(sum.latency, sum.count),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::flow::kind::Kind;
    use super::*;

    fn total(count: u64, bytes: u64, latency: u64) -> Total {
        Total { count, bytes, latency, min: 2000, max: 3_350_000, ..Total::none(false) }
    }

    fn lines() -> Vec<Line> {
        [("openfile4", Kind::OpenFile), ("readfile4", Kind::ReadWholeFile), ("hog1", Kind::Hog)]
            .map(|(name, kind)| Line { name: name.to_owned(), kind })
            .to_vec()
    }

    #[test]
    fn lines_are_those_of_filebench() {
        let totals =
            vec![total(1934, 0, 44_482_000), total(1934, 31_037_849, 40_614_000), total(7, 0, 9)];
        let snapshot = Snapshot { totals, elapsed: 2.002 };
        let text = breakdown(&lines(), &snapshot, false);
        let expected = "Per-Operation Breakdown\n\
            hog1                 7ops        3ops/s   0.0mb/s    0.000ms/op [0.002ms - 3.350ms]\n\
            readfile4            1934ops      966ops/s  14.8mb/s    0.021ms/op [0.002ms - 3.350ms]\n\
            openfile4            1934ops      966ops/s   0.0mb/s    0.023ms/op [0.002ms - 3.350ms]";
        assert_eq!(text, expected);
        assert_eq!(
            summary_line(&lines(), &snapshot),
            "IO Summary:  3868 ops 1932.068 ops/s 966/0 rd/wr  14.8mb/s 0.022ms/op"
        );
    }

    #[test]
    fn an_idle_instance_counts_as_0_unless_corrected() {
        let idle = Total { idle: 1, ..total(5, 0, 5) };
        assert_eq!((min_latency(&idle, false), min_latency(&idle, true)), (0, 2000));
        assert_eq!(min_latency(&Total::none(false), true), 0);
    }

    #[test]
    fn waiting_does_not_count_as_io() {
        let sum = summary(&lines(), &[total(10, 0, 1), total(20, 100, 1), total(1000, 0, 1)]);
        assert_eq!((sum.count, sum.reads, sum.writes, sum.bytes), (30, 20, 0, 100));
    }
}
