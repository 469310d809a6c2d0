//! `neighbours`: only the groups used the disk that they divided.

use assay_stats::series::{Series, growth, monotone};
use assay_verdict::wording::{percent, some_of};

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat, merged};
use crate::queue::Queue;
use crate::repeat::Repeat;

/// Allowed part of others: the journal of a file system belongs to no group.
const MOST: f64 = 0.1;

/// Sector size of /proc/diskstats, whatever the disk's own (Documentation/admin-guide/iostats.rst).
const SECTOR: f64 = 512.0;

/// Compares the disk's traffic with that of all groups of the trial, measured or not.
pub(super) fn check(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = each_repeat("neighbours", evidence, |repeat| {
        find(evidence, repeat).unwrap_or_else(|why| Finding::unverified(&why))
    });
    let summary = "processes outside the groups used the disk that the groups were to divide";
    let proves = merged::cause(evidence).unwrap_or(("C-DISK-OTHERS", summary));
    ValidityCheck { check, scope: Scope::IoShares, proves: Some(proves) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<Finding, String> {
    let queues: Vec<Queue> =
        Queue::all(evidence.trial, repeat).into_iter().collect::<Result<_, _>>()?;
    let io = repeat.table("io")?;
    let mut groups = 0.0;
    // Where the hierarchy accumulates, an outer group's counter includes those inside it, and
    // nothing runs in an outer group: the leaves are complete.
    for group in evidence.trial.groups.iter().filter(|group| !group.workloads.is_empty()) {
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
        others <= MOST,
        format!(
            "{} of what {} moved was not the groups' (at most {} allowed)",
            percent(others),
            some_of(&names, ", "),
            percent(MOST)
        ),
    ))
}

fn grown(series: &Series, repeat: &Repeat<'_>) -> Result<f64, String> {
    let found = growth(series, repeat.start_ns, repeat.end_ns);
    found.map(|(grown, _)| grown).ok_or_else(|| "the samples do not cover the window".to_owned())
}
