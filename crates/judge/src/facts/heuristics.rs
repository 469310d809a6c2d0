//! `heuristics`: settings of the scheduler and the disk that may override weights.

use assay_verdict::Fact;
use assay_verdict::wording::some_of;

use super::{Evidence, Finding, each_repeat};
use crate::queue::{self, Queue};
use crate::repeat::Repeat;

/// Attributes with the value that leaves weights alone, and the effect of other values.
const KNOWN: [(&str, &str, &str); 5] = [
    ("iosched/low_latency", "0", "raises queues that look interactive"),
    ("iosched/slice_idle", "8", "0 gives up service guarantees"),
    ("iosched/strict_guarantees", "1", "0 allows injection of other requests"),
    (
        "rotational",
        "0",
        "counts large random requests as random too, whose slow turns are charged as time",
    ),
    ("wbt_lat_usec", "0", "throttles buffered writes"),
];

/// Lists the settings. Whether a value breaks shares shows in the shares, and the causes then name
/// it.
pub(super) fn fact(evidence: &Evidence<'_>) -> Fact {
    each_repeat("heuristics", evidence, |repeat| find(evidence, repeat))
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut parts = Vec::new();
    for queue in Queue::all(evidence.trial, repeat).into_iter().flatten() {
        let Some(reading) = queue::reading(repeat, &queue.disk) else { continue };
        let known = KNOWN.iter().filter_map(|(name, calm, does)| {
            let value = reading.at_start.get(*name)?.trim();
            let does = if value == *calm { String::new() } else { format!(" ({does})") };
            Some(format!("{name} = {value}{does}"))
        });
        let each: Vec<String> = known.collect();
        if !each.is_empty() {
            parts.push(format!("{}: {}", queue.device, each.join(", ")));
        }
    }
    match parts.is_empty() {
        true => Finding::unverified("no queue attribute was recorded"),
        false => Finding::new(true, some_of(&parts, "; ")),
    }
}
