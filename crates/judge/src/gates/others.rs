//! `others`: nobody outside the groups took the CPUs that they were to divide.
//!
//! What others take on one CPU is missing there and not elsewhere, so that shares shift by about
//! as much as the others took, and no weight of the study can be held against that.

use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::cpus::{self, Shared};
use crate::repeat::Repeat;
use crate::wording::percent;

/// Others, and the hypervisor, may take this part of the CPUs each.
const MOST: f64 = 0.05;

/// Without a reading the promise is void: shares that somebody else shifted look the same.
pub(super) fn gate(evidence: &Evidence<'_>) -> Gate {
    let check = of_each_repeat("others", evidence, |repeat| {
        find(evidence, repeat).unwrap_or_else(|why| Finding::missing(&why))
    });
    let summary = "somebody outside the groups used the CPUs that the groups were to divide";
    Gate { check, scope: Scope::CpuShares, proves: Some(("C-CPU-OTHERS", summary)) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<Finding, String> {
    let Some(shared) = Shared::of(evidence.host, evidence.trial, repeat.record)? else {
        return Ok(Finding::spared("which CPUs the groups could use was not recorded"));
    };
    let spent = cpus::spent(repeat, Some(&shared.set))?;
    let busy = 1.0 - spent.idle - spent.steal;
    let others = (busy - cpus::used(evidence.trial, repeat)? / shared.count()).max(0.0);
    Ok(Finding::new(
        others <= MOST && spent.steal <= MOST,
        format!(
            "processes outside the groups used {} of the CPUs {}, and the hypervisor took {} (at \
             most {} each allowed)",
            percent(others),
            shared.set,
            percent(spent.steal),
            percent(MOST)
        ),
    ))
}
