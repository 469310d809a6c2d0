//! C-SEEKY: BFQ charges slow queues for time instead of sectors (`bfq_bfqq_charge_time`,
//! block/bfq-iosched.c of 6.1 to 7.3): those whose turn took more than 20 ms and less than half of the
//! largest budget, and those whose turn timed out with a third of their budget left. Random requests do
//! that, on a disk of any kind; only on one that does not rotate requests of 32 KiB count as sequential.

use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};

use super::fit::Fit;
use super::{Strength, Suspicion};
use crate::estimates::Estimates;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-SEEKY",
    what: "BFQ charges queues whose turns are slow (more than 20 ms for less than half of the largest budget, or timed out) time instead of sectors, so that shares are shares of time. Random requests do that most on a disk that counts as rotational, small ones on any.",
    found_by: FoundBy::Suspicion,
    fingerprint: "Groups with small random requests lost to others, and `queue/rotational` reads 1 (loop devices do by default) or these requests are below 32 KiB.",
    confirm: "Set `queue/rotational` to 0: shares of bytes return where this was the cause and random requests are of 32 KiB or more. Smaller ones count as random on any disk: make all groups' requests alike.",
    tests: &["rotational"],
    effects: &[
        PredictedEffect {
            of: &["rotational"],
            expect: Expect::Vanishes,
            why: "random requests of 32 KiB or more count as sequential",
        },
        PredictedEffect::unrelated(&["longer", "requests"]),
    ],
    remedy: "`queue = { rotational = 0 }` for a disk that is not rotational, and random requests of 32 KiB or more.",
    source: "block/bfq-iosched.c: bfq_bfqq_expire, bfq_bfqq_is_slow, bfq_bfqq_charge_time, BFQ_RQ_SEEKY (BFQQ_SECT_THR_NONROT, 64 sectors)",
};

const CODE: &str = ENTRY.code;

/// Bytes that a disk reads sequentially in the time of one seek, roughly.
const LONG_RUN: f64 = 1_048_576.0;

/// Random requests below this size count as such on a disk of any kind (`BFQQ_SECT_THR_NONROT`).
const SMALL: u64 = 32 << 10;

/// Required part of the errors with the predicted sign, weighted by their size.
const AGREES: f64 = 0.8;

/// Examines `rotational` and the kind of I/O under BFQ.
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
) -> Suspicion {
    let reading = queue::reading(repeat, &queue.disk);
    let rotational = reading.and_then(|reading| reading.at_start.get("rotational"));
    let costs: Option<Vec<f64>> =
        numbers.names().map(|name| bytes_in_time(subject, name)).collect();
    let predicted: Option<Vec<f64>> = costs.map(|costs| {
        numbers.promised().zip(costs).map(|(promised, cost)| promised * cost).collect()
    });
    let fit = predicted.and_then(|predicted| Fit::new(numbers, &predicted));
    let agrees = fit.is_some_and(|fit| fit.agreeing() >= AGREES);
    match rotational.map(|text| text.trim()) {
        None => Suspicion::NotExamined(format!("{CODE}: `rotational` was not recorded")),
        Some("0") if !has_small_random_requests(subject) => Suspicion::RuledOut(format!(
            "{CODE}: `rotational` reads 0, and no group is known to have random requests below 32 KiB"
        )),
        Some(value) if !agrees => Suspicion::RuledOut(format!(
            "{CODE}: `rotational` reads {value}, but the groups with small random requests \
             are not those that lost"
        )),
        Some(value) => Suspicion::Fits(
            Cause {
                code: CODE.to_owned(),
                summary:
                    "suspected: BFQ charges groups with small random requests time instead of bytes"
                        .to_owned(),
                evidence: vec![format!(
                    "`rotational` of {} reads {value}, and the groups with small random \
                     requests are those that lost",
                    queue.device
                )],
                strength: None,
            },
            Strength::Weak,
        ),
    }
}

fn has_small_random_requests(subject: &Subject<'_>) -> bool {
    let all = subject.trial.groups.iter().flat_map(|group| &group.workloads);
    let mut random = all.filter(|workload| !workload.io.sequential);
    random.any(|workload| workload.io.block_size.is_some_and(|size| size < SMALL))
}

/// Bytes that a rotational disk moves for a group in a fixed time, as far as its workloads are
/// known: one long run of sectors, or one request between two seeks.
fn bytes_in_time(subject: &Subject<'_>, name: &str) -> Option<f64> {
    let group = subject.trial.groups.iter().find(|group| group.name == name)?;
    let each = group.workloads.iter().map(|workload| match workload.io.sequential {
        true => Some(LONG_RUN),
        false => Some((workload.io.block_size? as f64).min(LONG_RUN)),
    });
    each.reduce(|one, other| Some(one?.min(other?)))?
}
