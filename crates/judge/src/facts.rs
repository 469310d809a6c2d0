//! Facts: context for the numbers that decides nothing by itself.
//!
//! Whether a setting breaks shares shows in the shares, and whether a limit bound is part of the
//! measurement: neither can void a promise, so neither is a validity check.

mod feasible;
mod heuristics;
mod limit;
mod pool;
mod throttled;

use assay_verdict::Fact;

use crate::checks::{Evidence, Finding, Scope};
use crate::repeat::Repeat;

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
    facts
}

/// Collects a fact from every repeat.
fn each_repeat(fact: &str, evidence: &Evidence<'_>, find: impl Fn(&Repeat<'_>) -> Finding) -> Fact {
    let check = crate::checks::each_repeat(fact, evidence, find);
    Fact { fact: check.check, evidence: check.evidence }
}
