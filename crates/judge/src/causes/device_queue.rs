//! C-DEVICE-QUEUE: all requests fit into the device, and nothing is left for the scheduler to
//! divide but what it holds back itself.

use super::fit::{Fit, first_come_first_served};
use super::{Strength, Suspicion};
use crate::promise::{Numbers, Subject};
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use assay_verdict::Cause;

const CODE: &str = "C-DEVICE-QUEUE";

/// Looks at how much is outstanding beside the least that a device of this pool holds: with a
/// scheduler the pool is twice the depth of the device, up to 256 (blk_mq_init_sched).
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Numbers,
) -> Suspicion {
    let strict = queue::reading(repeat, &queue.disk)
        .and_then(|reading| reading.at_start.get("iosched/strict_guarantees"))
        .map(|text| text.trim().to_owned());
    if strict.as_deref() == Some("1") {
        return Suspicion::RuledOut(format!(
            "{CODE}: `iosched/strict_guarantees` reads 1, one request at a time is in the device"
        ));
    }
    let (Some(wanted), Some(pool)) = (queue.outstanding, queue.nr_requests) else {
        return Suspicion::NotSeen(format!(
            "{CODE}: `nr_requests` or what the workloads keep outstanding is not known"
        ));
    };
    let depth = pool / 2.0;
    if wanted > depth {
        return Suspicion::RuledOut(format!(
            "{CODE}: the workloads keep {wanted} requests outstanding, and {} takes about {depth} \
             at once by the size of its pool",
            queue.device
        ));
    }
    let served = |index: usize| numbers.seen[index].value / numbers.expected[index].share;
    let by_share =
        |a: &usize, b: &usize| numbers.expected[*a].share.total_cmp(&numbers.expected[*b].share);
    let all = || 0..numbers.names.len();
    let (Some(light), Some(heavy)) = (all().min_by(by_share), all().max_by(by_share)) else {
        return Suspicion::NotSeen(format!("{CODE}: no group is measured"));
    };
    let fit = Fit::of(numbers, &first_come_first_served(subject, numbers));
    let Some(strength) = fit.and_then(Fit::strength) else {
        return Suspicion::RuledOut(format!(
            "{CODE}: it gives each what its requests outstanding bring, and the heaviest and the \
             lightest group got {:.2} and {:.2} times what was promised",
            served(heavy),
            served(light)
        ));
    };
    let cause = Cause {
        code: CODE.to_owned(),
        summary: "suspected: the device takes all requests at once and serves whom it likes"
            .to_owned(),
        evidence: vec![format!(
            "the workloads keep {wanted} requests outstanding, and {} takes about {depth} at once \
             by the size of its pool; the heaviest group got {:.2} times and the lightest {:.2} \
             times what was promised",
            queue.device,
            served(heavy),
            served(light)
        )],
        strength: None,
    };
    // A full pool, or a scheduler that does not idle, looks the same.
    Suspicion::Fits(cause, strength.min(Strength::Fair))
}
