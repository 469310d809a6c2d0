//! Readers that always want more of a disk than it gives, and what weights explain of what they got.

use assay_kernel::Error;
use assay_kernel::clock::{self, process_cpu_ns, process_wait_ns};

use super::disk::{Disk, count, reader, start_reading};
use crate::fixture::Fixture;
use crate::interval::{Interval, against_weights};
use crate::outcome::{Outcome, Stop, Verdict};
use crate::running::Running;
use crate::windows::Window;

/// Tolerance of a share, relative to itself.
const MARGIN: f64 = 0.15;
/// With fewer blocks per window, single time slices of the scheduler would be judged.
const LEAST_BLOCKS: f64 = 60.0;

/// Creates groups with these weights in the scheduler's weight file, and a reader in each.
pub(super) fn readers(
    fixture: &Fixture,
    disk: &Disk,
    file: &str,
    weights: &[u64],
    words: &str,
) -> Result<Vec<Running>, Error> {
    let mut probes = Vec::new();
    for (number, weight) in (1..).zip(weights) {
        let name = format!("g{number}-{weight}");
        fixture.make(&name)?;
        fixture.write(&name, file, &weight.to_string())?;
        probes.push(reader(fixture, &name, disk, words)?);
    }
    for probe in &mut probes {
        start_reading(probe)?;
    }
    Ok(probes)
}

/// Judges what readers of these weights get; `lengths` are those of the windows, in seconds.
pub(super) fn decide(
    fixture: &Fixture,
    probes: &mut [Running],
    weights: &[u64],
    lengths: &[f64],
) -> Result<Outcome, Stop> {
    let judge_weights = |windows: &[Window], away: &[f64]| judge(windows, weights, away);
    watch(fixture, probes, lengths, judge_weights)
}

