//! `swap`: the host did not swap, which takes the disk, the CPUs and the time of whoever waits.

use super::{Evidence, Finding, Scope, ValidityCheck, of_each_repeat};
use crate::repeat::Repeat;

/// Pages a second in both directions: 1 MiB/s of 4 KiB pages.
const MOST: f64 = 256.0;

/// Listed where /proc/vmstat was sampled and shares are promised. Where a limit of memory is what
/// is tested, swapping may be its effect, and is told with the limit.
pub(super) fn gate(evidence: &Evidence<'_>) -> Option<ValidityCheck> {
    let wanted = evidence.any_promise(Scope::Shares);
    evidence.repeats.iter().find(|repeat| wanted && repeat.table("vmstat").is_ok())?;
    let check = of_each_repeat("swap", evidence, |repeat| {
        find(repeat).unwrap_or_else(|why| Finding::spared(&why))
    });
    let summary = "the host swapped, so that groups waited for memory and not for their share";
    Some(ValidityCheck { check, scope: Scope::Shares, proves: Some(("C-SWAP", summary)) })
}

fn find(repeat: &Repeat<'_>) -> Result<Finding, String> {
    let (grown, seconds) = repeat.growth("vmstat", "host", &["pswpin", "pswpout"])?;
    let rate = grown / seconds;
    Ok(Finding::new(
        rate <= MOST,
        format!("{rate:.0} pages a second were swapped in or out (at most {MOST:.0} allowed)"),
    ))
}
