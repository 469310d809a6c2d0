//! `steal`: the hypervisor left the machine its CPUs while it divided a disk. Shares of CPU time
//! have this with the gate `others`.

use super::{Evidence, Finding, Scope, ValidityCheck, of_each_repeat};
use crate::cpus;
use assay_verdict::wording::percent;

/// The hypervisor may take this part of all CPUs.
pub(super) const MOST: f64 = 0.1;

/// A machine that is stopped for a tenth of its time hands requests over when it is let, and not
/// when they are due.
pub(super) fn gate(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = of_each_repeat("steal", evidence, |repeat| match cpus::spent(repeat, None) {
        Err(why) => Finding::spared(&why),
        Ok(spent) => Finding::new(
            spent.steal <= MOST,
            format!(
                "the hypervisor took {} of the CPUs (at most {} allowed)",
                percent(spent.steal),
                percent(MOST)
            ),
        ),
    });
    let summary = "the hypervisor took CPU time away while the disk was divided";
    ValidityCheck { check, scope: Scope::IoShares, proves: Some(("C-STEAL", summary)) }
}
