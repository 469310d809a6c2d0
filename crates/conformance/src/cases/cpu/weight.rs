//! Weights divide a saturated CPU, and only a saturated one.

use assay_kernel::Error;

use crate::fixture::Fixture;
use crate::interval::{Interval, against_weights};
use crate::outcome::{Outcome, Stop, Verdict};
use crate::running::Running;
use crate::windows::{Window, mean_busy};

const WEIGHTS: [u64; 4] = [100, 200, 400, 800];
/// Tolerance of a share, relative to itself.
pub(super) const MARGIN: f64 = 0.10;

/// Creates a group with a weight; on v1 with proportional shares (1024 for 100).
pub(super) fn make(fixture: &Fixture, name: &str, weight: u64) -> Result<(), Error> {
    fixture.make(name)?;
    let shares = weight * 1024 / 100;
    let (file, value) = fixture.by_version(("cpu.shares", shares), ("cpu.weight", weight));
    fixture.write(name, file, &value.to_string())
}

pub(super) fn divide(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    let mut probes = Vec::new();
    for weight in WEIGHTS {
        let name = format!("w{weight}");
        make(fixture, &name, weight)?;
        probes.push(fixture.start(&name, &format!("spin cpu={}", fixture.cpu()))?);
    }
    decide(fixture, &probes, &WEIGHTS.map(|weight| weight as f64))
}

/// Reads windows until the shares of the probes' CPU time are decided against these weights.
pub(super) fn decide(
    fixture: &Fixture,
    probes: &[Running],
    weights: &[f64],
) -> Result<Outcome, Stop> {
    // The first slices after the start depend on the start order.
    fixture.pause(0.1)?;
    fixture.settle(8, &[0.25, 1.0], || cpu_times(probes), |windows| judge(windows, weights))
}

/// CPU time of each probe by its own clock, in nanoseconds.
pub(super) fn cpu_times(probes: &[Running]) -> Result<Vec<u64>, Error> {
    probes.iter().map(Running::cpu_ns).collect()
}

/// Compares shares of CPU time with weights. Void if other work left the groups so little of the
/// CPU that single time slices would be judged instead of weights.
pub(super) fn judge(windows: &[Window], weights: &[f64]) -> Outcome {
    let shares: Vec<Vec<f64>> = windows.iter().filter_map(Window::shares).collect();
    let busy = mean_busy(windows);
    if shares.len() < windows.len() || busy < 0.3 {
        return Outcome::void(format!("the groups got only {:.0} % of the CPU", busy * 100.0));
    }
    let (mut measured, mut due, mut error) = (Vec::new(), Vec::new(), 0.0_f64);
    let (verdict, ratios) = against_weights(&shares, weights, MARGIN, Interval::of_median);
    for (expected, ratio) in ratios {
        error = error.max((ratio.low - 1.0).abs()).max((ratio.high - 1.0).abs());
        measured.push(format!("{:.1}", 100.0 * ratio.mean * expected));
        due.push(format!("{:.1}", 100.0 * expected));
    }
    let evidence = format!(
        "shares {} %, by weight {} %; off by at most {:.0} % of a share; {} windows, {:.0} % of the \
         CPU used by the groups",
        measured.join(" "),
        due.join(" "),
        error * 100.0,
        windows.len(),
        busy * 100.0
    );
    let off = format!("a share is off by more than {:.0} % of itself", MARGIN * 100.0);
    match verdict {
        Verdict::Kept => Outcome::kept(evidence),
        Verdict::Broken => Outcome::broken(off).with(evidence),
        _ => Outcome::undecided("the shares vary too much between windows").with(evidence),
    }
}

/// Two groups of weights 1:8 that use 20 % of the CPU each.
pub(super) fn below_capacity(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    let mut probes = Vec::new();
    for weight in [100, 800] {
        let name = format!("w{weight}");
        make(fixture, &name, weight)?;
        probes.push(fixture.start(&name, &format!("spin duty=20 cpu={}", fixture.cpu()))?);
    }
    fixture.pause(0.1)?;
    fixture.settle(8, &[0.2, 1.0], || cpu_times(&probes), judge_room)
}

/// The light group's time relative to the heavy one's, which weights would make 1:8. A probe that
/// has to wait works less in its period, so the margin is wide.
fn judge_room(windows: &[Window]) -> Outcome {
    let ratios: Vec<f64> =
        windows.iter().filter(|w| w.grew[1] > 0.0).map(|w| w.grew[0] / w.grew[1]).collect();
    let ratio = Interval::of_median(&ratios);
    let busy = mean_busy(windows);
    let evidence = format!(
        "weights 1:8, both want 20 %: the light one got {ratio} times what the heavy one got, \
         together {:.0} % of the CPU",
        busy * 100.0
    );
    match ratio.verdict_within(0.6, 1.67) {
        Verdict::Kept => Outcome::kept(evidence),
        // If other work saturates the CPU, weights do apply and nothing is shown.
        _ if busy < 0.3 => Outcome::void("other work kept the CPU busy").with(evidence),
        Verdict::Broken => {
            Outcome::broken("weights took time on a CPU that was partly idle").with(evidence)
        }
        _ => Outcome::undecided("the times vary too much between windows").with(evidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(shares: &[f64], wobble: f64) -> Vec<Window> {
        (0..8)
            .map(|number| {
                let sign = if number % 2 == 0 { wobble } else { -wobble };
                let grew = shares.iter().map(|share| share * (1.0 + sign) * 1e8);
                let mut grew: Vec<f64> = grew.collect();
                grew[0] *= 1.0 + sign;
                Window { seconds: 0.1, grew }
            })
            .collect()
    }

    #[test]
    fn ignored_weights_are_broken() {
        let even = windows(&[0.25; 4], 0.01);
        assert_eq!(judge(&even, &[1.0, 2.0, 4.0, 8.0]).verdict, Verdict::Broken);
        let right = windows(&[1.0 / 15.0, 2.0 / 15.0, 4.0 / 15.0, 8.0 / 15.0], 0.01);
        let kept = judge(&right, &[1.0, 2.0, 4.0, 8.0]);
        assert_eq!(kept.verdict, Verdict::Kept, "{kept:?}");
    }

    #[test]
    fn noise_is_undecided_and_never_broken() {
        let noisy = windows(&[1.0 / 15.0, 2.0 / 15.0, 4.0 / 15.0, 8.0 / 15.0], 0.5);
        assert_eq!(judge(&noisy, &[1.0, 2.0, 4.0, 8.0]).verdict, Verdict::Undecided);
    }

    #[test]
    fn a_cpu_used_by_other_work_is_void() {
        let idle: Vec<Window> =
            (0..8).map(|_| Window { seconds: 1.0, grew: vec![1e7, 2e7] }).collect();
        assert_eq!(judge(&idle, &[1.0, 2.0]).verdict, Verdict::Void);
    }

    #[test]
    fn weights_that_act_on_a_partly_idle_cpu_are_broken() {
        let even: Vec<Window> =
            (0..8).map(|_| Window { seconds: 1.0, grew: vec![2e8, 2e8] }).collect();
        assert_eq!(judge_room(&even).verdict, Verdict::Kept);
        let divided: Vec<Window> =
            (0..8).map(|_| Window { seconds: 1.0, grew: vec![5e7, 4e8] }).collect();
        assert_eq!(judge_room(&divided).verdict, Verdict::Broken);
        let full: Vec<Window> =
            (0..8).map(|_| Window { seconds: 1.0, grew: vec![1e7, 8e7] }).collect();
        assert_eq!(judge_room(&full).verdict, Verdict::Void);
    }
}
