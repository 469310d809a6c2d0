//! C-TAG-CAP: BFQ's cap of a group's requests is rounded to whole ones, which moves shares once
//! the lightest group's part of the pool is near one.
//!
//! Since 5.17 (76f1df88bbc2) a group may hold `P w / sum w` of the pool's `P` requests. With weights
//! 1:2:4:8 and P = 64 that is 1, 2, 4, 9 requests for 16 groups, 1, 1, 2, 4 for 32 and 0, 1, 1, 2
//! for 64: the lightest classes merge first, from `P w_min / (0.75 w_mean)` groups on.

use super::{Strength, Suspicion};
use crate::judgement::Cause;
use crate::promise::Numbers;
use crate::queue::Queue;
use crate::wording::percent;

const CODE: &str = "C-TAG-CAP";

/// Compares what rounding predicts with what was seen; nothing under another scheduler.
pub(super) fn suspect(queue: &Queue, numbers: &Numbers, within: f64) -> Option<Suspicion> {
    if queue.scheduler.as_deref() != Some("bfq") {
        return None;
    }
    let Some(pool) = queue.nr_requests.filter(|pool| *pool > 0.0) else {
        return Some(Suspicion::NotSeen(format!("{CODE}: `nr_requests` was not recorded")));
    };
    let shares: Vec<f64> = numbers.expected.iter().map(|expected| expected.share).collect();
    let predicted = rounded(&shares, pool);
    let moved = |index: &usize| (predicted[*index] / shares[*index] - 1.0).abs();
    let most = (0..shares.len()).max_by(|a, b| moved(a).total_cmp(&moved(b)))?;
    let (error, seen) = (
        predicted[most] / shares[most] - 1.0,
        numbers.seen[most].value / numbers.expected[most].share - 1.0,
    );
    if error.abs() <= within {
        return Some(Suspicion::RuledOut(format!(
            "{CODE}: rounding each group's part of {pool} requests moves no share by more than {}",
            percent(error.abs())
        )));
    }
    let text = format!(
        "rounding each group's part of {pool} requests to whole ones moves `{}` by {}, and {} was \
         seen",
        numbers.names[most],
        percent(error),
        percent(seen)
    );
    if error.signum() != seen.signum() || seen.abs() < 0.5 * error.abs() {
        return Some(Suspicion::RuledOut(format!("{CODE}: {text}")));
    }
    Some(Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: BFQ's cap of each group's requests is rounded to whole requests"
                .to_owned(),
            evidence: vec![text],
        },
        Strength::Fair,
    ))
}

/// Shares in proportion to the rounded caps; a group with none still gets one at a time.
fn rounded(shares: &[f64], pool: f64) -> Vec<f64> {
    let caps: Vec<f64> = shares.iter().map(|share| (pool * share).round().max(1.0)).collect();
    let all: f64 = caps.iter().sum();
    caps.iter().map(|cap| cap / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lightest_classes_merge_first_as_groups_multiply() {
        let shares = |groups: usize| -> Vec<f64> {
            let weights: Vec<f64> = [1.0, 2.0, 4.0, 8.0].into_iter().cycle().take(groups).collect();
            let all: f64 = weights.iter().sum();
            weights.iter().map(|weight| weight / all).collect()
        };
        let ratio = |groups| {
            let found = rounded(&shares(groups), 64.0);
            [found[1] / found[0], found[2] / found[0], found[3] / found[0]]
        };
        assert_eq!(ratio(16), [2.0, 4.0, 9.0]);
        assert_eq!(ratio(32), [1.0, 2.0, 4.0]);
    }
}
