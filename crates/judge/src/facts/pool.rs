//! `pool`: size of the scheduler's request pool, compared with the groups' demand.

use assay_verdict::Fact;
use assay_verdict::wording::some_of;

use super::{Evidence, Finding, each_repeat};
use crate::bfq_request_cap;
use crate::queue::Queue;
use crate::repeat::Repeat;

/// Lists pool and demand. Demand beyond the pool is served in order of arrival, which the causes
/// C-REQUEST-POOL and C-TAG-CAP look for in the shares.
pub(super) fn fact(evidence: &Evidence<'_>) -> Fact {
    each_repeat("pool", evidence, |repeat| find(evidence, repeat))
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut parts = Vec::new();
    for queue in Queue::all(evidence.trial, repeat).into_iter().flatten() {
        let Some(pool) = queue.nr_requests else { continue };
        let demand = match queue.outstanding {
            Some(demand) if demand > pool => format!("{demand} outstanding, more than it holds"),
            Some(demand) => format!("{demand} outstanding"),
            None => "how many are outstanding is unknown".to_owned(),
        };
        parts.push(format!("{}: {pool} requests, {demand}", queue.device));
        parts.extend(capped(evidence, repeat, &queue, pool));
    }
    match parts.is_empty() {
        true => Finding::unverified("`nr_requests` was not recorded"),
        false => Finding::new(true, parts.join("; ")),
    }
}

/// Groups that BFQ caps below their demand.
fn capped(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    queue: &Queue,
    pool: f64,
) -> Option<String> {
    if queue.scheduler.as_deref() != Some("bfq") {
        return None;
    }
    let shares = evidence.io_shares(repeat)?;
    let groups = evidence.groups.iter().copied().zip(shares);
    let each: Vec<String> = bfq_request_cap::group_caps(evidence.trial, groups, pool)
        .iter()
        .filter(|cap| cap.binds())
        .map(|cap| {
            format!(
                "`{}` may hold {} of {} outstanding",
                evidence.groups[cap.group], cap.cap, cap.demand
            )
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!("BFQ (since 5.17) caps a group at its weight's part: {}", some_of(&each, ", "))
    })
}
