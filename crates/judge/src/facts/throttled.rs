//! `throttled`: how often each group's quota bound, by the kernel's count.

use assay_verdict::Fact;
use assay_verdict::wording::some_of;

use super::{Evidence, Finding, each_repeat};
use crate::throttle;

/// Counts for a quota; the promise itself reports when it never bound.
pub(super) fn fact(evidence: &Evidence<'_>) -> Fact {
    each_repeat("throttled", evidence, |repeat| match repeat.table("throttle") {
        Err(why) => Finding::unverified(&why),
        Ok(table) => {
            let seen = |group: &&str| {
                let seen = throttle::counts(&table, repeat, group)?;
                Some(format!("the quota of `{group}` {seen}"))
            };
            let seen: Vec<String> = evidence.groups.iter().filter_map(seen).collect();
            match seen.is_empty() {
                true => Finding::unverified("no measured group has period counters"),
                false => Finding::new(true, some_of(&seen, "; ")),
            }
        }
    })
}
