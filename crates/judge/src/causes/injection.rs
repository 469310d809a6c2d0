//! C-INJECTION: BFQ serves requests of another queue while it holds the disk for the one in
//! service.
//!
//! To keep a fast disk busy while it idles, BFQ injects requests of the first other queue that
//! has some (`bfq_choose_bfqq_for_injection`, block/bfq-iosched.c). That service is not charged
//! against any weight, and the lucky queue tends to stay the same one. `strict_guarantees`
//! switches it off, at the price of one request at a time.

use super::{Strength, Suspicion};
use crate::promise::Numbers;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use assay_verdict::Cause;
use assay_verdict::wording::percent;

const CODE: &str = "C-INJECTION";

/// A group that gained more than this stands out, whatever margin was promised.
const STANDS_OUT: f64 = 0.1;

/// Looks for the fingerprint: a few groups far above their promise, while all others divide what
/// is left as promised. Others that do not make it a weak one.
pub(super) fn suspect(
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Numbers,
    within: f64,
) -> Suspicion {
    let read = queue::reading(repeat, &queue.disk)
        .and_then(|reading| reading.at_start.get("iosched/strict_guarantees"));
    match read.map(|value| value.trim()) {
        None => Suspicion::NotSeen(format!("{CODE}: `iosched/strict_guarantees` was not recorded")),
        Some("0") => match Fingerprint::of(numbers, within) {
            Some(fingerprint) => {
                Suspicion::Fits(fingerprint.cause(numbers, queue), fingerprint.strength(within))
            }
            None => Suspicion::Open(format!(
                "{CODE}: `iosched/strict_guarantees` reads 0, but no small number of groups stands \
                 out above others that keep their proportions; a run with 1 would tell"
            )),
        },
        Some(value) => {
            Suspicion::RuledOut(format!("{CODE}: `iosched/strict_guarantees` reads {value}"))
        }
    }
}

/// Whether a few groups stand out above others that keep their proportions.
pub(super) fn a_few_gained(numbers: &Numbers) -> bool {
    Fingerprint::of(numbers, STANDS_OUT)
        .is_some_and(|fingerprint| fingerprint.strength(STANDS_OUT) > Strength::Weak)
}

/// Who got too much, and how far the others are from their promise among themselves.
struct Fingerprint {
    lucky: Vec<usize>,
    worst_of_others: f64,
}

impl Fingerprint {
    fn of(numbers: &Numbers, within: f64) -> Option<Self> {
        let seen: Vec<f64> = numbers.seen.iter().map(|estimate| estimate.value).collect();
        let expected: Vec<f64> = numbers.expected.iter().map(|expected| expected.share).collect();
        let (lucky, others): (Vec<usize>, Vec<usize>) =
            (0..seen.len()).partition(|group| seen[*group] > expected[*group] * (1.0 + within));
        // A minority, and enough others for their proportions to say something.
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

    /// A group beside whose requests others are injected gains as well, and those that get nothing
    /// meanwhile lose their proportions: then the few that stand out are all there is to see.
    fn strength(&self, within: f64) -> Strength {
        if self.worst_of_others <= within { Strength::Fair } else { Strength::Weak }
    }

    fn cause(&self, numbers: &Numbers, queue: &Queue) -> Cause {
        let lucky: Vec<String> = self
            .lucky
            .iter()
            .map(|group| {
                let times = numbers.seen[*group].value / numbers.expected[*group].share;
                format!("`{}` got {times:.1} times its promise", numbers.names[*group])
            })
            .collect();
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: while BFQ holds the disk for one group it injects requests of \
                      another, whatever its weight"
                .to_owned(),
            evidence: vec![
                format!(
                    "{}, and the others divided the rest off by {} at most from what was promised",
                    lucky.join(", "),
                    percent(self.worst_of_others)
                ),
                format!(
                    "`iosched/strict_guarantees` of {} reads 0, which allows injection",
                    queue.device
                ),
                "to test it: run once with `\"iosched/strict_guarantees\" = 1`, which forbids it \
                 and costs throughput, or with fewer requests outstanding"
                    .to_owned(),
            ],
            strength: None,
        }
    }
}