/// Reads windows of these lengths until they decide. The judge gets the part of the time in which each reader may
/// have wanted less than it could, too.
pub(super) fn watch(
    fixture: &Fixture,
    probes: &mut [Running],
    lengths: &[f64],
    judge: impl Fn(&[Window], &[f64]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.pause(0.5)?;
    let pids: Vec<u32> = probes.iter().map(Running::pid).collect();
    if pids.iter().any(|pid| process_wait_ns(fixture.root(), *pid).is_none()) {
        let lacks = "the kernel does not say how long a thread waits for a CPU (CONFIG_SCHED_INFO)";
        return Err(Stop::not_available(lacks));
    }
    let (began, before) = (clock::monotonic_ns(), awake(fixture, &pids));
    let counts = || probes.iter_mut().map(count).collect();
    fixture.settle(6, lengths, counts, |windows| {
        let time = clock::monotonic_ns().saturating_sub(began).max(1) as f64;
        let part = |(now, before): (u64, &u64)| now.saturating_sub(*before) as f64 / time;
        let away: Vec<f64> = awake(fixture, &pids).into_iter().zip(&before).map(part).collect();
        judge(windows, &away)
    })
}

/// For how long each reader ran or waited for a CPU, in nanoseconds. Only while it sleeps are all of its
/// requests certain to wait for the disk.
fn awake(fixture: &Fixture, pids: &[u32]) -> Vec<u64> {
    let of = |pid: &u32| {
        let waited = process_wait_ns(fixture.root(), *pid).unwrap_or(0);
        waited + process_cpu_ns(*pid).unwrap_or(0)
    };
    pids.iter().map(of).collect()
}

/// Compares shares of blocks with weights. `away` has for each reader the part of the time in which it may
/// have wanted less than it could: what that explains is not the scheduler's doing.
pub(super) fn judge(windows: &[Window], weights: &[u64], away: &[f64]) -> Outcome {
    let shares: Vec<Vec<f64>> = windows.iter().filter_map(Window::shares).collect();
    let all: f64 = windows.iter().flat_map(|window| &window.grew).sum();
    let each = all / windows.len().max(1) as f64;
    if shares.len() < windows.len() || each < LEAST_BLOCKS {
        return Outcome::void(format!("the disk gave only {each:.0} blocks per window"));
    }
    let weights: Vec<f64> = weights.iter().map(|weight| *weight as f64).collect();
    let (verdict, parts) = against_weights(&shares, &weights, MARGIN, Interval::of_mean);
    let evidence = evidence(windows, &parts, away);
    match verdict {
        Verdict::Kept => Outcome::kept(evidence),
        Verdict::Broken if is_beyond(&parts, away) => Outcome::broken(format!(
            "a share is off by more than {:.0} % of itself",
            MARGIN * 100.0
        ))
        .with(evidence),
        Verdict::Broken if !is_beyond(&means(&parts), away) => {
            Outcome::void("the readers ran or waited for a CPU too often").with(evidence)
        }
        _ => Outcome::undecided("the shares vary too much between windows").with(evidence),
    }
}

/// What more windows are likely to show.
fn means(parts: &[(f64, Interval)]) -> Vec<(f64, Interval)> {
    let at = |mean| Interval { low: mean, mean, high: mean };
    parts.iter().map(|(expected, part)| (*expected, at(part.mean))).collect()
}

/// Whether some group got less or more than weights explain if readers are away for these parts of the time.
/// A group that is away for a part of it still deserves its share of the rest. While others are away, it
/// may get no more than what they deserve in addition to its own.
fn is_beyond(parts: &[(f64, Interval)], away: &[f64]) -> bool {
    let left: f64 = parts.iter().zip(away).map(|((expected, _), away)| expected * away).sum();
    parts.iter().zip(away).any(|((expected, part), away)| {
        let least = (1.0 - away).max(0.0);
        let most = 1.0 + (left - expected * away) / expected;
        part.high < least * (1.0 - MARGIN) || part.low > most * (1.0 + MARGIN)
    })
}

fn evidence(windows: &[Window], parts: &[(f64, Interval)], away: &[f64]) -> String {
    let share = |(expected, part): &(f64, Interval)| {
        format!("{:.1} % ({part} of its expected share)", 100.0 * part.mean * expected)
    };
    let shares: Vec<String> = parts.iter().map(share).collect();
    let blocks: f64 = windows.iter().flat_map(|window| &window.grew).sum();
    let seconds: f64 = windows.iter().map(|window| window.seconds).sum();
    format!(
        "shares {} of {:.0} blocks a second, {} windows; readers ran or waited for a CPU {:.1} % of the \
         time, the most of them {:.1} %",
        shares.join(", "),
        blocks / seconds,
        windows.len(),
        100.0 * away.iter().sum::<f64>() / away.len().max(1) as f64,
        100.0 * away.iter().copied().fold(0.0, f64::max),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::of_counts;

    const WEIGHTS: [u64; 3] = [100, 200, 400];

    fn verdict(grew: [f64; 3], away: f64) -> Verdict {
        judge(&of_counts(&grew), &WEIGHTS, &[away; 3]).verdict
    }

    #[test]
    fn ignored_weights_are_broken() {
        assert_eq!(verdict([100.0, 200.0, 400.0], 0.0), Verdict::Kept);
        assert_eq!(verdict([230.0, 235.0, 235.0], 0.0), Verdict::Broken);
        assert_eq!(verdict([1.0, 2.0, 4.0], 0.0), Verdict::Void);
    }

    #[test]
    fn what_readers_that_are_away_explain_is_void() {
        // The heaviest has 0.59 of its share: away for a tenth of the time explains 0.9 of it, for half of it 0.5.
        assert_eq!(verdict([230.0, 235.0, 235.0], 0.1), Verdict::Broken);
        assert_eq!(verdict([230.0, 235.0, 235.0], 0.5), Verdict::Void);
        // The lightest has 1.3 times its share, which others' absence explains.
        assert_eq!(verdict([130.0, 195.0, 375.0], 0.02), Verdict::Broken);
        assert_eq!(verdict([130.0, 195.0, 375.0], 0.1), Verdict::Void);
    }

    #[test]
    fn more_windows_are_read_where_they_may_decide() {
        // The lightest has 1.4 or 2.6 times its share, of which the absence of others explains 1.7.
        let windows =
            [of_counts(&[140.0, 193.0, 367.0]), of_counts(&[260.0, 150.0, 290.0])].concat();
        assert_eq!(judge(&windows, &WEIGHTS, &[0.1; 3]).verdict, Verdict::Undecided);
    }
}
