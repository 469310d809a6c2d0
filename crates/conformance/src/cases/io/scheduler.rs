//! BFQ's weights under the other schedulers, and beside more requests than its pool holds.

use super::backlog::{decide, readers};
use super::disk::{count, paced};
use super::weight::{BACKLOG, FAIR};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop, Verdict};
use crate::windows::Window;

/// Two groups whose BFQ weights are 1:8, under a scheduler without weights.
fn ignores(fixture: &mut Fixture, scheduler: &'static str) -> Result<Outcome, Stop> {
    let disk = paced(fixture, scheduler, &[])?;
    let file = fixture.by_version("blkio.bfq.weight", "io.bfq.weight");
    let mut probes = readers(fixture, &disk, file, &[100, 800], BACKLOG)?;
    fixture.pause(0.5)?;
    let counts = || probes.iter_mut().map(count).collect();
    fixture.settle(6, &[0.4], counts, |windows| judge_ignored(windows, scheduler))
}

pub(super) fn none(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    ignores(fixture, "none")
}

pub(super) fn mq_deadline(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    ignores(fixture, "mq-deadline")
}

pub(super) fn kyber(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    ignores(fixture, "kyber")
}

/// Equal readers need not get equal parts without weights; only parts as by weight are broken.
fn judge_ignored(windows: &[Window], scheduler: &str) -> Outcome {
    let shares: Vec<f64> = windows.iter().filter_map(|w| Some(w.shares()?[0])).collect();
    if shares.is_empty() || shares.len() < windows.len() {
        return Outcome::void("nothing was read in some windows");
    }
    let share = Interval::of_mean(&shares);
    let evidence = format!(
        "BFQ weights 1:8 under {scheduler}: the light group got {share} of what both read (by \
         weight 0.11)"
    );
    match share.verdict_within(0.3, 0.7) {
        Verdict::Kept => Outcome::kept(evidence),
        _ if share.high < 0.2 => {
            Outcome::broken("a scheduler without weights divided by them").with(evidence)
        }
        _ => Outcome::undecided("the two readers are not equal here").with(evidence),
    }
}

/// Each light group has 11.1 % to expect, the heavy one 44.4 %: what it gets beyond that is seen soonest.
const WEIGHTS: [u64; 6] = [200, 200, 200, 200, 200, 800];
/// 192 requests in all, for which both pools have room: of one of 200 the limit of BFQ leaves the light groups 22 each
/// (`bfq_limit_depth` of block/bfq-iosched.c, since Linux 5.17), and of one of 1024 more than they want.
const DEEP: &str = "block=16384 depth=32";

/// Six groups that keep 32 requests outstanding each, with this number of requests in the pool.
fn deep(fixture: &mut Fixture, requests: &'static str) -> Result<Outcome, Stop> {
    let queue: Vec<(&str, &str)> =
        [("nr_requests", requests)].into_iter().chain(FAIR.iter().copied()).collect();
    let disk = paced(fixture, "bfq", &queue)?;
    let file = fixture.by_version("blkio.bfq.weight", "io.bfq.weight");
    let mut probes = readers(fixture, &disk, file, &WEIGHTS, DEEP)?;
    let pool = format!("32 requests outstanding in each group, {requests} in the pool");
    Ok(decide(fixture, &mut probes, &WEIGHTS, &[0.5])?.with(pool))
}

pub(super) fn small_pool(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    deep(fixture, "200")
}

pub(super) fn large_pool(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    deep(fixture, "1024")
}

#[cfg(test)]
mod tests {
    use super::super::backlog::judge;
    use super::*;
    use crate::windows::of_counts;

    #[test]
    fn weights_of_another_scheduler_that_act_are_broken() {
        assert_eq!(judge_ignored(&of_counts(&[100.0, 110.0]), "none").verdict, Verdict::Kept);
        assert_eq!(judge_ignored(&of_counts(&[100.0, 800.0]), "none").verdict, Verdict::Broken);
        assert_eq!(judge_ignored(&of_counts(&[100.0, 300.0]), "none").verdict, Verdict::Undecided);
        assert_eq!(judge_ignored(&of_counts(&[0.0, 0.0]), "none").verdict, Verdict::Void);
    }

    #[test]
    fn a_pool_that_caps_groups_is_broken() {
        let verdict = |grew: &[f64]| judge(&of_counts(grew), &WEIGHTS, &[0.0; 6]).verdict;
        assert_eq!(verdict(&[200.0, 200.0, 200.0, 200.0, 200.0, 800.0]), Verdict::Kept);
        // Per mille, as measured on Linux 6.12.117 in a guest.
        assert_eq!(verdict(&[48.0, 94.0, 91.0, 97.0, 38.0, 632.0]), Verdict::Broken);
    }
}
