//! Quotas beside weights, and quotas of threads that are bound to CPUs.

use assay_kernel::Error;

use super::quota::{counted_use_of, judge_cap, set, throttled};
use super::weight::{cpu_times, judge, make};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop};
use crate::windows::{Window, mean_busy};

/// Weights 1:3 on one CPU; the heavy group has this quota, in microseconds per period.
fn weights_and_quota(
    fixture: &Fixture,
    quota: u64,
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    make(fixture, "light", 100)?;
    make(fixture, "heavy", 300)?;
    set(fixture, "heavy", quota)?;
    let words = format!("spin cpu={}", fixture.cpu());
    let probes = [fixture.start("light", &words)?, fixture.start("heavy", &words)?];
    fixture.pause(0.2)?;
    fixture.settle(8, &[0.3, 1.2], || cpu_times(&probes), judge)
}

/// The heavy group may use 0.3 CPUs, and by weight it would get 0.75.
pub(super) fn binds(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    weights_and_quota(fixture, 30_000, judge_rest)
}

/// The heavy group may use 0.9 CPUs, and by weight it gets 0.75.
pub(super) fn does_not_bind(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    weights_and_quota(fixture, 90_000, |windows| judge(windows, &[1.0, 3.0]))
}

/// What a quota takes from the heavy group is the light one's.
fn judge_rest(windows: &[Window]) -> Outcome {
    let heavy: Vec<Window> = windows
        .iter()
        .map(|window| Window { grew: window.grew[1..].to_vec(), ..window.clone() })
        .collect();
    let light: Vec<f64> = windows.iter().filter_map(|w| Some(w.shares()?[0])).collect();
    let light = Interval::of_median(&light);
    let busy = mean_busy(windows);
    let evidence = format!(
        "weights 1:3, the heavy group may use 0.3 CPUs: the light one got {light} of what both \
         got, {:.0} % of the CPU together",
        busy * 100.0
    );
    let capped = judge_cap(&heavy, 0.3);
    if busy < 0.75 {
        return Outcome::all([
            Outcome::void("other work kept the CPU busy").with(evidence),
            capped,
        ]);
    }
    let rest = Outcome::decided(
        light.verdict_within(0.6, 0.8),
        evidence,
        "the light group did not get what the quota of the heavy one left",
        "its share varies too much between windows",
    );
    Outcome::all([rest, capped])
}

/// Two threads, each bound to a CPU, and half a CPU for both.
pub(super) fn bound_threads(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    fixture.make("a")?;
    set(fixture, "a", 50_000)?;
    let cpus: Vec<u16> = fixture.facts().cpus.allowed.iter().collect();
    let mut probes = Vec::new();
    for cpu in cpus.iter().rev().take(2) {
        probes.push(fixture.start("a", &format!("spin cpu={cpu}"))?);
    }
    counted_use_of(fixture, "a", &probes, 0.5)
}

/// Two threads bound to one CPU, with a quota of one and a half.
pub(super) fn bound_below_quota(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    fixture.make("a")?;
    set(fixture, "a", 150_000)?;
    let probes = [fixture.start("a", &format!("spin threads=2 cpu={}", fixture.cpu()))?];
    fixture.pause(0.2)?;
    let counts = || -> Result<[u64; 2], Error> {
        Ok([throttled(fixture, "a")?.0, fixture.keyed("a", "cpu.stat", "nr_periods")?])
    };
    let before = counts()?;
    let windows = fixture.windows(6, 0.3, || cpu_times(&probes))?;
    let after = counts()?;
    Ok(judge_never(&windows, [0, 1].map(|at| after[at].saturating_sub(before[at]))))
}

/// A kernel that counts a thread for each CPU throttles in every period. A single time may be a timer that came late, on
/// a CPU that a hypervisor had stopped.
fn judge_never(windows: &[Window], [count, periods]: [u64; 2]) -> Outcome {
    let busy = mean_busy(windows);
    let evidence = format!(
        "two threads bound to one CPU, quota 1.5 CPUs: used {busy:.2}, throttled in {count} of \
         {periods} periods"
    );
    if count > 0 {
        let why = "a group that cannot reach its quota was throttled";
        let is_rule = count * 10 > periods;
        return if is_rule { Outcome::broken(why) } else { Outcome::undecided(why) }.with(evidence);
    }
    if busy < 0.3 {
        return Outcome::void("other work kept it from using the CPU").with(evidence);
    }
    Outcome::kept(evidence)
}

