//! `heuristics`: what of the scheduler and of the disk may override weights, as it was set.

use super::{Evidence, Finding, of_each_repeat};
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use assay_verdict::Fact;
use assay_verdict::wording::some_of;

/// Attributes with the value at which they leave weights alone, and what they do else.
const KNOWN: [(&str, &str, &str); 5] = [
    ("iosched/low_latency", "0", "raises queues that look interactive"),
    ("iosched/slice_idle", "8", "0 gives up service guarantees"),
    ("iosched/strict_guarantees", "1", "0 lets requests of others be injected"),
    ("rotational", "0", "charges time instead of bytes for random requests"),
    ("wbt_lat_usec", "0", "holds back buffered writes"),
];

/// Part of the evidence: whether a value breaks shares is seen in the shares,
/// and the causes name it then.
pub(super) fn fact(evidence: &Evidence<'_>) -> Fact {
    of_each_repeat("heuristics", evidence, |repeat| find(evidence, repeat))
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut told = Vec::new();
    for queue in Queue::all(evidence.trial, repeat).into_iter().flatten() {
        let Some(reading) = queue::reading(repeat, &queue.disk) else { continue };
        let known = KNOWN.iter().filter_map(|(name, calm, does)| {
            let value = reading.at_start.get(*name)?.trim();
            let does = if value == *calm { String::new() } else { format!(" ({does})") };
            Some(format!("{name} = {value}{does}"))
        });
        let each: Vec<String> = known.collect();
        if !each.is_empty() {
            told.push(format!("{}: {}", queue.device, each.join(", ")));
        }
    }
    match told.is_empty() {
        true => Finding::spared("no attribute of a queue was read"),
        false => Finding::new(true, some_of(&told, "; ")),
    }
}
