//! C-SCHEDULER-CEILING: BFQ's lock is the bottleneck on a faster device.

use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, FoundBy, PredictedEffect};

use super::fit::{Fit, first_come_first_served};
use super::{Strength, Suspicion};
use crate::estimates::Estimates;
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-SCHEDULER-CEILING",
    what: "The scheduler's lock is the bottleneck: BFQ handles a few hundred thousand requests a second, whatever the device does.",
    found_by: FoundBy::Suspicion,
    fingerprint: "More than 200 000 requests a second in total under BFQ, and each group's share follows its requests outstanding.",
    confirm: "A slower device (null_blk with `iops`), or larger requests: shares return.",
    tests: &["slower"],
    effects: &[PredictedEffect::SLOWER_DISK, PredictedEffect::unrelated(&["requests"])],
    remedy: "Larger requests, or iocost instead of BFQ on devices this fast.",
    source: "Documentation/block/bfq-iosched.rst: 400, 250 and 80 thousand requests a second on three CPUs",
};

const CODE: &str = ENTRY.code;

/// Half of what BFQ's documentation states for the fastest CPU measured.
const MANY: f64 = 200_000.0;

/// Examines the total request rate under BFQ.
pub(super) fn suspect(
    subject: &Subject<'_>,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
) -> Suspicion {
    match requests(subject, repeat) {
        Err(why) => Suspicion::NotExamined(format!("{CODE}: {why}")),
        Ok(rate) if rate < MANY => {
            Suspicion::RuledOut(format!("{CODE}: {rate:.0} requests a second in total"))
        }
        Ok(rate) => {
            let fit = Fit::new(numbers, &first_come_first_served(subject, numbers));
            let Some(strength) = fit.and_then(Fit::strength) else {
                return Suspicion::Open(format!(
                    "{CODE}: {rate:.0} requests a second, in all, but shares do not follow the \
                     requests outstanding"
                ));
            };
            Suspicion::Fits(
                Cause {
                    code: CODE.to_owned(),
                    summary: "suspected: the scheduler's lock is slower than the disk".to_owned(),
                    evidence: vec![format!("{rate:.0} requests a second in total under BFQ")],
                    strength: None,
                },
                strength.min(Strength::Fair),
            )
        }
    }
}

fn requests(subject: &Subject<'_>, repeat: &Repeat<'_>) -> Result<f64, String> {
    let table = repeat.table("io")?;
    let mut rate = 0.0;
    for group in &subject.groups {
        let (grown, seconds) = repeat.grown(&table, group, &["read_ios", "write_ios"])?;
        rate += grown / seconds;
    }
    Ok(rate)
}
