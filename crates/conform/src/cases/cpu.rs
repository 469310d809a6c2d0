//! cpu: weights, quotas, scheduling classes, and the counters of cpu.stat.

pub(super) mod account;
pub(super) mod class;
pub(super) mod quota;
pub(super) mod storm;
pub(super) mod threads;
pub(super) mod weight;

use super::prelude::*;

const CPU: Topic = Topic::new(
    "cpu",
    "Documentation/admin-guide/cgroup-v2.rst, CPU Interface Files",
    &[Need::Controller("cpu")],
);

/// Tolerance of a share, relative to itself.
const MARGIN: f64 = 0.10;

/// Creates a group with a weight.
fn make(fixture: &Fixture, group: &str, weight: u64) -> Result<(), Error> {
    fixture.make(group)?;
    set_weight(fixture, group, weight)
}

/// Sets a weight; on v1 proportional shares (1024 for 100).
fn set_weight(fixture: &Fixture, group: &str, weight: u64) -> Result<(), Error> {
    let shares = weight * 1024 / 100;
    let (file, value) = fixture.by_version(("cpu.shares", shares), ("cpu.weight", weight));
    fixture.write(group, file, &value.to_string())
}

/// Creates groups with these weights and starts a probe in each, all on one CPU.
fn contend(fixture: &Fixture, words: &str, groups: &[(&str, u64)]) -> Result<Vec<Running>, Error> {
    fixture.go_first()?;
    let start = |(group, weight): &(&str, u64)| {
        make(fixture, group, *weight)?;
        fixture.start_bound(group, words)
    };
    groups.iter().map(start).collect()
}

/// CPU time of each probe by its own clock, in nanoseconds.
fn cpu_times(probes: &[Running]) -> Result<Vec<u64>, Error> {
    probes.iter().map(Running::cpu_ns).collect()
}

/// Judges the probes' CPU time in windows.
fn watch(
    fixture: &Fixture,
    probes: &[Running],
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    // The first slices after the start depend on the start order.
    fixture.pause(0.1)?;
    fixture.settle(8, &[0.25, 1.0], || cpu_times(probes), judge)
}

/// The same against these weights.
fn decide(fixture: &Fixture, probes: &[Running], weights: &[f64]) -> Result<Outcome, Stop> {
    watch(fixture, probes, |windows| judge(windows, weights))
}

/// Compares shares of CPU time with weights. Void if other work left the groups so little of the
/// CPU that single time slices would be judged instead of weights.
fn judge(windows: &[Window], weights: &[f64]) -> Outcome {
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
    Outcome::decided(verdict, evidence, &off, "the shares vary too much between windows")
}

/// The windows of all groups but the first.
fn without_first(windows: &[Window]) -> Vec<Window> {
    let others = |window: &Window| Window { grew: window.grew[1..].to_vec(), ..window.clone() };
    windows.iter().map(others).collect()
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
        let idle = crate::windows::of_cpus(&[0.01, 0.02]);
        assert_eq!(judge(&idle, &[1.0, 2.0]).verdict, Verdict::Void);
    }
}
