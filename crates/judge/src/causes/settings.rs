//! C-LOW-LATENCY and C-SLICE-IDLE: settings of BFQ under which it does not keep weights.

use super::{Strength, Suspicion};
use crate::judgement::Cause;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;

/// Looks at BFQ's attributes; no suspicion under another scheduler.
pub(super) fn suspect(queue: &Queue, repeat: &Repeat<'_>) -> Vec<Suspicion> {
    match queue.scheduler.as_deref() {
        Some("bfq") => {}
        Some("cfq") => return vec![cfq(queue)],
        _ => return Vec::new(),
    }
    vec![low_latency(queue, repeat), slice_idle(queue, repeat)]
}

/// C-CFQ-REENTRY: nothing that is sampled tells it from other causes; the scheduler has it by
/// construction.
fn cfq(queue: &Queue) -> Suspicion {
    let cause = Cause {
        code: "C-CFQ-REENTRY".to_owned(),
        summary: "suspected: under CFQ a group whose queue ran empty loses what it was owed"
            .to_owned(),
        evidence: vec![format!("the scheduler of {} is cfq", queue.device)],
    };
    Suspicion::Fits(cause, Strength::Weak)
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
        }),
        Some((name, value)) => Suspicion::RuledOut(format!("{code}: `{name}` reads {value}")),
    }
}
