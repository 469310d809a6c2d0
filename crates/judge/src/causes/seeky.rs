//! C-SEEKY: on a disk that it takes for one with heads, BFQ charges queues that ask at random for
//! time instead of sectors (`bfq_bfqq_charge_time`, block/bfq-iosched.c).

use super::{Strength, Suspicion};
use crate::judgement::Cause;
use crate::promise::Subject;
use crate::queue::{self, Queue, is_measured};
use crate::repeat::Repeat;

const CODE: &str = "C-SEEKY";

/// Looks at `rotational` and at the kind of I/O; nothing under another scheduler.
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
) -> Option<Suspicion> {
    if queue.scheduler.as_deref() != Some("bfq") {
        return None;
    }
    let reading = queue::reading(repeat, &queue.disk);
    let rotational = reading.and_then(|reading| reading.at_start.get("rotational"));
    let random = subject
        .trial
        .groups
        .iter()
        .filter(|group| is_measured(group))
        .flat_map(|group| &group.workloads)
        .any(|workload| !workload.io.sequential);
    Some(match rotational.map(|text| text.trim()) {
        None => Suspicion::NotSeen(format!("{CODE}: `rotational` was not recorded")),
        Some("0") => Suspicion::RuledOut(format!("{CODE}: `rotational` reads 0")),
        Some(_) if !random => Suspicion::RuledOut(format!("{CODE}: no workload asks at random")),
        Some(value) => Suspicion::Fits(
            Cause {
                code: CODE.to_owned(),
                summary: "suspected: BFQ takes the disk for one with heads and divides time \
                          instead of bytes"
                    .to_owned(),
                evidence: vec![format!(
                    "`rotational` of {} reads {value}, and workloads ask at random",
                    queue.device
                )],
                strength: None,
            },
            Strength::Weak,
        ),
    })
}
