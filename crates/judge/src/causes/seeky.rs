//! C-SEEKY: on a disk that it takes for one with heads, BFQ charges queues that ask at random for
//! time instead of sectors (`bfq_bfqq_charge_time`, block/bfq-iosched.c).

use super::fit::Fit;
use super::{Strength, Suspicion};
use crate::promise::{Numbers, Subject};
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use assay_verdict::Cause;

const CODE: &str = "C-SEEKY";

/// Bytes that a head reads in the time of a move, about.
const LONG_RUN: f64 = 1_048_576.0;

/// Groups that gained and lost as predicted, weighed by how much they did.
const AGREES: f64 = 0.8;

/// Looks at `rotational` and at the kind of I/O under BFQ.
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Numbers,
) -> Suspicion {
    let reading = queue::reading(repeat, &queue.disk);
    let rotational = reading.and_then(|reading| reading.at_start.get("rotational"));
    let costs: Option<Vec<f64>> =
        numbers.names.iter().map(|name| bytes_in_time(subject, name)).collect();
    let predicted: Option<Vec<f64>> = costs.map(|costs| {
        let each = numbers.expected.iter().zip(costs);
        each.map(|(expected, cost)| expected.share * cost).collect()
    });
    let fit = predicted.and_then(|predicted| Fit::of(numbers, &predicted));
    let agrees = fit.is_some_and(|fit| fit.agreeing() >= AGREES);
    match rotational.map(|text| text.trim()) {
        None => Suspicion::NotSeen(format!("{CODE}: `rotational` was not recorded")),
        Some("0") => Suspicion::RuledOut(format!("{CODE}: `rotational` reads 0")),
        Some(value) if !agrees => Suspicion::RuledOut(format!(
            "{CODE}: `rotational` reads {value}, but groups whose requests are small and at random \
             are not those that lost"
        )),
        Some(value) => Suspicion::Fits(
            Cause {
                code: CODE.to_owned(),
                summary: "suspected: BFQ takes the disk for one with heads and divides time \
                          instead of bytes"
                    .to_owned(),
                evidence: vec![format!(
                    "`rotational` of {} reads {value}, and the groups whose requests are small and at \
                     random are those that lost",
                    queue.device
                )],
                strength: None,
            },
            Strength::Weak,
        ),
    }
}

/// The bytes that a disk with heads moves for a group in the same time, as far as its workloads
/// tell: one long run of sectors, or a request at a time between two moves of the head.
fn bytes_in_time(subject: &Subject<'_>, name: &str) -> Option<f64> {
    let group = subject.trial.groups.iter().find(|group| group.name == name)?;
    let each = group.workloads.iter().map(|workload| match workload.io.sequential {
        true => Some(LONG_RUN),
        false => Some((workload.io.block_size? as f64).min(LONG_RUN)),
    });
    each.reduce(|one, other| Some(one?.min(other?)))?
}
