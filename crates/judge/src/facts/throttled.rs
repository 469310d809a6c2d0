//! `throttled`: how often each group's own quota bound, as the kernel counted it.

use super::{Evidence, Finding, of_each_repeat};
use crate::throttle;
use assay_verdict::Fact;
use assay_verdict::wording::some_of;

/// Part of the evidence of a quota: the promise itself says when it never bound.
pub(super) fn fact(evidence: &Evidence<'_>) -> Fact {
    of_each_repeat("throttled", evidence, |repeat| match repeat.table("throttle") {
        Err(why) => Finding::spared(&why),
        Ok(table) => {
            let seen = |group: &&str| {
                let seen = throttle::of(&table, repeat, group)?;
                Some(format!("the quota of `{group}` {seen}"))
            };
            let seen: Vec<String> = evidence.groups.iter().filter_map(seen).collect();
            match seen.is_empty() {
                true => Finding::spared("no measured group counts periods"),
                false => Finding::new(true, some_of(&seen, "; ")),
            }
        }
    })
}
