//! `quota`: no CPU quota, of a group or of one around it, bound while shares were judged.

use assay_verdict::wording::some_of;

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat};
use crate::repeat::Repeat;
use crate::throttle;

/// A binding quota overrides the weights. Groups without a quota have no counter, and need none.
///
/// A throttled group cannot submit I/O either, and leaves CPUs idle meanwhile.
pub(super) fn check(evidence: &Evidence<'_>, scope: Scope) -> ValidityCheck {
    let check = each_repeat("quota", evidence, |repeat| find(evidence, repeat));
    let summary = "a CPU quota bound, so that it and not the weights decided";
    ValidityCheck { check, scope, proves: Some(("C-CPU-QUOTA", summary)) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let Ok(table) = repeat.table("throttle") else { return unseen(repeat) };
    let own = evidence.trial.groups.iter().map(|group| group.name.clone());
    let names: Vec<String> = own.chain(throttle::above(repeat)).collect();
    let bound: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let seen = throttle::counts(&table, repeat, name)?;
            (seen.throttled > 0.0).then(|| format!("the quota of `{name}` {seen}"))
        })
        .collect();
    if bound.is_empty() {
        return Finding::new(true, "no CPU quota bound");
    }
    Finding::new(false, some_of(&bound, "; "))
}

/// Without counters, a quota that is known to be set may have bound.
fn unseen(repeat: &Repeat<'_>) -> Finding {
    let limits = repeat.record.overrides.iter().flat_map(|overrides| &overrides.limits);
    let quotas: Vec<String> = limits
        .filter(|limit| matches!(limit.file.as_str(), "cpu.max" | "cpu.cfs_quota_us"))
        .map(|limit| {
            let value = if limit.at_start.is_empty() { &limit.at_end } else { &limit.at_start };
            format!("`{}` of `{}` reads {value}", limit.file, limit.group)
        })
        .collect();
    match quotas.is_empty() {
        true => Finding::new(true, "no group has a CPU quota, and none is known around them"),
        false => Finding::new(
            false,
            format!("{}, and how often it bound was not sampled", some_of(&quotas, "; ")),
        ),
    }
}