/// A group that always uses its quota up, with a burst as large as the quota: it has nothing saved.
pub(super) fn burst_without_savings(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    fixture.make("a")?;
    set(fixture, "a", 20_000)?;
    let file = fixture.by_version("cpu.cfs_burst_us", "cpu.max.burst");
    fixture.write("a", file, "20000")?;
    let probes = [fixture.start("a", &format!("spin cpu={}", fixture.cpu()))?];
    // What it saved before it began is spent in the first period.
    fixture.pause(0.3)?;
    let counters = || cpu_times(&probes);
    fixture.settle(6, &[0.3, 1.2], counters, |windows| judge_cap(windows, 0.2)).map(with_burst)
}

fn with_burst(outcome: Outcome) -> Outcome {
    outcome.with("a burst of 0.2 CPUs, of which a busy group saves nothing")
}

/// An idle group beside one of weight 1: 3 against 10 (`WEIGHT_IDLEPRIO`, and a weight of 1 in
/// 1024ths).
pub(super) fn idle_beside_light(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    idle_beside(fixture, |fixture| make(fixture, "other", 1), judge_idle)
}

/// Two idle groups.
pub(super) fn idle_beside_idle(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let other = |fixture: &Fixture| {
        fixture.make("other")?;
        fixture.write("other", "cpu.idle", "1")
    };
    idle_beside(fixture, other, |windows| judge(windows, &[1.0, 1.0]))
}

fn idle_beside(
    fixture: &Fixture,
    other: impl Fn(&Fixture) -> Result<(), Error>,
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    fixture.make("idle")?;
    fixture.write("idle", "cpu.idle", "1")?;
    other(fixture)?;
    let words = format!("spin cpu={}", fixture.cpu());
    let probes = [fixture.start("idle", &words)?, fixture.start("other", &words)?];
    fixture.pause(0.1)?;
    fixture.settle(8, &[0.25, 1.0], || cpu_times(&probes), judge)
}

/// The idle group must get less than the lightest one that is not idle, which gets most of the CPU.
fn judge_idle(windows: &[Window]) -> Outcome {
    let shares: Vec<f64> = windows.iter().filter_map(|w| Some(w.shares()?[0])).collect();
    let share = Interval::of_median(&shares);
    let busy = mean_busy(windows);
    let evidence = format!(
        "an idle group beside one of weight 1 got {share} of what both got (by weight 3/13 = \
         0.23), {:.0} % of the CPU together",
        busy * 100.0
    );
    if busy < 0.3 {
        return Outcome::void("other work kept the CPU busy").with(evidence);
    }
    // A share is never negative.
    Outcome::decided(
        share.verdict_within(f64::NEG_INFINITY, 0.4),
        evidence,
        "an idle group got as much as one that is not idle",
        "its share varies too much between windows",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;
    use crate::windows::of_cpus as windows;

    #[test]
    fn a_quota_that_is_ignored_or_wasted_is_broken() {
        assert_eq!(judge_rest(&windows(&[0.7, 0.3])).verdict, Verdict::Kept);
        assert_eq!(judge_rest(&windows(&[0.25, 0.75])).verdict, Verdict::Broken);
        assert_eq!(judge_rest(&windows(&[0.2, 0.3])).verdict, Verdict::Void);
        // A quota that acts although the group is below it.
        assert_eq!(judge(&windows(&[0.5, 0.5]), &[1.0, 3.0]).verdict, Verdict::Broken);
    }

    #[test]
    fn a_quota_for_each_cpu_instead_of_for_all_is_broken() {
        assert_eq!(judge_cap(&windows(&[0.25, 0.25]), 0.5).verdict, Verdict::Kept);
        assert_eq!(judge_cap(&windows(&[0.5, 0.5]), 0.5).verdict, Verdict::Broken);
        assert_eq!(judge_never(&windows(&[0.99]), [0, 18]).verdict, Verdict::Kept);
        assert_eq!(judge_never(&windows(&[0.99]), [17, 18]).verdict, Verdict::Broken);
        assert_eq!(judge_never(&windows(&[0.99]), [1, 18]).verdict, Verdict::Undecided);
        assert_eq!(judge_never(&windows(&[0.1]), [0, 18]).verdict, Verdict::Void);
    }

    #[test]
    fn a_burst_that_is_granted_in_every_period_is_broken() {
        assert_eq!(with_burst(judge_cap(&windows(&[0.4]), 0.2)).verdict, Verdict::Broken);
    }

    #[test]
    fn an_idle_group_that_is_not_behind_is_broken() {
        assert_eq!(judge_idle(&windows(&[0.23, 0.77])).verdict, Verdict::Kept);
        assert_eq!(judge_idle(&windows(&[0.5, 0.5])).verdict, Verdict::Broken);
        assert_eq!(judge_idle(&windows(&[0.05, 0.05])).verdict, Verdict::Void);
    }
}
