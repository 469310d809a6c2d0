//! What BFQ's caps on the request pool do to shares: which groups lose is derived, how much is fitted.

use assay_judge::request_cap;

use crate::scenario::{Member, Scenario, Scheduler};

/// Part of the pool that direct writes may use (`bfq_update_depths`, block/bfq-iosched.c).
const WRITER_PART: f64 = 0.75;

/// What is left of the weight of a group whose cap is below its outstanding random requests. It waits for a request when it should be served, has too few of them during its turns,
/// and BFQ gives the time to others. Fitted to 13 runs on a quiet host (docs/predicting.md).
const CAPPED: f64 = 0.57;

/// Exponent by which it is reduced further if all groups together need more than the pool: applied to
/// the part that the pool holds. Fitted as well.
const SHORT: f64 = 0.4;

/// Requests that a member may hold at once: since 5.17 (76f1df88bbc2, `bfq_limit_depth`) its weight's part of the
/// pool, rounded, and at least one.
#[must_use]
pub fn cap(member: &Member, scenario: &Scenario) -> u32 {
    if scenario.scheduler == Scheduler::Fifo {
        return scenario.pool;
    }
    let all: f64 = scenario.members.iter().map(|member| member.weight).sum();
    request_cap(pool(member, scenario), member.weight, all).max(1.0) as u32
}

/// The part of the pool available to a member.
fn pool(member: &Member, scenario: &Scenario) -> f64 {
    let part = if member.writes { WRITER_PART } else { 1.0 };
    (f64::from(scenario.pool) * part).floor().max(1.0)
}

/// Number of members that keep more requests outstanding than they may hold.
pub(crate) fn capped(scenario: &Scenario) -> usize {
    scenario.members.iter().filter(|one| is_capped(one, scenario)).count()
}

fn is_capped(member: &Member, scenario: &Scenario) -> bool {
    cap(member, scenario) < member.depth
}

/// The share of each member in what BFQ serves, bytes; they add up to 1. `None` where every member is limited by
/// its cap, or one whose requests merge: shares are missed then, in a way that no formula describes (four such groups, of
/// which one should have lost a sixth, got 1.74 times theirs: docs/predicting.md). Only equal ones get the same.
#[must_use]
pub fn shares(scenario: &Scenario) -> Option<Vec<f64>> {
    let are_equal = scenario.members.windows(2).all(|pair| pair[0] == pair[1]);
    let capped = || scenario.members.iter().filter(|one| is_capped(one, scenario));
    let is_known = capped().count() < scenario.members.len() && !capped().any(|one| one.sequential);
    (are_equal || is_known).then(|| {
        let worth = |member| worth(member, scenario);
        normalized(&scenario.members.iter().map(worth).collect::<Vec<_>>())
    })
}

/// The weight that acts.
fn worth(member: &Member, scenario: &Scenario) -> f64 {
    if !is_capped(member, scenario) {
        return member.weight;
    }
    let outstanding: f64 = scenario.members.iter().map(|member| f64::from(member.depth)).sum();
    let holds = (pool(member, scenario) / outstanding).min(1.0);
    member.weight * CAPPED * holds.powf(SHORT)
}

/// Parts of their sum.
pub(crate) fn normalized(parts: &[f64]) -> Vec<f64> {
    let all: f64 = parts.iter().sum();
    parts.iter().map(|part| part / all).collect()
}
