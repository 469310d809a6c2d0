//! `steal`: the hypervisor took little CPU time while a disk was divided. For shares of CPU time
//! the check `others` covers it.

use assay_verdict::wording::percent;

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat};
use crate::cpus;

/// Allowed part of all CPUs.
pub(super) const MOST: f64 = 0.1;

/// A machine that is stopped for a tenth of the time submits requests late.
pub(super) fn check(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = each_repeat("steal", evidence, |repeat| match cpus::spent(repeat, None) {
        Err(why) => Finding::unverified(&why),
        Ok(spent) => find(spent.steal, MOST),
    });
    let summary = "the hypervisor took CPU time away while the disk was divided";
    ValidityCheck { check, scope: Scope::IoShares, proves: Some(("C-STEAL", summary)) }
}

/// Whether the hypervisor took at most this part of the CPUs.
pub(super) fn find(steal: f64, most: f64) -> Finding {
    let (took, allowed) = (percent(steal), percent(most));
    let evidence = format!("the hypervisor took {took} of the CPUs (at most {allowed} allowed)");
    Finding::new(steal <= most, evidence)
}
