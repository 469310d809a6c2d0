//! Weights of BFQ and of iocost.

use assay_kernel::Error;
use assay_kernel::clock::{self, process_wait_ns};

use super::cost;
use super::disk::{Disk, count, reader, scheduled, start_reading};
use crate::fixture::Fixture;
use crate::interval::{Interval, against_weights};
use crate::outcome::{Outcome, Stop, Verdict};
use crate::running::Running;
use crate::windows::Window;

const WEIGHTS: [u64; 3] = [100, 200, 400];
/// Tolerance of a share, relative to itself.
const MARGIN: f64 = 0.15;
/// Large blocks, so that the disk and not the CPU is the bottleneck, and more of them in flight
/// than BFQ serves in one time slice.
pub(super) const BACKLOG: &str = "block=524288 depth=8";
/// A reader that waits for a CPU longer than this fraction of the time is not always backlogged.
const MOST_WAITING: f64 = 0.05;
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

/// Without low_latency, which raises new queues above their weights (bfq-iosched.rst, 3), and with
/// slices of 512 sectors, so that the lightest group gets many per window.
pub(super) const FAIR: &[(&str, &str)] =
    &[("iosched/low_latency", "0"), ("iosched/max_budget", "512")];

pub(super) fn bfq(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let disk = scheduled(fixture, "bfq", FAIR)?;
    let file = fixture.by_version("blkio.bfq.weight", "io.bfq.weight");
    let mut probes = readers(fixture, &disk, file, &WEIGHTS, BACKLOG)?;
    decide(fixture, &mut probes, 0.4)
}

/// iocost with a model of 134 blocks per second, regardless of the disk's real speed: a block of 128 pages
/// takes 5 ms by bytes and 2.5 ms by itself. On a slow machine the model is slower, too, so that it is what
/// limits and not the CPU.
pub(super) fn iocost(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let disk = scheduled(fixture, "none", &[])?;
    let slower = |rate: f64| (rate / fixture.patience).round();
    let (bytes, requests) = (slower(104_857_600.0), slower(400.0));
    let model = format!(
        "rbps={bytes} rseqiops={requests} rrandiops={requests} wbps={bytes} wseqiops={requests} \
         wrandiops={requests}"
    );
    cost::configure(fixture, &disk, true, &model)?;
    let mut probes = readers(fixture, &disk, "io.weight", &WEIGHTS, BACKLOG)?;
    decide(fixture, &mut probes, 0.8)
}

fn decide(fixture: &Fixture, probes: &mut [Running], seconds: f64) -> Result<Outcome, Stop> {
    fixture.pause(0.5)?;
    let pids: Vec<u32> = probes.iter().map(Running::pid).collect();
    let (began, before) = (clock::monotonic_ns(), waited(fixture, &pids));
    let counts = || probes.iter_mut().map(count).collect();
    fixture.settle(6, &[seconds], counts, |windows| {
        let time = clock::monotonic_ns().saturating_sub(began) as f64;
        let waiting = waited(fixture, &pids).saturating_sub(before) as f64 / time;
        judge(windows, &WEIGHTS, waiting)
    })
}

/// Total time that the readers waited for a CPU, in nanoseconds.
pub(super) fn waited(fixture: &Fixture, pids: &[u32]) -> u64 {
    pids.iter().filter_map(|pid| process_wait_ns(fixture.root(), *pid)).sum()
}

