//! `feasible`: weights that exceed what a group can use, and the shares promised instead.

use assay_verdict::Fact;
use assay_verdict::wording::{count, percent, some_of};

use super::Evidence;
use crate::cpus::Shared;
use crate::expected;

/// Explains why a promise differs from the weight's share. `None` where every group can use what
/// its weight gives it.
pub(super) fn fact(evidence: &Evidence<'_>) -> Option<Fact> {
    let repeat = evidence.repeats.first()?;
    let shared = Shared::in_repeat(evidence.host, evidence.trial, repeat.record).ok()??;
    let mut promises = evidence.promises.iter();
    let (all, what) = promises.find_map(|(measure, relation)| {
        let shares = || expected::shares(relation, repeat.record, evidence.groups, Some(&shared));
        let all = (measure.is_cpu() && relation.kind().divides()).then(shares)?.ok()?;
        Some((all, relation.divided_by().map_or("equal shares ask", |_| "some weights ask")))
    })?;
    let sum: f64 = all.iter().filter_map(|expected| expected.knob).sum();
    let capped: Vec<String> = evidence
        .groups
        .iter()
        .zip(&all)
        .filter_map(|(group, expected)| {
            let weighed = expected.by_weight.filter(|weighed| *weighed > expected.share)?;
            let threads = *shared.threads.get(*group)? as usize;
            let simultaneous =
                expected.knob.map_or_else(String::new, |knob| format!("{knob} of {sum} "));
            Some(format!(
                "`{group}`: {simultaneous}would be {}, its {} can have at most {}: expected {}",
                percent(weighed),
                count(threads, "thread"),
                percent(shared.demand(group) / shared.count()),
                percent(expected.share)
            ))
        })
        .collect();
    if capped.is_empty() {
        return None;
    }
    let evidence = format!(
        "on {} {what} for more than is available, and the rest is divided among the others \
         by weight; {}",
        count(shared.set.len(), "CPU"),
        some_of(&capped, "; ")
    );
    Some(Fact { fact: "feasible".to_owned(), evidence })
}
