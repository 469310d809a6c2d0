//! `neighbours`: nobody outside the groups used the disk that they were to divide.

use super::{Evidence, Finding, Scope, ValidityCheck, merged, of_each_repeat};
use crate::queue::Queue;
use crate::repeat::Repeat;
use assay_stats::series::{Series, growth, monotone};
use assay_verdict::wording::{percent, some_of};

/// Others may have this part of what the disk moved: the journal of a file system belongs to
/// nobody's group.
const MOST: f64 = 0.1;

/// Bytes of a sector of /proc/diskstats, whatever the disk's own (Documentation/admin-guide/
/// iostats.rst).
const SECTOR: f64 = 512.0;

/// Compares what the disk moved with what all groups of the trial moved on it, measured or not.
pub(super) fn gate(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = of_each_repeat("neighbours", evidence, |repeat| {
        find(evidence, repeat).unwrap_or_else(|why| Finding::spared(&why))
    });
    let summary = "somebody outside the groups used the disk that the groups were to divide";
    let proves = merged::of(evidence).unwrap_or(("C-DISK-OTHERS", summary));
    ValidityCheck { check, scope: Scope::IoShares, proves: Some(proves) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<Finding, String> {
    let queues: Vec<Queue> =
        Queue::all(evidence.trial, repeat).into_iter().collect::<Result<_, _>>()?;
    let io = repeat.table("io")?;
    let mut groups = 0.0;
    // The counter of an outer group holds those of the groups inside it where the hierarchy adds
    // them up, and nothing runs in an outer group: the leaves are all there is.
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
