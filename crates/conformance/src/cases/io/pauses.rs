//! BFQ's weights after pauses: a reader that was held up a few times may be taken for another's waker,
//! whose requests are then served in that one's turns (docs/findings/bfq-waker.md).

use assay_kernel::clock;
use rustix::process::Signal;

use super::disk::{count, scheduled};
use super::weight::{FAIR, judge, readers, waited};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;

const LADDER: [u64; 4] = [100, 200, 400, 800];
/// Small requests, so that a queue is often empty within its turn.
const WORDS: &str = "block=4096 depth=8";
/// The first reader is stopped this often, for 60 ms of every 200: longer than `slice_idle`, for which
/// BFQ would wait for it.
const PAUSES: usize = 20;

fn after_pauses(fixture: &mut Fixture, weights: &[u64]) -> Result<Outcome, Stop> {
    let disk = scheduled(fixture, "bfq", FAIR)?;
    let file = fixture.by_version("blkio.bfq.weight", "io.bfq.weight");
    let mut probes = readers(fixture, &disk, file, weights, WORDS)?;
    for _ in 0..PAUSES {
        fixture.pause(0.14)?;
        if let Some(first) = probes.first() {
            first.signal(Signal::STOP)?;
            fixture.pause(0.06)?;
            first.signal(Signal::CONT)?;
        }
    }
    fixture.pause(0.5)?;
    let pids: Vec<u32> = probes.iter().map(Running::pid).collect();
    let (began, before) = (clock::monotonic_ns(), waited(fixture, &pids));
    let counts = || probes.iter_mut().map(count).collect();
    fixture.settle(6, &[0.5], counts, |windows| {
        let time = clock::monotonic_ns().saturating_sub(began) as f64;
        let waiting = waited(fixture, &pids).saturating_sub(before) as f64 / time;
        judge(windows, weights, waiting).with("before that the first reader was stopped 20 times")
    })
}

pub(super) fn weights(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    after_pauses(fixture, &LADDER)
}

/// A bond between groups of equal weight changes nothing.
pub(super) fn equal(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    after_pauses(fixture, &[100; 4])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;
    use crate::windows::Window;

    #[test]
    fn a_bond_that_replaces_weights_is_broken() {
        let windows = |grew: [f64; 4]| -> Vec<Window> {
            (0..6).map(|_| Window { seconds: 0.5, grew: grew.to_vec() }).collect()
        };
        let kept = judge(&windows([67.0, 133.0, 267.0, 533.0]), &LADDER, 0.0);
        assert_eq!(kept.verdict, Verdict::Kept);
        // As measured on Linux 6.18.44 with a bond of the first and the last.
        let bonded = judge(&windows([364.0, 91.0, 182.0, 363.0]), &LADDER, 0.0);
        assert_eq!(bonded.verdict, Verdict::Broken);
        // A reader that waited for a CPU is no evidence.
        assert_eq!(
            judge(&windows([364.0, 91.0, 182.0, 363.0]), &LADDER, 0.3).verdict,
            Verdict::Void
        );
    }
}
