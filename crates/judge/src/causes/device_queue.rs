//! C-DEVICE-QUEUE: the device takes all requests at once, and the scheduler has nothing to divide
//! except what it holds back itself.

use assay_terms::Measure;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};

use super::fit::{Fit, first_come_first_served};
use super::measured::GroupRequests;
use super::rules::{Case, Finding, Rule};
use super::{Strength, Suspicion};
use crate::estimates::Estimates;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-DEVICE-QUEUE",
    what: "The device takes so many requests at once that nothing waits in the scheduler, and serves them in its own order.",
    found_by: FoundBy::Suspicion,
    fingerprint: "All requests outstanding fit into the device, and each group has, in full or in part, a share that follows its requests outstanding.",
    confirm: "`iosched/strict_guarantees` = 1 keeps one request in the device: shares return. Or more requests outstanding: weights act once groups x iodepth exceeds the device's depth.",
    tests: &["strict"],
    effects: &[
        PredictedEffect {
            of: &["strict"],
            expect: Expect::Vanishes,
            why: "weights act on all but the one request in the device",
        },
        PredictedEffect {
            of: &["iodepth", "room"],
            expect: Expect::RISES,
            why: "weights act only if groups x iodepth exceeds the device's depth",
        },
        PredictedEffect::unrelated(&["longer", "requests", "rotational"]),
    ],
    remedy: "More requests outstanding a group, a smaller device queue (`device/queue_depth`), or `strict_guarantees`.",
    source: "Documentation/block/bfq-iosched.rst on devices that queue internally; SFQ(D), Jin, Chase and Kaur 2004",
};

const CODE: &str = ENTRY.code;

/// Compares the requests outstanding with the smallest depth of a device with this pool: with a
/// scheduler the pool is twice the depth of the device, up to 256 (blk_mq_init_sched).
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
) -> Suspicion {
    let strict = queue::reading(repeat, &queue.disk)
        .and_then(|reading| reading.at_start.get("iosched/strict_guarantees"))
        .map(|text| text.trim().to_owned());
    if strict.as_deref() == Some("1") {
        return Suspicion::RuledOut(format!(
            "{CODE}: `iosched/strict_guarantees` reads 1: only one request at a time is in the device"
        ));
    }
    let (Some(demand), Some(pool)) = (queue.outstanding, queue.nr_requests) else {
        return Suspicion::NotExamined(format!(
            "{CODE}: `nr_requests` or what the workloads keep outstanding is not known"
        ));
    };
    let depth = pool / 2.0;
    if demand > depth {
        return Suspicion::RuledOut(format!(
            "{CODE}: the workloads keep {demand} requests outstanding, and {} takes about {depth} \
             at once by the size of its pool",
            queue.device
        ));
    }
    let served = |index: usize| numbers.groups[index].share / numbers.groups[index].expected_share;
    let by_share = |a: &usize, b: &usize| {
        numbers.groups[*a].expected_share.total_cmp(&numbers.groups[*b].expected_share)
    };
    let all = || 0..numbers.groups.len();
    let (Some(light), Some(heavy)) = (all().min_by(by_share), all().max_by(by_share)) else {
        return Suspicion::NotExamined(format!("{CODE}: no group is measured"));
    };
    let fit = Fit::new(numbers, &first_come_first_served(subject, numbers));
    let Some(strength) = fit.and_then(Fit::strength) else {
        return Suspicion::RuledOut(format!(
            "{CODE}: shares should follow the requests outstanding, but the heaviest and the \
             lightest group got {:.2} and {:.2} times what was promised",
            served(heavy),
            served(light)
        ));
    };
    let cause = Cause {
        code: CODE.to_owned(),
        summary:
            "suspected: the device takes all requests at once and serves them in its own order"
                .to_owned(),
        evidence: vec![format!(
            "the workloads keep {demand} requests outstanding, and {} takes about {depth} at once \
             by the size of its pool; the heaviest group got {:.2} times and the lightest {:.2} \
             times what was promised",
            queue.device,
            served(heavy),
            served(light)
        )],
        strength: None,
    };
    // A full pool, or a scheduler that does not idle, gives the same shares.
    Suspicion::Fits(cause, strength.min(Strength::Fair))
}

pub(super) const RULE: Rule = Rule {
    code: CODE,
    summary: "the device took all requests at once and served them in its own order",
    proof: "All groups together had less than one request waiting in the scheduler on average, so that it never had a choice, three quarters of what they keep outstanding were in the device, and shares follow, in full or in part, the requests outstanding.",
    excluded: "Each group that lost had a request or more waiting in the scheduler on average, which served others.",
    concerns: Measure::is_io,
    examine,
};

/// Part of the requests outstanding that are in the device if it takes all of them.
const IN_DEVICE: f64 = 0.75;

fn examine(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok()?;
    let mean = |time: f64| time / disk.seconds;
    let sum = |of: fn(&GroupRequests) -> f64| mean(disk.groups.iter().map(of).sum());
    let (waiting, in_device) = (sum(|group| group.scheduler), sum(|group| group.device));
    let depths = case.depths.clone()?;
    let losers = case.losers();
    let had_choice =
        |group: &usize| mean(disk.groups[*group].scheduler) >= (0.25 * depths[*group]).max(1.0);
    let evidence = format!(
        "{waiting:.2} requests of all groups waited in the scheduler on average and {in_device:.1} were in the device, \
         of {} outstanding",
        depths.iter().sum::<f64>()
    );
    if !losers.is_empty() && losers.iter().all(had_choice) {
        let each = case.list(&losers, |group| format!("{:.1}", mean(disk.groups[group].scheduler)));
        let excluded = format!("{evidence}; of the groups that lost there waited {each}");
        return Some(Finding::excluded(excluded));
    }
    let fit = Fit::from_shares(&case.seen, case.promised, &depths)?;
    let fits = fit.strength().is_some_and(|strength| strength > Strength::Weak);
    let deep = in_device >= IN_DEVICE * depths.iter().sum::<f64>();
    let explained = if fits { fit.explained() } else { 0.5 };
    Some(Finding::new(explained, waiting < 1.0 && deep && fits, evidence))
}
