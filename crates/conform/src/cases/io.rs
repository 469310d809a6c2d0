//! io (blkio on v1): caps, weights, classes and counters, on a disk created for the case.

pub(super) mod cap;
pub(super) mod cost;
pub(super) mod stat;
pub(super) mod weight;

use std::path::Path;

use assay_sys::kernel::block::{DeviceNumber, numbers};
use assay_sys::kernel::clock::{self, process_cpu_ns, process_wait_ns};
use assay_sys::units::Bytes;

use super::prelude::*;

/// What the cases have in common, which create a loop disk; each names a file of its own.
const IO: Topic = Topic::new(
    "io",
    "Documentation/admin-guide/cgroup-v2.rst, IO Interface Files",
    &[
        Need::Controller("io"),
        Need::Root,
        Need::Loop,
        Need::FileBy("blkio.throttle.read_bps_device", "io.max"),
    ],
);
const COST: Topic =
    IO.needing(&[Need::OnV2("io"), Need::Root, Need::Loop, Need::File("io.weight")]);

/// Large enough that random blocks are rarely adjacent.
const SIZE: u64 = 64 << 20;

/// A disk of a case.
#[derive(Debug, Clone)]
struct Disk {
    node: String,
    /// `MAJOR:MINOR`, as used in interface files.
    numbers: DeviceNumber,
}

impl Disk {
    fn at(node: &Path) -> Result<Self, Error> {
        Ok(Self { node: node.display().to_string(), numbers: numbers(node)? })
    }
}

/// A disk whose content and speed do not matter.
fn blank(fixture: &mut Fixture) -> Result<Disk, Error> {
    Disk::at(&fixture.blank_disk(SIZE)?.node)
}

/// A disk under this scheduler, which may not be available. It has a rate of its own where the kernel has
/// null_blk, so that readers wait for the disk and not for the CPU that moves their data; else it is a loop disk
/// full of data.
fn paced(fixture: &mut Fixture, scheduler: &str, queue: &[(&str, &str)]) -> Result<Disk, Stop> {
    let size = Bytes::new(SIZE);
    let made = match fixture.facts.null_blk.reason() {
        Some(why) if fixture.facts.is_emulated() => {
            let lacks = format!("an emulated CPU is slower than a loop disk, and {why}");
            return Err(Stop::not_available(lacks));
        }
        Some(_) => fixture.loop_disk(size, scheduler, queue),
        None => {
            // What a scheduler of a loop disk has; that of a null_blk of this depth would begin with 8.
            let pool = Some(("nr_requests", "256")).filter(|_| scheduler != "none");
            let queue: Vec<_> = pool.into_iter().chain(queue.iter().copied()).collect();
            fixture.null_disk(size, scheduler, &queue)
        }
    };
    match made {
        Ok(disk) => Ok(Disk::at(&disk.device_path)?),
        Err(error) if error.value.as_deref() == Some(scheduler) => {
            Err(Stop::not_available(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Starts a probe that will read this disk. It reads nothing yet.
fn reader(fixture: &Fixture, group: &str, disk: &Disk, words: &str) -> Result<Running, Error> {
    fixture.start(group, &format!("io file={} size={SIZE} {words}", disk.node))
}

/// Starts continuous reading by all of them.
fn start_reading(probes: &mut [Running]) -> Result<(), Error> {
    probes.iter_mut().try_for_each(|probe| probe.ask("go").map(|_| ()))
}

/// Number of blocks read since then.
fn count(probe: &mut Running) -> Result<u64, Error> {
    probe.send("count");
    probe.value("count ")
}

/// Tolerance of a share, relative to itself.
const MARGIN: f64 = 0.15;

/// With fewer blocks per window, single time slices of the scheduler would be judged.
const LEAST_BLOCKS: f64 = 60.0;

/// Creates groups with these weights in the scheduler's weight file, and a reader in each.
fn readers(
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
    start_reading(&mut probes)?;
    Ok(probes)
}

/// Judges what readers of these weights get; `lengths` are those of the windows, in seconds.
fn decide(
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
fn watch(
    fixture: &Fixture,
    probes: &mut [Running],
    lengths: &[f64],
    judge: impl Fn(&[Window], &[f64]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.pause(0.5)?;
    let pids: Vec<u32> = probes.iter().map(Running::pid).collect();
    if pids.iter().any(|pid| process_wait_ns(fixture.root, *pid).is_none()) {
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
        let waited = process_wait_ns(fixture.root, *pid).unwrap_or(0);
        waited + process_cpu_ns(*pid).unwrap_or(0)
    };
    pids.iter().map(of).collect()
}

/// Compares shares of blocks with weights. `away` has for each reader the part of the time in which it may
/// have wanted less than it could: what that explains is not the scheduler's doing.
fn judge(windows: &[Window], weights: &[u64], away: &[f64]) -> Outcome {
    let shares: Vec<Vec<f64>> = windows.iter().filter_map(Window::shares).collect();
    let all: f64 = windows.iter().flat_map(|window| &window.grew).sum();
    let each = all / windows.len().max(1) as f64;
    if shares.len() < windows.len() || each < LEAST_BLOCKS {
        return Outcome::void(format!("the disk gave only {each:.0} blocks per window"));
    }
    let weights: Vec<f64> = weights.iter().map(|weight| *weight as f64).collect();
    let (verdict, parts) = against_weights(&shares, &weights, MARGIN, Interval::of_mean);
    let evidence = evidence(windows, &parts, away);
    let is_off = verdict == Verdict::Broken;
    let verdict = match is_off && !is_beyond(&parts, away) {
        true => Verdict::Undecided,
        false => verdict,
    };
    let is_explained = is_off && verdict != Verdict::Broken && !is_beyond(&means(&parts), away);
    let off = format!("a share is off by more than {:.0} % of itself", MARGIN * 100.0);
    Outcome::decided(verdict, evidence, &off, "the shares vary too much between windows")
        .void_if(is_explained, "the readers ran or waited for a CPU too often")
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
