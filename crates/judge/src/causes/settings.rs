//! C-LOW-LATENCY and C-SLICE-IDLE: settings of BFQ under which it does not keep weights.

use super::{Strength, Suspicion};
use crate::judgement::Cause;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;

/// Looks at BFQ's attributes; no suspicion under another scheduler.
pub(super) fn suspect(queue: &Queue, repeat: &Repeat<'_>) -> Vec<Suspicion> {
    if queue.scheduler.as_deref() != Some("bfq") {
        return Vec::new();
    }
    vec![low_latency(queue, repeat), slice_idle(queue, repeat)]
}

/// The value of the first of these attributes that was read.
fn attribute<'r>(
    queue: &Queue,
    repeat: &Repeat<'r>,
    names: &[&'static str],
) -> Option<(&'static str, &'r str)> {
    let values = &queue::reading(repeat, &queue.disk)?.at_start;
    names.iter().find_map(|name| Some((*name, values.get(*name)?.trim())))
}

/// A setting that is known to override weights.
fn strong(cause: Cause) -> Suspicion {
    Suspicion::Fits(cause, Strength::Strong)
}

fn low_latency(queue: &Queue, repeat: &Repeat<'_>) -> Suspicion {
    let code = "C-LOW-LATENCY";
    match attribute(queue, repeat, &["iosched/low_latency"]) {
        None => Suspicion::NotSeen(format!("{code}: `iosched/low_latency` was not recorded")),
        Some((name, "1")) => strong(Cause {
            code: code.to_owned(),
            summary: "suspected: BFQ's low_latency raises the weight of queues that it takes for \
                      interactive"
                .to_owned(),
            evidence: vec![format!(
                "`{name}` of {} reads 1 (the default); the kernel's document on BFQ says to unset \
                 it where weights are to decide",
                queue.device
            )],
            strength: None,
        }),
        Some((name, value)) => Suspicion::RuledOut(format!("{code}: `{name}` reads {value}")),
    }
}

fn slice_idle(queue: &Queue, repeat: &Repeat<'_>) -> Suspicion {
    let code = "C-SLICE-IDLE";
    match attribute(queue, repeat, &["iosched/slice_idle_us", "iosched/slice_idle"]) {
        None => Suspicion::NotSeen(format!("{code}: `iosched/slice_idle` was not recorded")),
        Some((name, "0")) => strong(Cause {
            code: code.to_owned(),
            summary: "suspected: without idling BFQ cannot hold the disk for a group whose next \
                      request is still on its way"
                .to_owned(),
            evidence: vec![format!("`{name}` of {} reads 0", queue.device)],
            strength: None,
        }),
        Some((name, value)) => Suspicion::RuledOut(format!("{code}: `{name}` reads {value}")),
    }
}
