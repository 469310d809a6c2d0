//! Weights: BFQ's own, and iocost's.

use assay_kernel::Error;
use assay_kernel::clock::{self, process_wait_ns};

use super::disk::{Disk, count, go, reader, scheduled};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Verdict};
use crate::running::Running;
use crate::windows::Window;

const WEIGHTS: [u64; 3] = [100, 200, 400];
/// By how much of itself a share may be off.
const MARGIN: f64 = 0.15;
const MOST_WINDOWS: usize = 24;
/// Large blocks, so that the disk is the bottleneck and not the CPU, and more of them under way
/// than BFQ serves in one turn.
const BACKLOG: &str = "block=524288 depth=8";
/// A reader that waits longer than this part of the time for a CPU is not always at the disk.
const MOST_WAITING: f64 = 0.05;
/// With fewer blocks in a window, single turns of the scheduler would be judged.
const LEAST_BLOCKS: f64 = 60.0;

/// Groups with these weights in the file that the scheduler obeys, and a reader in each.
fn readers(
    ground: &Fixture,
    disk: &Disk,
    file: &str,
    weights: &[u64],
    words: &str,
) -> Result<Vec<Running>, Error> {
    let mut probes = Vec::new();
    for weight in weights {
        let name = format!("w{weight}");
        ground.make(&name)?;
        ground.write(&name, file, &weight.to_string())?;
        probes.push(reader(ground, &name, disk, words)?);
    }
    for probe in &mut probes {
        go(probe)?;
    }
    Ok(probes)
}

/// Without low_latency, which raises new queues above their weights (bfq-iosched.rst, 3), and with
/// turns of 512 sectors, so that the lightest group has many of them in a window.
const FAIR: &[(&str, &str)] = &[("iosched/low_latency", "0"), ("iosched/max_budget", "512")];

pub(super) fn bfq(ground: &mut Fixture) -> Result<Outcome, Error> {
    let disk = match scheduled(ground, "bfq", FAIR)? {
        Ok(disk) => disk,
        Err(why) => return Ok(Outcome::not_available(why)),
    };
    let file = ground.by_version("blkio.bfq.weight", "io.bfq.weight");
    let mut probes = readers(ground, &disk, file, &WEIGHTS, BACKLOG)?;
    decide(ground, &mut probes)
}

/// iocost with a model that sells 400 blocks a second, whatever the disk could do.
pub(super) fn iocost(ground: &mut Fixture) -> Result<Outcome, Error> {
    let disk = match scheduled(ground, "none", &[])? {
        Ok(disk) => disk,
        Err(why) => return Ok(Outcome::not_available(why)),
    };
    let Some(mount) = ground.tree().mount("io").map(std::path::Path::to_owned) else {
        return Ok(Outcome::not_available("no hierarchy serves io"));
    };
    let root = ground.root().clone();
    let qos = format!("{} enable=1 ctrl=user min=100.00 max=100.00", disk.numbers);
    let off = format!("{} enable=0", disk.numbers);
    ground.ledger().write_with_inverse(&root, &mount.join("io.cost.qos"), &qos, &off)?;
    // The model goes with the device.
    let model = format!(
        "{} ctrl=user model=linear rbps=104857600 rseqiops=400 rrandiops=400 wbps=104857600 \
         wseqiops=400 wrandiops=400",
        disk.numbers
    );
    let auto = format!("{} ctrl=auto", disk.numbers);
    ground.ledger().write_with_inverse(&root, &mount.join("io.cost.model"), &model, &auto)?;
    let mut probes = readers(ground, &disk, "io.weight", &WEIGHTS, BACKLOG)?;
    decide(ground, &mut probes)
}

fn decide(ground: &Fixture, probes: &mut [Running]) -> Result<Outcome, Error> {
    ground.pause(0.5)?;
    let mut windows = Vec::new();
    let (began, before) = (clock::monotonic_ns(), waited(ground, probes));
    loop {
        windows.extend(ground.windows(6, 0.4, || probes.iter_mut().map(count).collect())?);
        let time = clock::monotonic_ns().saturating_sub(began) as f64;
        let waiting = waited(ground, probes).saturating_sub(before) as f64 / time;
        let outcome = judge(&windows, &WEIGHTS, waiting);
        if outcome.verdict != Verdict::Undecided || windows.len() >= MOST_WINDOWS {
            return Ok(outcome);
        }
    }
}

/// How long the readers together have waited for a CPU, in nanoseconds.
fn waited(ground: &Fixture, probes: &[Running]) -> u64 {
    probes.iter().filter_map(|probe| process_wait_ns(ground.root(), probe.pid())).sum()
}

