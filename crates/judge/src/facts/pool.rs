//! `pool`: requests that the scheduler's pool holds, beside those that the groups want of it.

use super::{Evidence, Finding, of_each_repeat};
use crate::bfq_request_cap;
use crate::queue::Queue;
use crate::repeat::Repeat;
use assay_verdict::Fact;
use assay_verdict::wording::some_of;

/// Part of the evidence: who wants more than there is waits for it in the order
/// of asking, which the causes C-REQUEST-POOL and C-TAG-CAP look for in the shares.
pub(super) fn fact(evidence: &Evidence<'_>) -> Fact {
    of_each_repeat("pool", evidence, |repeat| find(evidence, repeat))
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut told = Vec::new();
    for queue in Queue::all(evidence.trial, repeat).into_iter().flatten() {
        let Some(pool) = queue.nr_requests else { continue };
        let wanted = match queue.outstanding {
            Some(wanted) if wanted > pool => format!("{wanted} are wanted, more than there are"),
            Some(wanted) => format!("{wanted} are wanted"),
            None => "how many are wanted is not known".to_owned(),
        };
        told.push(format!("{}: {pool} requests, {wanted}", queue.device));
        told.extend(capped(evidence, repeat, &queue, pool));
    }
    match told.is_empty() {
        true => Finding::spared("`nr_requests` was not recorded"),
        false => Finding::new(true, told.join("; ")),
    }
}

/// What BFQ lets the groups have of it, where that is less than they want.
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
    let each: Vec<String> = bfq_request_cap::of_groups(evidence.trial, groups, pool)
        .iter()
        .filter(|cap| cap.binds())
        .map(|cap| {
            format!(
                "`{}` may have {} of the {} it wants",
                evidence.groups[cap.group], cap.cap, cap.wanted
            )
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "BFQ (since 5.17) gives a group no more than its weight's part: {}",
            some_of(&each, ", ")
        )
    })
}
