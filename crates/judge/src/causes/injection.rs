//! C-INJECTION: BFQ serves requests of another queue while it holds the disk for the one in
//! service.
//!
//! To keep a fast disk busy while it idles, BFQ injects requests of the first other queue that has
//! some (`bfq_choose_bfqq_for_injection`, block/bfq-iosched.c). That service is charged to the injected
//! queue, but its timestamps are not looked at, and the favoured queue tends to stay the same.
//! `strict_guarantees` does not forbid it: a request is dispatched only when the device is empty, which
//! leaves hardly any occasion for it, at the price of one request at a time.

use assay_terms::Measure;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};
use assay_verdict::wording::percent;

use super::rules::{Case, Finding, Rule};
use super::waker::by_injection;
use super::{Strength, Suspicion};
use crate::estimates::Estimates;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-INJECTION",
    what: "While BFQ holds the disk for one group it injects requests of another, whatever its weight.",
    found_by: FoundBy::Suspicion,
    fingerprint: "A minority of groups, often one light one, far above its promise, and all others in proportion among themselves; `iosched/strict_guarantees` reads 0.",
    confirm: "`iosched/strict_guarantees` = 1 leaves hardly any occasion for injection: the excess vanishes. Fewer requests outstanding reduce it.",
    tests: &["strict", "iodepth", "room"],
    effects: &[
        PredictedEffect {
            of: &["strict"],
            expect: Expect::Vanishes,
            why: "with one request in the device hardly any request is injected",
        },
        PredictedEffect {
            of: &["iodepth", "room"],
            expect: Expect::FALLS,
            why: "fewer requests can be injected",
        },
        PredictedEffect::unrelated(&["longer", "requests", "rotational"]),
    ],
    remedy: "A smaller iodepth, or `strict_guarantees` = 1 where throughput does not matter.",
    source: "block/bfq-iosched.c: bfq_update_inject_limit, since 5.2",
};

const CODE: &str = ENTRY.code;

/// A group that gained more than this stands out, whatever the promised margin.
const STANDS_OUT: f64 = 0.1;

/// Looks for the fingerprint: a few groups far above their promise, while all others divide the
/// rest as promised. If the others do not, the suspicion is weak.
pub(super) fn suspect(
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
    within: f64,
) -> Suspicion {
    let read = queue::reading(repeat, &queue.disk)
        .and_then(|reading| reading.at_start.get("iosched/strict_guarantees"));
    match read.map(|value| value.trim()) {
        None => {
            Suspicion::NotExamined(format!("{CODE}: `iosched/strict_guarantees` was not recorded"))
        }
        Some("0") => match Fingerprint::find(numbers, within) {
            Some(fingerprint) => {
                Suspicion::Fits(fingerprint.cause(numbers, queue), fingerprint.strength(within))
            }
            None => Suspicion::Open(format!(
                "{CODE}: `iosched/strict_guarantees` reads 0, but no minority of groups stands \
                 out above others that keep their proportions; a run with 1 would decide"
            )),
        },
        Some(value) => {
            Suspicion::RuledOut(format!("{CODE}: `iosched/strict_guarantees` reads {value}"))
        }
    }
}

/// Whether a few groups stand out above others that keep their proportions.
pub(super) fn a_few_gained(numbers: &Estimates) -> bool {
    Fingerprint::find(numbers, STANDS_OUT)
        .is_some_and(|fingerprint| fingerprint.strength(STANDS_OUT) > Strength::Weak)
}

/// The groups that got too much, and the largest error of the others among themselves.
struct Fingerprint {
    lucky: Vec<usize>,
    worst_of_others: f64,
}

impl Fingerprint {
    fn find(numbers: &Estimates, within: f64) -> Option<Self> {
        let seen: Vec<f64> = numbers.shares().collect();
        let expected: Vec<f64> = numbers.promised().collect();
        let (lucky, others): (Vec<usize>, Vec<usize>) =
            (0..seen.len()).partition(|group| seen[*group] > expected[*group] * (1.0 + within));
        // A minority, and enough others for their proportions to be meaningful.
        if lucky.is_empty() || lucky.len() * 2 >= seen.len() || others.len() < 2 {
            return None;
        }
        let sum = |shares: &[f64]| others.iter().map(|group| shares[*group]).sum::<f64>();
        let (got, promised) = (sum(&seen), sum(&expected));
        let worst_of_others = others
            .iter()
            .map(|group| (seen[*group] / got / (expected[*group] / promised) - 1.0).abs())
            .fold(0.0, f64::max);
        Some(Self { lucky, worst_of_others })
    }

    /// A group next to whose requests others are injected gains as well, and groups that get
    /// nothing meanwhile lose their proportions: then only the few outliers remain as evidence.
    fn strength(&self, within: f64) -> Strength {
        if self.worst_of_others <= within { Strength::Fair } else { Strength::Weak }
    }

    fn cause(&self, numbers: &Estimates, queue: &Queue) -> Cause {
        let lucky: Vec<String> = self
            .lucky
            .iter()
            .map(|group| {
                let times = numbers.groups[*group].share / numbers.groups[*group].expected_share;
                format!("`{}` got {times:.1} times its promise", numbers.groups[*group].name)
            })
            .collect();
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: while BFQ holds the disk for one group it injects requests of \
                      another, regardless of weight"
                .to_owned(),
            evidence: vec![
                format!(
                    "{}, and the others divided the rest as promised, off by at most {}",
                    lucky.join(", "),
                    percent(self.worst_of_others)
                ),
                format!(
                    "`iosched/strict_guarantees` of {} reads 0, which allows injection",
                    queue.device
                ),
                "to test it: run once with `\"iosched/strict_guarantees\" = 1`, which leaves hardly any occasion for it \
                 and costs throughput, or with fewer requests outstanding"
                    .to_owned(),
            ],
            strength: None,
        }
    }
}

pub(super) const RULE: Rule = Rule {
    code: CODE,
    summary: "while BFQ held the disk for one group it injected requests of another, regardless of weight",
    proof: "Of each group that gained, requests issued in the service of groups that are not its partners and whose `inject_limit` was above 0, beyond the part that all groups have at the ends of turns, are three quarters of what it gained, and its share of the time in service is lower than its share by as much. Every loser kept half of its requests outstanding and waited for no place.",
    excluded: "Requests issued in the service of groups that are no partners, those at the ends of turns included, are less than a tenth of all gains; or `inject_limit` was 0 in all turns.",
    concerns: Measure::is_io,
    examine,
};

fn examine(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok()?;
    // blk-mq collects several dispatches before it issues them: some of each turn are issued in the next one.
    let mut parts: Vec<f64> = disk
        .groups
        .iter()
        .map(|group| group.injected_otherwise / group.requests.max(1.0))
        .collect();
    parts.sort_by(f64::total_cmp);
    let usual = parts[parts.len().div_ceil(2) - 1];
    let injected = |group: usize| {
        let of = &disk.groups[group];
        (of.injected_by_limit / of.requests.max(1.0) - usual).max(0.0) * case.seen[group]
    };
    // The usual part may be injection as well.
    let at_most = |group: usize| {
        let of = &disk.groups[group];
        let part = if disk.injects { of.injected_otherwise / of.requests.max(1.0) } else { 0.0 };
        part * case.seen[group]
    };
    let asked = case.losers().iter().all(|group| super::waker::asks(case, *group));
    by_injection(case, "of groups that are no partners of it", injected, at_most, asked)
}