/// Shares of blocks against weights. Where a reader waited for a CPU its group was not always at
/// the disk, so that only a share as it should be says anything.
fn judge(windows: &[Window], weights: &[u64], waiting: f64) -> Outcome {
    let shares: Vec<Vec<f64>> = windows.iter().filter_map(Window::shares).collect();
    let all: f64 = windows.iter().flat_map(|window| &window.grew).sum();
    let each = all / windows.len().max(1) as f64;
    if shares.len() < windows.len() || each < LEAST_BLOCKS {
        return Outcome::void(format!("the disk gave only {each:.0} blocks in a window"));
    }
    let sum = weights.iter().sum::<u64>() as f64;
    let mut verdict = Verdict::Kept;
    let mut seen = Vec::new();
    for (index, weight) in weights.iter().enumerate() {
        let expected = *weight as f64 / sum;
        let parts: Vec<f64> = shares.iter().map(|window| window[index] / expected).collect();
        let part = Interval::of(&parts);
        match (part.against(1.0 - MARGIN, 1.0 + MARGIN), verdict) {
            (Verdict::Broken, _) => verdict = Verdict::Broken,
            (Verdict::Undecided, Verdict::Kept) => verdict = Verdict::Undecided,
            _ => {}
        }
        seen.push(format!("{:.1} % ({part} of its due)", 100.0 * part.mean * expected));
    }
    let seconds: f64 = windows.iter().map(|window| window.seconds).sum();
    let seen = format!(
        "shares {} of {:.0} blocks a second, {} windows; readers waited for a CPU {:.1} % of the \
         time",
        seen.join(", "),
        all / seconds,
        windows.len(),
        waiting * 100.0
    );
    match verdict {
        Verdict::Kept => Outcome::kept(seen),
        Verdict::Broken if waiting > MOST_WAITING => {
            Outcome::void("the readers had to wait for a CPU too often").with(seen)
        }
        Verdict::Broken => Outcome::broken(format!(
            "a share is off by more than {:.0} % of itself",
            MARGIN * 100.0
        ))
        .with(seen),
        _ => Outcome::undecided("the shares vary too much between windows").with(seen),
    }
}

/// Two groups of weights 1:8 that want 30 blocks a second each.
pub(super) fn bfq_room(ground: &mut Fixture) -> Result<Outcome, Error> {
    let disk = match scheduled(ground, "bfq", FAIR)? {
        Ok(disk) => disk,
        Err(why) => return Ok(Outcome::not_available(why)),
    };
    let file = ground.by_version("blkio.bfq.weight", "io.bfq.weight");
    let words = "block=4096 pace=30";
    let mut probes = readers(ground, &disk, file, &[100, 800], words)?;
    ground.pause(0.3)?;
    let windows = ground.windows(6, 0.5, || probes.iter_mut().map(count).collect())?;
    Ok(judge_room(&windows))
}

fn judge_room(windows: &[Window]) -> Outcome {
    let rates: Vec<f64> = windows.iter().map(|window| window.grew[0] / window.seconds).collect();
    let ratios: Vec<f64> =
        windows.iter().filter(|w| w.grew[1] > 0.0).map(|w| w.grew[0] / w.grew[1]).collect();
    let (rate, ratio) = (Interval::of(&rates), Interval::of(&ratios));
    let seen = format!(
        "weights 1:8, both want 30 blocks a second: the light one got {rate:.1}, {ratio} times \
         what the heavy one got"
    );
    match ratio.against(0.75, 1.33) {
        Verdict::Kept => Outcome::kept(seen),
        // Where neither gets what it wants the disk has no room.
        _ if rate.mean < 20.0 && ratio.mean > 0.3 => {
            Outcome::void("others kept the disk busy").with(seen)
        }
        Verdict::Broken => Outcome::broken("weights took from a disk with room").with(seen),
        _ => Outcome::undecided("what they got varies too much").with(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(grew: &[f64]) -> Vec<Window> {
        (0..6).map(|_| Window { seconds: 0.5, grew: grew.to_vec() }).collect()
    }

    #[test]
    fn a_scheduler_that_ignores_weights_is_broken() {
        assert_eq!(judge(&windows(&[100.0, 200.0, 400.0]), &WEIGHTS, 0.0).verdict, Verdict::Kept);
        assert_eq!(judge(&windows(&[230.0, 235.0, 235.0]), &WEIGHTS, 0.0).verdict, Verdict::Broken);
        let starved = judge(&windows(&[230.0, 235.0, 235.0]), &WEIGHTS, 0.3);
        assert_eq!(starved.verdict, Verdict::Void);
        assert_eq!(judge(&windows(&[1.0, 2.0, 4.0]), &WEIGHTS, 0.0).verdict, Verdict::Void);
    }

    #[test]
    fn weights_that_act_on_a_disk_with_room_are_broken() {
        assert_eq!(judge_room(&windows(&[15.0, 15.0])).verdict, Verdict::Kept);
        assert_eq!(judge_room(&windows(&[2.0, 15.0])).verdict, Verdict::Broken);
        assert_eq!(judge_room(&windows(&[3.0, 5.0])).verdict, Verdict::Void);
    }
}
