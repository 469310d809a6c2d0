//! `backlogged` under iocost, which holds requests back before the queue and keeps the queue short
//! on purpose, so that its length shows nothing.

use crate::verdict::wording::percent;
use assay_record::run_folder::WorkloadResult;

use super::{Evidence, Finding};
use crate::queue::{Queue, requests_outstanding};

/// Minimum busy time of the device.
const LEAST_BUSY: f64 = 0.9;

/// Minimum part of a workload's outstanding requests that must be held back; less may be the
/// workload's own time between two requests.
const LEAST_HELD: f64 = 0.1;

/// Minimum rate relative to what iocost was configured with; below that nothing had to be held
/// back.
const LEAST_RATE: f64 = 0.8;

/// Whether iocost divides the disk.
pub(super) fn applies(evidence: &Evidence<'_>) -> bool {
    let knobs = evidence.trial.groups.iter().flat_map(|group| &group.knobs);
    knobs.into_iter().any(|knob| knob.obeyed_by.as_deref() == Some("iocost"))
}

/// Combines the evidence of device, iocost and workloads.
pub(super) fn find(
    evidence: &Evidence<'_>,
    queue: &Queue,
    disks: usize,
    results: &[WorkloadResult],
) -> Finding {
    let found = busy(queue);
    if disks > 1 {
        // Results do not show to which disk requests went.
        return found;
    }
    let found = found
        .and(evidence.configured_iops.and_then(|configured| reached_rate(configured, results)));
    found.and(all_held(queue, results))
}

/// Whether the rate came close to what iocost was configured with.
fn reached_rate(configured: f64, results: &[WorkloadResult]) -> Option<Finding> {
    let done: f64 = results.iter().map(requests_per_second).sum::<Option<f64>>()?;
    let ok = done >= LEAST_RATE * configured;
    Some(Finding::new(
        ok,
        format!(
            "{done:.0} requests a second were done, {} of the {configured:.0} that iocost was configured \
             with (at least {} needed)",
            percent(done / configured),
            percent(LEAST_RATE)
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
                 before the queue, so its length shows nothing)",
                queue.device,
                percent(part),
                percent(LEAST_BUSY)
            ),
        ),
    }
}

/// Whether every workload had requests held back. A workload whose requests are all in the device
/// gets what its depth allows, whatever its weight. `None` where it is unknown: more than one disk,
/// or no latencies.
fn all_held(queue: &Queue, results: &[WorkloadResult]) -> Option<Finding> {
    let mean_queue = queue.mean_queue.as_ref().ok()?;
    let rate: f64 = results.iter().filter_map(requests_per_second).sum();
    let held: Vec<(f64, &str, String)> = results
        .iter()
        .filter_map(|result| {
            let kept = requests_outstanding(result)?;
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

/// `None` where the tool does not report it.
fn requests_per_second(result: &WorkloadResult) -> Option<f64> {
    let rates = ["read_iops", "write_iops"].map(|name| result.metrics.get(name));
    rates.iter().any(Option::is_some).then(|| rates.into_iter().flatten().sum())
}
