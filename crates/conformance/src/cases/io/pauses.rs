//! BFQ's weights after pauses: a reader that was held up a few times may be taken for another's waker,
//! whose requests are then served in that one's turns (docs/findings/bfq-waker.md).

use rustix::process::Signal;

use super::backlog::{decide, readers};
use super::disk::paced;
use super::weight::FAIR;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

const LADDER: [u64; 4] = [100, 200, 400, 800];
const EQUAL: [u64; 4] = [100; 4];
/// Small requests, so that a queue is often empty within its turn.
const WORDS: &str = "block=4096 depth=8";
/// The first reader is stopped this often, for 60 ms of every 200: longer than `slice_idle`, for which
/// BFQ would wait for it.
const PAUSES: usize = 20;

fn after_pauses(fixture: &mut Fixture, weights: &[u64]) -> Result<Outcome, Stop> {
    let disk = paced(fixture, "bfq", FAIR)?;
    let file = fixture.by_version("blkio.bfq.weight", "io.bfq.weight");
    let mut probes = readers(fixture, &disk, file, weights, WORDS)?;
    for _ in 0..PAUSES {
        // Not longer on a slow machine, since BFQ's own times are not either.
        fixture.pause(0.14 / fixture.patience)?;
        if let Some(first) = probes.first() {
            first.signal(Signal::STOP)?;
            fixture.pause(0.06 / fixture.patience)?;
            first.signal(Signal::CONT)?;
        }
    }
    let outcome = decide(fixture, &mut probes, weights, &[0.5])?;
    Ok(outcome.with("before that the first reader was stopped 20 times"))
}

pub(super) fn weights(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    after_pauses(fixture, &LADDER)
}

/// A bond between groups of equal weight changes nothing.
pub(super) fn equal(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    after_pauses(fixture, &EQUAL)
}

#[cfg(test)]
mod tests {
    use super::super::backlog::judge;
    use super::*;
    use crate::outcome::Verdict;
    use crate::windows::of_counts;

    fn verdict(grew: [f64; 4], away: f64) -> Verdict {
        judge(&of_counts(&grew), &LADDER, &[away; 4]).verdict
    }

    #[test]
    fn a_bond_that_replaces_weights_is_broken() {
        assert_eq!(verdict([67.0, 133.0, 267.0, 533.0], 0.0), Verdict::Kept);
        // As measured on Linux 6.18.44 with a bond of the first and the last.
        let bonded = [364.0, 91.0, 182.0, 363.0];
        assert_eq!(verdict(bonded, 0.0), Verdict::Broken);
        // Readers that ran or waited for a CPU for a seventh of the time do not explain it, for half of it they do.
        assert_eq!(verdict(bonded, 0.14), Verdict::Broken);
        assert_eq!(verdict(bonded, 0.5), Verdict::Void);
        let equal = |grew: [f64; 4]| judge(&of_counts(&grew), &EQUAL, &[0.0; 4]).verdict;
        assert_eq!(equal([250.0; 4]), Verdict::Kept);
        assert_eq!(equal([364.0, 182.0, 182.0, 272.0]), Verdict::Broken);
    }
}
