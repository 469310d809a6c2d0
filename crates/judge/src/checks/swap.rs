//! `swap`: the host did not swap, which costs disk, CPU and waiting time.

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat};
use crate::repeat::Repeat;

/// Limit in pages a second in both directions: 1 MiB/s of 4 KiB pages.
const MOST: f64 = 256.0;

/// Evaluated where /proc/vmstat was sampled and shares are promised. Where a memory limit is
/// tested, swapping may be its effect, and is reported with the limit.
pub(super) fn check(evidence: &Evidence<'_>) -> Option<ValidityCheck> {
    let wanted = evidence.any_promise(Scope::Shares);
    evidence.repeats.iter().find(|repeat| wanted && repeat.table("vmstat").is_ok())?;
    let check = each_repeat("swap", evidence, |repeat| {
        find(repeat).unwrap_or_else(|why| Finding::unverified(&why))
    });
    let summary = "the host swapped, so that groups waited for memory and not for their share";
    Some(ValidityCheck { check, scope: Scope::Shares, proves: Some(("C-SWAP", summary)) })
}

fn find(repeat: &Repeat<'_>) -> Result<Finding, String> {
    let (grown, seconds) = repeat.growth("vmstat", "host", &["pswpin", "pswpout"])?;
    Ok(of_rate(grown / seconds))
}

/// Whether so many pages a second are few.
pub(super) fn of_rate(rate: f64) -> Finding {
    let evidence =
        format!("{rate:.0} pages a second were swapped in or out (at most {MOST:.0} allowed)");
    Finding::new(rate <= MOST, evidence)
}
