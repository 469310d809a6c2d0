//! Weights of BFQ and of iocost.

use super::backlog::{decide, readers};
use super::cost;
use super::disk::{count, paced};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop, Verdict};
use crate::windows::Window;

const WEIGHTS: [u64; 3] = [100, 200, 400];

/// Large blocks, so that the disk and not the CPU is the bottleneck, and more of them in flight
/// than BFQ serves in one time slice.
pub(super) const BACKLOG: &str = "block=524288 depth=8";

/// Without low_latency, which raises new queues above their weights (bfq-iosched.rst, 3), and with
/// slices of 512 sectors, so that the lightest group gets many per window.
pub(super) const FAIR: &[(&str, &str)] =
    &[("iosched/low_latency", "0"), ("iosched/max_budget", "512")];

pub(super) fn bfq(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let disk = paced(fixture, "bfq", FAIR)?;
    let file = fixture.by_version("blkio.bfq.weight", "io.bfq.weight");
    let mut probes = readers(fixture, &disk, file, &WEIGHTS, BACKLOG)?;
    decide(fixture, &mut probes, &WEIGHTS, &[0.4])
}

/// Small enough to be one request, and few at once, since blocks are counted when iocost lets their thread go on.
const MODELLED: &str = "block=65536 depth=2";

/// iocost with a model of 320 blocks per second, regardless of the disk's real speed: a block of 16 pages
/// takes 0.6 ms by bytes and 2.5 ms by itself. On a slow machine the model is slower, too, so that it is what
/// limits and not the CPU.
pub(super) fn iocost(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let disk = paced(fixture, "none", &[])?;
    let slower = |rate: f64| (rate / fixture.patience).round();
    let (bytes, requests) = (slower(104_857_600.0), slower(400.0));
    let model = format!(
        "rbps={bytes} rseqiops={requests} rrandiops={requests} wbps={bytes} wseqiops={requests} \
         wrandiops={requests}"
    );
    cost::configure(fixture, &disk, true, &model)?;
    let mut probes = readers(fixture, &disk, "io.weight", &WEIGHTS, MODELLED)?;
    decide(fixture, &mut probes, &WEIGHTS, &[0.8])
}

/// Two groups of weights 1:8 that read 30 blocks per second each.
pub(super) fn bfq_room(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let disk = paced(fixture, "bfq", FAIR)?;
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
    use crate::windows::of_counts;

    #[test]
    fn weights_that_act_on_a_partly_idle_disk_are_broken() {
        assert_eq!(judge_room(&of_counts(&[15.0, 15.0])).verdict, Verdict::Kept);
        assert_eq!(judge_room(&of_counts(&[2.0, 15.0])).verdict, Verdict::Broken);
        assert_eq!(judge_room(&of_counts(&[3.0, 5.0])).verdict, Verdict::Void);
    }
}
