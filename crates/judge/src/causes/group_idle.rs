//! C-GROUP-IDLE: a group below its promise did not ask for it.
//!
//! The gate `backlogged` asks of the whole queue only, since a group that waits for a place in the
//! request pool shows an empty queue as well. Where the pool has room, a group that kept few
//! requests outstanding simply did not want more.

use super::{Strength, Suspicion};
use crate::gates::backlogged::outstanding;
use crate::judgement::Cause;
use crate::promise::{Numbers, Subject};
use crate::queue::Queue;
use crate::repeat::Repeat;
use crate::wording::{percent, some_of};

const CODE: &str = "C-GROUP-IDLE";

/// Less than this part of what it was to keep outstanding, on average.
const LEAST_PART: f64 = 0.5;

/// With this part of the pool wanted, an empty queue may mean that no place was free.
const POOL_WANTED: f64 = 0.9;

/// Looks at latency times rate of each group that got too little.
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Numbers,
    within: f64,
) -> Suspicion {
    if let (Some(wanted), Some(pool)) = (queue.outstanding, queue.nr_requests)
        && wanted >= POOL_WANTED * pool
    {
        return Suspicion::Open(format!(
            "{CODE}: the workloads want {wanted} of {pool} requests, so that a group with few \
             requests outstanding may have waited for a free one"
        ));
    }
    let mut idle = Vec::new();
    let mut looked_at = 0;
    for (index, name) in numbers.names.iter().enumerate() {
        let Some((kept, wanted)) = kept_and_wanted(subject, repeat, name) else { continue };
        looked_at += 1;
        let (seen, promised) = (numbers.seen[index].value, numbers.expected[index].share);
        if seen < promised * (1.0 - within) && kept < LEAST_PART * wanted {
            idle.push(format!(
                "`{name}` got {} of its promise and kept {kept:.1} of {wanted} requests \
                 outstanding, by latency times rate",
                percent(seen / promised)
            ));
        }
    }
    match (looked_at, idle.is_empty()) {
        (0, _) => Suspicion::NotSeen(format!(
            "{CODE}: no workload reports latency and rate, or says what it keeps outstanding"
        )),
        (_, true) => Suspicion::RuledOut(format!(
            "{CODE}: every group below its promise kept at least half of its requests outstanding"
        )),
        (_, false) => Suspicion::Fits(
            Cause {
                code: CODE.to_owned(),
                summary: "suspected: a group did not ask for all that it could have had".to_owned(),
                evidence: vec![some_of(&idle, "; ")],
                strength: None,
            },
            Strength::Strong,
        ),
    }
}

/// Requests that a group kept outstanding, and those that it was to keep.
fn kept_and_wanted(subject: &Subject<'_>, repeat: &Repeat<'_>, name: &str) -> Option<(f64, f64)> {
    let group = subject.trial.groups.iter().find(|group| group.name == name)?;
    let (mut kept, mut wanted) = (0.0, 0.0);
    for workload in &group.workloads {
        let mut results = repeat.record.workloads.iter();
        let result = results.find(|result| result.workload == workload.name)?;
        kept += outstanding(result)?;
        wanted += f64::from(workload.io.outstanding?);
    }
    (wanted > 0.0).then_some((kept, wanted))
}
