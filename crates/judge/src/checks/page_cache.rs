//! `page-cache`: the workloads and the disk moved the same bytes.

use assay_run_folder::{GroupRecord, WorkloadResult};
use assay_stats::series::{Series, growth, monotone};
use assay_verdict::wording::some_of;

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat, merged};
use crate::queue::is_measured;
use crate::repeat::Repeat;
use crate::sorted::Sorted;

const LEAST: f64 = 0.9;
const MOST: f64 = 1.1;

/// With fewer service slices than this, one at the edge of the window is more than a hundredth of a
/// rate, and several may be there.
const MANY_TURNS: f64 = 100.0;

/// A slice at either end may be in the samples and not in the workload's report, or vice versa.
const EDGES: f64 = 2.0;

/// Compares each group's rate on the disk with the rate reported by its workloads. Direct I/O must
/// agree within a tenth both ways; buffered reads may read ahead, but not come from memory. Tools
/// that report no bytes cannot be compared, which does not void a promise: it is about the bytes on
/// the disk, which were sampled.
pub(super) fn check(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = each_repeat("page-cache", evidence, |repeat| match repeat.table("io") {
        Err(why) => Finding::unverified(&why),
        Ok(table) => find(evidence, repeat, &table),
    });
    let summary = "the page cache was measured: workloads and disk moved different amounts";
    let proves = merged::cause(evidence).unwrap_or(("C-PAGE-CACHE", summary));
    ValidityCheck { check, scope: Scope::Io, proves: Some(proves) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>, table: &Sorted<'_>) -> Finding {
    let may_merge = merged::cause(evidence).is_some();
    let mut wrong = Vec::new();
    let mut ratios = Vec::new();
    for group in evidence.trial.groups.iter().filter(|group| is_measured(group)) {
        let edge = if may_merge { 0.0 } else { outstanding_bytes(group) };
        let Some((ratio, slack)) = ratio(group, repeat, table, edge) else { continue };
        ratios.push(ratio);
        let direct = group.workloads.iter().all(|workload| workload.io.direct);
        if ratio < LEAST - slack || (direct && ratio > MOST + slack) {
            wrong.push(format!(
                "the disk moved {ratio:.2} times the bytes that the workloads of `{}` report",
                group.name
            ));
        }
    }
    if !wrong.is_empty() {
        return Finding::new(false, some_of(&wrong, "; "));
    }
    let least = ratios.iter().copied().reduce(f64::min);
    let most = ratios.iter().copied().reduce(f64::max);
    match (least, most) {
        (Some(least), Some(most)) => Finding::new(
            true,
            format!(
                "the disk moved {least:.2} to {most:.2} times the bytes that the workloads report"
            ),
        ),
        _ => Finding::unverified("no measured workload reports the bytes that it read"),
    }
}

/// Bytes on the disk divided by bytes reported; `None` where they cannot be compared. Buffered
/// writes are excluded: they reach the disk later.
///
/// Neither the workload's runtime nor the window is exactly the time of the samples. Rates tolerate
/// that, unless the group is served in so few slices that one at the edge counts. Totals tolerate slices; they include what was
/// served after the last sample, while workloads ended, if that was counted (of a group with a thousandth of the disk it can
/// be most), and miss it otherwise. The choice depends on how the group was
/// served, not on which of the two agrees.
/// Requests of `edge` bytes may be in one of the two accounts and not in the other.
fn ratio(
    group: &GroupRecord,
    repeat: &Repeat<'_>,
    table: &Sorted<'_>,
    edge: f64,
) -> Option<(f64, f64)> {
    if group.workloads.iter().any(|workload| workload.io.writes && !workload.io.direct) {
        return None;
    }
    let (mut rate, mut total) = (0.0, 0.0);
    for workload in &group.workloads {
        let mut results = repeat.record.workloads.iter();
        let result = results
            .find(|result| result.workload == workload.name && result.group == group.name)?;
        let bytes = reported_bytes(result)?;
        rate += bytes / result.runtime_s.filter(|seconds| *seconds > 0.0)?;
        total += bytes;
    }
    let series = table.sum(&group.name, &["read_bytes", "write_bytes"]).ok()?;
    let series = monotone(&group.name, series).ok()?;
    let (moved, seconds) = growth(&series, repeat.record.released_ns, repeat.end_ns)?;
    if total <= 0.0 {
        return None;
    }
    let edge = edge / total;
    if turns(&series) >= MANY_TURNS {
        return Some((moved / seconds / rate, edge));
    }
    let at_end = repeat.record.disk_bytes_at_end.get(&group.name).map(|bytes| *bytes as f64);
    // The samples begin before the release, and no request is left at the end: fio's totals of 256 groups met it to the byte. A
    // tool that is killed may not report its last ones.
    if let (Some(first), Some(last), Some(at_end)) = (series.first(), series.last(), at_end)
        && at_end >= last.1
    {
        let only_fio = group.workloads.iter().all(|workload| workload.tool == "fio");
        return Some(((at_end - first.1) / total, if only_fio { 0.0 } else { edge }));
    }
    let (all, _) = growth(&series, 0, u64::MAX)?;
    Some((all / total, EDGES * largest_step(&series) / total + edge))
}

/// Bytes of the requests of direct I/O that a group keeps outstanding: of the window's samples either end
/// may have them in one account alone.
fn outstanding_bytes(group: &GroupRecord) -> f64 {
    let each = group.workloads.iter().map(|workload| &workload.io).filter(|io| io.direct);
    each.map(|io| f64::from(io.outstanding.unwrap_or(0)) * io.block_size.unwrap_or(0) as f64).sum()
}

/// The largest increase between two readings.
fn largest_step(series: &Series) -> f64 {
    series.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, f64::max)
}

/// Effective number of readings over which the service of a group is spread: `(sum x)^2 / sum x^2`.
fn turns(series: &Series) -> f64 {
    let steps = || series.windows(2).map(|pair| pair[1].1 - pair[0].1);
    let (sum, squares): (f64, f64) = (steps().sum(), steps().map(|step| step * step).sum());
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

fn reported_bytes(result: &WorkloadResult) -> Option<f64> {
    let bytes = |name: &str| result.metrics.get(name).copied();
    let (read, written) = (bytes("read_bytes"), bytes("write_bytes"));
    read.or(written).map(|_| read.unwrap_or(0.0) + written.unwrap_or(0.0))
}
