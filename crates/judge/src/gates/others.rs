//! `others`: nobody outside the groups took the CPUs that they were to divide.
//!
//! Of several CPUs, what others take on one is missing there and not elsewhere, so that shares
//! shift by about as much as the others took, and no weight of the study can be held against
//! that. Of a single CPU they take from all groups alike: the scheduler picks among the groups by
//! their weights whenever the CPU is not the others' (kernel/sched/fair.c, `pick_next_task_fair`),
//! so that there is less to divide and the shares of it stand.

use assay_record::PromiseRecord;

use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::cpus::{self, Shared};
use crate::repeat::Repeat;
use crate::wording::percent;

/// The margin where no promise of shares says one.
const USUAL_MARGIN: f64 = 0.1;

/// Without a reading the promise is void: shares that somebody else shifted look the same.
pub(super) fn gate(evidence: &Evidence<'_>) -> Gate {
    let check = of_each_repeat("others", evidence, |repeat| {
        find(evidence, repeat).unwrap_or_else(|why| Finding::missing(&why))
    });
    let stolen = evidence.repeats.iter().any(|repeat| stolen(evidence, repeat).unwrap_or(false));
    let proves = if stolen {
        ("C-STEAL", "the hypervisor took CPU time that the groups were to divide")
    } else {
        let summary = "somebody outside the groups used the CPUs that the groups were to divide";
        ("C-CPU-OTHERS", summary)
    };
    Gate { check, scope: Scope::CpuShares, proves: Some(proves) }
}

/// Whether it was the hypervisor alone that took more than it may.
fn stolen(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<bool, String> {
    let Some(shared) = Shared::of(evidence.host, evidence.trial, repeat.record)? else {
        return Ok(false);
    };
    let spent = cpus::spent(repeat, Some(&shared.set))?;
    let others = cpus::others(evidence.trial, repeat, &shared, spent)?;
    let (most, _) = allowed(evidence, repeat);
    Ok(spent.steal > most && others <= most)
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Result<Finding, String> {
    let Some(shared) = Shared::of(evidence.host, evidence.trial, repeat.record)? else {
        return Ok(Finding::spared("which CPUs the groups could use was not recorded"));
    };
    let spent = cpus::spent(repeat, Some(&shared.set))?;
    let others = cpus::others(evidence.trial, repeat, &shared, spent)?;
    let taken = format!(
        "processes outside the groups used {} of {}, and the hypervisor took {}",
        percent(others),
        shared.label(),
        percent(spent.steal)
    );
    if shared.set.len() == 1 {
        let why = "one CPU, which lessens what is divided and not how";
        return Ok(Finding::new(true, format!("{taken}: of {why}")));
    }
    let (most, within) = allowed(evidence, repeat);
    Ok(Finding::new(
        others <= most && spent.steal <= most,
        format!(
            "{taken} (at most {} each allowed, which can shift a share by {})",
            percent(most),
            percent(within)
        ),
    ))
}

/// What others may take of the CPUs, and the margin that follows from: what is missing where a
/// group of share `s` runs is missing to it alone, and the part `1 - s` of it goes to the others.
fn allowed(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> (f64, f64) {
    let promises = evidence.trial.promises.iter();
    let of = |promise: &PromiseRecord| {
        if promise.measure != "cpu.time" {
            return None;
        }
        let shares = evidence.promised(repeat, promise)?;
        let least = shares.iter().map(|expected| expected.share).fold(1.0, f64::min);
        Some((promise.within / (1.0 - least).max(f64::MIN_POSITIVE), promise.within))
    };
    let strictest = promises.filter_map(of).min_by(|a, b| a.0.total_cmp(&b.0));
    strictest.map_or((USUAL_MARGIN, USUAL_MARGIN), |(most, within)| (most.min(1.0), within))
}
