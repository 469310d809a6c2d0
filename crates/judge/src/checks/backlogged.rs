//! `backlogged`: the disk always had waiting requests, so that there was something to divide.
//!
//! Weights divide a queue. While the queue is empty, requests are served at once and shares follow
//! demand. Only the *whole* queue is judged: a group that waits for a tag of the scheduler's pool
//! has no request in the queue, but that is how shares break, not a reason to doubt the
//! measurement.

use crate::verdict::wording::{percent, some_of};
use assay_record::run_folder::WorkloadResult;

use super::{Evidence, Finding, Rule, Scope, held_back, wanted};
use crate::laws::Cap;
use crate::queue::{Queue, requests_outstanding};
use crate::repeat::Repeat;

/// Minimum mean queue relative to what the workloads keep outstanding.
const LEAST_PART: f64 = 0.5;

/// Largest part of the readings that may show a short queue.
const MOST_SHORT: f64 = 0.05;

/// Fails for a disk whose queue is unknown: nothing shows that the groups competed.
pub(super) const BACKLOGGED: Rule = Rule::each("backlogged", Scope::IoShares, find).proves(
    "C-NOT-BACKLOGGED",
    "the queue of the disk ran dry, so that shares followed demand and not the knobs",
);

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let queues = Queue::all(evidence.trial, repeat);
    let mut findings: Vec<Finding> = queues
        .iter()
        .map(|queue| match queue {
            Err(why) => Finding::missing(why),
            Ok(queue) if held_back::applies(evidence) => {
                held_back::find(evidence, queue, queues.len(), &repeat.record.workloads)
            }
            Ok(queue) => match outside(evidence, repeat, queue) {
                Some(text) => Finding::new(true, text),
                None => of_queue(queue),
            },
        })
        .collect();
    if queues.is_empty() {
        findings.push(Finding::missing("no measured group names its disk"));
    }
    let texts: Vec<String> = findings.iter().map(|finding| finding.evidence.clone()).collect();
    let mut text = some_of(&texts, "; ");
    if let Some(kept) = by_littles_law(&repeat.record.workloads) {
        text = format!("{text}; {kept}");
    }
    Finding::new(findings.iter().all(|finding| finding.ok), text)
}

/// Where requests wait in front of the scheduler, because demand exceeds the pool or BFQ caps a
/// group below its demand, a short queue does not show a lack of demand if every workload wanted the
/// disk all the time ([`wanted`]). That is how shares break, not a reason to doubt the measurement.
fn outside(evidence: &Evidence<'_>, repeat: &Repeat<'_>, queue: &Queue) -> Option<String> {
    let (pool, demand) = (queue.nr_requests?, queue.outstanding?);
    let is_capped = evidence.bfq_caps(queue, evidence.io_shares(repeat)).iter().any(Cap::binds);
    if demand <= pool && !is_capped {
        return None;
    }
    let shown = wanted::by_all(evidence, repeat, queue, is_capped)?;
    let queued = queue.mean_queue.as_ref().ok()?;
    Some(format!(
        "{}: every workload {}, {demand} in total; {queued:.1} of them were in the queue, and the others waited for a tag \
         (the pool holds {pool})",
        queue.device, shown
    ))
}

fn of_queue(queue: &Queue) -> Finding {
    let usable = queue.counts_waiting();
    let mut texts = Vec::new();
    let mut ok = true;
    let mut seen = false;
    if let Ok(mean) = queue.mean_queue {
        // If the workloads' demand is unknown, one request per group is the least; it decides only
        // where `in_flight` cannot.
        let decides = queue.outstanding.is_some() || !usable;
        let enough = mean >= LEAST_PART * queue.capacity();
        ok &= enough || !decides;
        seen |= decides;
        texts.push(mean_text(queue, mean));
    }
    if usable && let Some(short) = queue.part_below(fewest(queue)) {
        ok &= short <= MOST_SHORT;
        seen = true;
        texts.push(format!(
            "fewer than {} in flight in {} of the samples (at most {} allowed)",
            fewest(queue),
            percent(short),
            percent(MOST_SHORT)
        ));
    }
    if seen {
        return Finding::new(ok, format!("{}: {}", queue.device, texts.join(", ")));
    }
    let why = queue.mean_queue.as_ref().err().cloned().unwrap_or_default();
    Finding::missing(&why)
}

/// Minimum number of requests in every reading: one for each group, so that the scheduler can
/// choose. Groups that keep one request outstanding have none between two of them; for those, half
/// is required, as for the mean. The pool limits the number.
fn fewest(queue: &Queue) -> f64 {
    let groups = queue.groups as f64;
    let half = queue.least_waiting.map_or(groups, |outstanding| (LEAST_PART * outstanding).ceil());
    groups.min(half).min(queue.nr_requests.unwrap_or(groups)).max(1.0)
}

fn mean_text(queue: &Queue, mean: f64) -> String {
    let demand = match queue.outstanding {
        Some(outstanding) if Some(outstanding) == queue.least_waiting => {
            format!("the workloads keep {outstanding} outstanding")
        }
        Some(outstanding) => format!(
            "the workloads keep {outstanding} outstanding, at least {} after merging",
            queue.capacity()
        ),
        None => {
            format!("{} groups keep an unknown number outstanding", queue.groups)
        }
    };
    let pool = match queue.nr_requests {
        Some(pool) => format!(", the pool holds {pool}"),
        None => String::new(),
    };
    format!("a mean queue of {mean:.1} requests ({demand}{pool})")
}

/// Requests outstanding by Little's law, smallest and largest workload.
fn by_littles_law(results: &[WorkloadResult]) -> Option<String> {
    let kept: Vec<(f64, &str)> = results
        .iter()
        .filter_map(|result| Some((requests_outstanding(result)?, result.workload.as_str())))
        .collect();
    let least = kept.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = kept.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "by latency times rate `{}` kept {:.1} and `{}` {:.1} outstanding",
        least.1, least.0, most.1, most.0
    ))
}