/// Compares shares of blocks with weights. If a reader waited for a CPU, its group was not always
/// backlogged, so only a correct share is conclusive.
pub(super) fn judge(windows: &[Window], weights: &[u64], waiting: f64) -> Outcome {
    let shares: Vec<Vec<f64>> = windows.iter().filter_map(Window::shares).collect();
    let all: f64 = windows.iter().flat_map(|window| &window.grew).sum();
    let each = all / windows.len().max(1) as f64;
    if shares.len() < windows.len() || each < LEAST_BLOCKS {
        return Outcome::void(format!("the disk gave only {each:.0} blocks per window"));
    }
    let weights: Vec<f64> = weights.iter().map(|weight| *weight as f64).collect();
    let (verdict, parts) = against_weights(&shares, &weights, MARGIN, Interval::of_mean);
    let shown: Vec<String> = parts
        .into_iter()
        .map(|(expected, part)| {
            format!("{:.1} % ({part} of its expected share)", 100.0 * part.mean * expected)
        })
        .collect();
    let seconds: f64 = windows.iter().map(|window| window.seconds).sum();
    let evidence = format!(
        "shares {} of {:.0} blocks a second, {} windows; readers waited for a CPU {:.1} % of the \
         time",
        shown.join(", "),
        all / seconds,
        windows.len(),
        waiting * 100.0
    );
    match verdict {
        Verdict::Kept => Outcome::kept(evidence),
        Verdict::Broken if waiting > MOST_WAITING => {
            Outcome::void("the readers waited for a CPU too often").with(evidence)
        }
        Verdict::Broken => Outcome::broken(format!(
            "a share is off by more than {:.0} % of itself",
            MARGIN * 100.0
        ))
        .with(evidence),
        _ => Outcome::undecided("the shares vary too much between windows").with(evidence),
    }
}

/// Two groups of weights 1:8 that read 30 blocks per second each.
pub(super) fn bfq_room(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let disk = scheduled(fixture, "bfq", FAIR)?;
    let file = fixture.by_version("blkio.bfq.weight", "io.bfq.weight");
    let words = "block=4096 pace=30";
    let mut probes = readers(fixture, &disk, file, &[100, 800], words)?;
    fixture.pause(0.3)?;
    let windows = fixture.windows(6, 0.5, || probes.iter_mut().map(count).collect())?;
    Ok(judge_room(&windows))
}

fn judge_room(windows: &[Window]) -> Outcome {
    let rates: Vec<f64> = windows.iter().map(|window| window.grew[0] / window.seconds).collect();
    let ratios: Vec<f64> =
        windows.iter().filter(|w| w.grew[1] > 0.0).map(|w| w.grew[0] / w.grew[1]).collect();
    let (rate, ratio) = (Interval::of_mean(&rates), Interval::of_mean(&ratios));
    let evidence = format!(
        "weights 1:8, both want 30 blocks a second: the light one got {rate:.1}, {ratio} times \
         what the heavy one got"
    );
    match ratio.verdict_within(0.75, 1.33) {
        Verdict::Kept => Outcome::kept(evidence),
        // If neither gets its rate, the disk is saturated.
        _ if rate.mean < 20.0 && ratio.mean > 0.3 => {
            Outcome::void("other work kept the disk busy").with(evidence)
        }
        Verdict::Broken => {
            Outcome::broken("weights took from a disk that was partly idle").with(evidence)
        }
        _ => Outcome::undecided("their rates vary too much").with(evidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(grew: &[f64]) -> Vec<Window> {
        (0..6).map(|_| Window { seconds: 0.5, grew: grew.to_vec() }).collect()
    }

    #[test]
    fn ignored_weights_are_broken() {
        assert_eq!(judge(&windows(&[100.0, 200.0, 400.0]), &WEIGHTS, 0.0).verdict, Verdict::Kept);
        assert_eq!(judge(&windows(&[230.0, 235.0, 235.0]), &WEIGHTS, 0.0).verdict, Verdict::Broken);
        let starved = judge(&windows(&[230.0, 235.0, 235.0]), &WEIGHTS, 0.3);
        assert_eq!(starved.verdict, Verdict::Void);
        assert_eq!(judge(&windows(&[1.0, 2.0, 4.0]), &WEIGHTS, 0.0).verdict, Verdict::Void);
    }

    #[test]
    fn weights_that_act_on_a_partly_idle_disk_are_broken() {
        assert_eq!(judge_room(&windows(&[15.0, 15.0])).verdict, Verdict::Kept);
        assert_eq!(judge_room(&windows(&[2.0, 15.0])).verdict, Verdict::Broken);
        assert_eq!(judge_room(&windows(&[3.0, 5.0])).verdict, Verdict::Void);
    }
}
