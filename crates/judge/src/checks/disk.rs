//! Whether what the disk moved is what the groups moved, and the disk has a queue that divides.

use assay_record::run_folder::sorted::Sorted;
use assay_record::run_folder::{GroupRecord, WorkloadResult};
use assay_stats::series::{Series, growth, monotone};

use super::{Evidence, Finding, Rule, Scope};
use crate::queue::{self, Queue, disk_of, is_measured};
use crate::repeat::Repeat;
use crate::verdict::wording::{percent, some_of};

/// `stacked`: the disk that the groups share has its own scheduler.
///
/// A stacked device (dm, md) passes every request on as it comes, and the schedulers below see only
/// their parts of the load.
///
/// Evaluated where some disk of the trial is stacked.
pub(super) const STACKED: Rule = Rule::each("stacked", Scope::IoShares, stacked)
    .when(is_stacked)
    .proves("C-STACKED", "the disk is stacked on others and has no scheduler that obeys weights");

fn is_stacked(evidence: &Evidence<'_>) -> bool {
    let mut all = evidence.repeats.iter().filter_map(|repeat| repeat.record.overrides.as_ref());
    all.any(|overrides| !overrides.stacked.is_empty())
}

fn stacked(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let Some(overrides) = &repeat.record.overrides else {
        return Finding::unverified("it was not recorded");
    };
    let knobs = evidence.trial.groups.iter().flat_map(|group| &group.knobs);
    let needed: Vec<&str> = knobs.filter_map(|knob| knob.obeyed_by.as_deref()).collect();
    let (mut wrong, mut fine) = (Vec::new(), Vec::new());
    for (disk, parts) in &overrides.stacked {
        let reading = queue::reading(repeat, disk);
        let active = reading.map_or("", |reading| reading.scheduler_at_start.as_str());
        let device = reading.map_or(disk.as_str(), |reading| reading.device.as_str());
        let obeys = needed.iter().any(|needed| *needed == active || *needed == "iocost");
        let shown = if active.is_empty() { "none" } else { active };
        let text = format!(
            "`{device}` is stacked on {} and has the scheduler `{shown}`",
            parts.join(", ")
        );
        if obeys { fine.push(text) } else { wrong.push(text) }
    }
    Finding::unless(&wrong, || some_of(&fine, "; "))
}

/// `buffered-writes`: on cgroup v1 buffered writes are not charged to the group that writes.
///
/// Fails for measured workloads that write without O_DIRECT while `io` is on a v1 hierarchy: the
/// kernel's flusher threads, which belong to the root group, write those pages out.
pub(super) const WRITES: Rule = Rule::once("buffered-writes", Scope::Io, writes).proves(
    "C-BUFFERED",
    "buffered writes are written out by the root group on cgroup v1, past every group's weight",
);

fn writes(evidence: &Evidence<'_>) -> Option<Finding> {
    let measured = evidence.trial.groups.iter().filter(|group| is_measured(group));
    let buffered: Vec<String> = measured
        .flat_map(|group| &group.workloads)
        .filter(|workload| workload.io.writes && !workload.io.direct)
        .map(|workload| format!("`{}`", workload.name))
        .collect();
    let on_v1 = evidence.is_on_v1("io");
    let charged = match on_v1 {
        _ if buffered.is_empty() => {
            let none = "no measured workload writes through the page cache";
            return Some(Finding::new(true, none));
        }
        true => ", and `io` is on cgroup v1, which charges writeback to the root group",
        false => "; cgroup v2 charges writeback to the group that owns the inode",
    };
    let text = format!("{} write through the page cache{charged}", some_of(&buffered, ", "));
    Some(Finding::new(!on_v1, text))
}

/// Allowed part of others: the journal of a file system belongs to no group.
const MOST_OF_OTHERS: f64 = 0.1;

/// Sector size of /proc/diskstats, whatever the disk's own (Documentation/admin-guide/iostats.rst).
const SECTOR: f64 = 512.0;

/// `neighbours`: only the groups used the disk that they divided.
///
/// Compares the disk's traffic with that of all groups of the trial, measured or not. What a workload of the study
/// moves outside of all groups cannot be told from that of others.
pub(super) const NEIGHBOURS: Rule = Rule::each("neighbours", Scope::IoShares, neighbours)
    .proves_by(|evidence| {
        let summary = "processes outside the groups used the disk that the groups were to divide";
        merged(evidence).unwrap_or(("C-DISK-OTHERS", summary))
    });

fn neighbours(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    Finding::or_unverified(traffic_of_others(evidence, repeat))
}

