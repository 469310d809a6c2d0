//! Facts: what a reader must know beside the numbers, and what decides nothing by itself.
//!
//! Whether a setting breaks shares is seen in the shares, whether a limit bound is part of what was
//! measured: neither can make a promise void, and neither stands among the gates.

mod feasible;
mod heuristics;
mod interim_looks;
mod limit;
mod pool;
mod throttled;

use crate::checks::{Evidence, Finding, Scope};
use crate::repeat::Repeat;
use assay_verdict::Fact;

/// All facts of a trial that concern one of its promises.
pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    if evidence.repeats.is_empty() {
        return facts;
    }
    if evidence.any_promise(Scope::IoShares) {
        facts.push(heuristics::fact(evidence));
        facts.push(pool::fact(evidence));
    }
    if evidence.any_promise(Scope::CpuShares) {
        facts.extend(feasible::fact(evidence));
    }
    if evidence.any_promise(Scope::CpuQuotas) {
        facts.push(throttled::fact(evidence));
    }
    facts.extend(limit::fact(evidence));
    facts.extend(interim_looks::fact(evidence));
    facts
}

/// One question to every repeat.
fn of_each_repeat(
    fact: &str,
    evidence: &Evidence<'_>,
    find: impl Fn(&Repeat<'_>) -> Finding,
) -> Fact {
    let told = crate::checks::of_each_repeat(fact, evidence, find);
    Fact { fact: told.check, evidence: told.evidence }
}
