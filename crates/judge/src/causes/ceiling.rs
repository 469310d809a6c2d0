//! C-SCHEDULER-CEILING: BFQ's lock is the bottleneck on a device that is faster than it.

use super::fit::{Fit, first_come_first_served};
use super::{Strength, Suspicion};
use crate::promise::{Numbers, Subject};
use crate::repeat::Repeat;
use assay_verdict::Cause;

const CODE: &str = "C-SCHEDULER-CEILING";

/// Half of what BFQ's document gives for the fastest CPU it was measured on.
const MANY: f64 = 200_000.0;

/// Looks at all requests a second under BFQ.
pub(super) fn suspect(subject: &Subject<'_>, repeat: &Repeat<'_>, numbers: &Numbers) -> Suspicion {
    match requests(subject, repeat) {
        Err(why) => Suspicion::NotSeen(format!("{CODE}: {why}")),
        Ok(rate) if rate < MANY => {
            Suspicion::RuledOut(format!("{CODE}: {rate:.0} requests a second, in all"))
        }
        Ok(rate) => {
            let fit = Fit::of(numbers, &first_come_first_served(subject, numbers));
            let Some(strength) = fit.and_then(Fit::strength) else {
                return Suspicion::Open(format!(
                    "{CODE}: {rate:.0} requests a second, in all, but the groups did not get what \
                     their requests outstanding bring"
                ));
            };
            Suspicion::Fits(
                Cause {
                    code: CODE.to_owned(),
                    summary: "suspected: the disk is faster than the scheduler's lock".to_owned(),
                    evidence: vec![format!("{rate:.0} requests a second, in all, under BFQ")],
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
    for group in subject.groups {
        let (grown, seconds) = repeat.grown(&table, group, &["read_ios", "write_ios"])?;
        rate += grown / seconds;
    }
    Ok(rate)
}