fn traffic_of_others(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<Finding, String> {
    if let Some(group) = evidence.trial.groups.iter().find(|group| group.outside) {
        return Err(format!(
            "`{}` runs outside of all groups, where nothing is counted",
            group.name
        ));
    }
    let queues: Vec<Queue> =
        Queue::all(evidence.trial, repeat).into_iter().collect::<Result<_, _>>()?;
    let io = repeat.table("io")?;
    let mut groups = 0.0;
    // Where the hierarchy accumulates, an outer group's counter includes those inside it, and
    // nothing runs in an outer group: the leaves are complete.
    for group in evidence.trial.groups.iter().filter(|group| group.is_loaded()) {
        let series = io.sum(&group.name, &["read_bytes", "write_bytes"])?;
        groups += grown(&monotone(&group.name, series)?, repeat)?;
    }
    let mut disks = 0.0;
    for queue in &queues {
        let series =
            repeat.table("disk")?.sum(&queue.device, &["read_sectors", "write_sectors"])?;
        disks += SECTOR * grown(&series, repeat)?;
    }
    if disks <= 0.0 {
        return Err("the disk moved nothing".to_owned());
    }
    let others = (1.0 - groups / disks).max(0.0);
    let names: Vec<String> = queues.iter().map(|queue| queue.device.clone()).collect();
    Ok(Finding::new(
        others <= MOST_OF_OTHERS,
        format!(
            "{} of what {} moved was not the groups' (at most {} allowed)",
            percent(others),
            some_of(&names, ", "),
            percent(MOST_OF_OTHERS)
        ),
    ))
}

fn grown(series: &Series, repeat: &Repeat<'_>) -> Result<f64, String> {
    let found = growth(series, repeat.start_ns, repeat.end_ns);
    found.map(|(grown, _)| grown).ok_or_else(|| "the samples do not cover the window".to_owned())
}

const LEAST: f64 = 0.9;
const MOST: f64 = 1.1;

/// With fewer service slices than this, one at the edge of the window is more than a hundredth of a
/// rate, and several may be there.
const MANY_TURNS: f64 = 100.0;

/// A slice at either end may be in the samples and not in the workload's report, or vice versa.
const EDGES: f64 = 2.0;

/// `page-cache`: the workloads and the disk moved the same bytes.
///
/// Compares each group's rate on the disk with the rate reported by its workloads. Direct I/O must
/// agree within a tenth both ways; buffered reads may read ahead, but not come from memory. Tools
/// that report no bytes cannot be compared, which does not void a promise: it is about the bytes on
/// the disk, which were sampled.
pub(super) const PAGE_CACHE: Rule =
    Rule::each("page-cache", Scope::Io, page_cache).proves_by(|evidence| {
        let summary = "the page cache was measured: workloads and disk moved different amounts";
        merged(evidence).unwrap_or(("C-PAGE-CACHE", summary))
    });

fn page_cache(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let table = match repeat.table("io") {
        Ok(table) => table,
        Err(why) => return Finding::unverified(&why),
    };
    let may_merge = merged(evidence).is_some();
    let mut wrong = Vec::new();
    let mut ratios = Vec::new();
    for group in evidence.trial.groups.iter().filter(|group| is_measured(group)) {
        let edge = if may_merge { 0.0 } else { outstanding_bytes(group) };
        let Some((ratio, slack)) = ratio(group, repeat, &table, edge) else { continue };
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
        let result = repeat.result(group, workload)?;
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

/// Where the groups' counters leave requests out.
///
/// On cgroup v1 the counters of BFQ (`blkio.bfq.*`) leave out requests that were merged into a
/// waiting one. The throttling layer counts all, but the run activates it only on its own disks.
/// Bytes missing in the groups are then no proof of their origin.
///
/// The cause of bytes missing in the groups' counters where merging is possible: sequential
/// requests merge while they wait.
fn merged(evidence: &Evidence<'_>) -> Option<(&'static str, &'static str)> {
    if !evidence.is_on_v1("io") {
        return None;
    }
    let of_users = |name: &str| {
        let mut disks = evidence.trial.disks.iter();
        disks.any(|disk| disk.name == name && !matches!(disk.source.as_str(), "loop" | "null_blk"))
    };
    let under_bfq = |name: &str| {
        let mut queues = evidence.repeats.iter().flat_map(|repeat| &repeat.record.queues);
        queues.any(|queue| queue.disk == name && queue.scheduler_at_start == "bfq")
    };
    let mut groups = evidence.trial.groups.iter().filter(|group| is_measured(group));
    let merges = groups.any(|group| {
        let disk = disk_of(evidence.trial, group);
        group.workloads.iter().any(|workload| workload.io.sequential)
            && disk.is_some_and(|disk| of_users(disk) && under_bfq(disk))
    });
    let summary = "the groups' counters leave out requests that were merged, so that bytes are \
                   missing in them";
    merges.then_some(("C-MERGED", summary))
}
