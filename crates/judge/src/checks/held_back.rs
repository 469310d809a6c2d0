//! Where requests are held back before the queue: iocost keeps the queue short on purpose, so that
//! its length says nothing of whether there was something to divide.

use assay_run_folder::WorkloadResult;

use super::backlogged::outstanding;
use super::{Evidence, Finding};
use crate::queue::Queue;
use assay_verdict::wording::percent;

/// Where requests are held back before the queue, the device must have been busy this long.
const LEAST_BUSY: f64 = 0.9;

/// Of what a workload keeps outstanding where requests are held back before the queue, at least
/// this part must wait there; what is less may be the workload's own time between two requests.
const LEAST_HELD: f64 = 0.1;

/// Of the requests a second that iocost was told the disk does, at least this part must have been
/// done; below that nobody had to be held back.
const LEAST_OF_TOLD: f64 = 0.8;

/// Whether iocost divides the disk.
pub(super) fn applies(evidence: &Evidence<'_>) -> bool {
    let knobs = evidence.trial.groups.iter().flat_map(|group| &group.knobs);
    knobs.into_iter().any(|knob| knob.obeyed_by.as_deref() == Some("iocost"))
}

/// What the device, iocost and the workloads say.
pub(super) fn find(
    evidence: &Evidence<'_>,
    queue: &Queue,
    disks: usize,
    results: &[WorkloadResult],
) -> Finding {
    let found = busy(queue);
    if disks > 1 {
        // Results do not say which disk their requests went to.
        return found;
    }
    let found = found.and(evidence.told_iops.and_then(|told| as_told(told, results)));
    found.and(all_held(queue, results))
}

/// Whether as much was done as iocost believes that the disk can do.
fn as_told(told: f64, results: &[WorkloadResult]) -> Option<Finding> {
    let done: f64 = results.iter().map(requests_per_second).sum::<Option<f64>>()?;
    let ok = done >= LEAST_OF_TOLD * told;
    Some(Finding::new(
        ok,
        format!(
            "{done:.0} requests a second were done, {} of the {told:.0} that iocost was told the \
             disk does (at least {} needed)",
            percent(done / told),
            percent(LEAST_OF_TOLD)
        ),
    ))
}

fn busy(queue: &Queue) -> Finding {
    match queue.busy {
        None => Finding::missing(&format!("`io_ms` of {} was not recorded", queue.device)),
        Some(part) => Finding::new(
            part >= LEAST_BUSY,
            format!(
                "{} was busy {} of the time (at least {} needed; iocost holds requests back \
                 before the queue, so its length says nothing)",
                queue.device,
                percent(part),
                percent(LEAST_BUSY)
            ),
        ),
    }
}

/// Whether every workload had requests that were held back. One whose requests are all with the
/// device gets what its own depth brings, whatever its weight. `None` where nothing tells: more
/// than one disk, or no latencies.
fn all_held(queue: &Queue, results: &[WorkloadResult]) -> Option<Finding> {
    let mean_queue = queue.mean_queue.as_ref().ok()?;
    let rate: f64 = results.iter().filter_map(requests_per_second).sum();
    let held: Vec<(f64, &str, String)> = results
        .iter()
        .filter_map(|result| {
            let kept = outstanding(result)?;
            let inside = mean_queue * requests_per_second(result)? / rate;
            let text = format!("{inside:.1} of {kept:.1}");
            Some(((kept - inside) / kept, result.workload.as_str(), text))
        })
        .collect();
    let (part, workload, text) = held.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let ok = *part >= LEAST_HELD;
    let more = if ok { "" } else { ", so that its own depth limits it: give it more" };
    Some(Finding::new(
        ok,
        format!(
            "`{workload}` had {text} outstanding requests in the device and the rest held back \
             (at least {} needed){more}",
            percent(LEAST_HELD)
        ),
    ))
}

/// `None` where a tool does not say.
fn requests_per_second(result: &WorkloadResult) -> Option<f64> {
    let rates = ["read_iops", "write_iops"].map(|name| result.metrics.get(name));
    rates.iter().any(Option::is_some).then(|| rates.into_iter().flatten().sum())
}
