//! CPU quotas: a group is capped per period, and not throttled below its quota.

use std::cell::Cell;
use std::time::Instant;

use assay_kernel::Error;
use rustix::io::Errno;

use super::weight::cpu_times;
use crate::errno_name::{errno_of, errno_text};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop, Verdict};
use crate::running::Running;
use crate::windows::{Window, mean_busy};

/// Microseconds; the kernel's default.
const PERIOD: u64 = 100_000;
/// Allowed overshoot relative to the quota: the kernel hands out time in slices of 5 ms
/// (sched_cfs_bandwidth_slice_us), and a slice may be used after the period in which it was taken.
const SLACK: f64 = 0.15;

/// Sets a quota in microseconds per period of 100 ms.
pub(super) fn set(fixture: &Fixture, group: &str, quota: u64) -> Result<(), Error> {
    if fixture.is_v2() {
        return fixture.write(group, "cpu.max", &format!("{quota} {PERIOD}"));
    }
    fixture.write(group, "cpu.cfs_period_us", &PERIOD.to_string())?;
    fixture.write(group, "cpu.cfs_quota_us", &quota.to_string())
}

/// How often the group was throttled, and for how many seconds.
pub(super) fn throttled(fixture: &Fixture, group: &str) -> Result<(u64, f64), Error> {
    let count = fixture.keyed(group, "cpu.stat", "nr_throttled")?;
    let (key, unit) = fixture.by_version(("throttled_time", 1e9), ("throttled_usec", 1e6));
    Ok((count, fixture.keyed(group, "cpu.stat", key)? as f64 / unit))
}

/// Judges what these probes use of a quota in CPUs, in windows of whole periods.
fn use_of(
    fixture: &Fixture,
    probes: &[Running],
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.pause(0.2)?;
    fixture.settle(6, &[0.3, 1.2], || cpu_times(probes), judge)
}

/// The same of all probes of a group, and whether the group's throttling was counted.
pub(super) fn counted_use_of(
    fixture: &Fixture,
    group: &str,
    probes: &[Running],
    quota: f64,
) -> Result<Outcome, Stop> {
    let used = Cell::new(0.0);
    let capped = use_of(fixture, probes, |windows| {
        used.set(mean_busy(windows));
        judge_cap(windows, quota)
    })?;
    Ok(Outcome::all([capped, judge_count(throttled(fixture, group)?, used.get() / quota)]))
}

fn spin(fixture: &Fixture, group: &str) -> Result<[Running; 1], Error> {
    fixture.go_first()?;
    Ok([fixture.start(group, &format!("spin cpu={}", fixture.cpu()))?])
}

pub(super) fn caps(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    set(fixture, "a", 20_000)?;
    counted_use_of(fixture, "a", &spin(fixture, "a")?, 0.2)
}

/// Compares use with a quota, both in CPUs.
pub(super) fn judge_cap(windows: &[Window], quota: f64) -> Outcome {
    let used: Vec<f64> = windows.iter().map(Window::busy).collect();
    let used = Interval::of_mean(&used);
    let evidence = format!("quota {quota:.2} CPUs, used {used} in {} windows", windows.len());
    match used.verdict_within(0.0, quota * (1.0 + SLACK)) {
        Verdict::Broken => Outcome::broken("it used more than its quota").with(evidence),
        _ if used.mean < quota * 0.6 => {
            Outcome::void("other work kept it from using its quota").with(evidence)
        }
        // The lower end of a use that is never negative means nothing here.
        _ if used.high <= quota * (1.0 + SLACK) => Outcome::kept(evidence),
        _ => Outcome::undecided("its use varies too much between windows").with(evidence),
    }
}

/// A group that used less than its quota, because a group above it has one or others had the CPU, need not have
/// been throttled. `reached` is its use over its quota.
fn judge_count((count, seconds): (u64, f64), reached: f64) -> Outcome {
    let evidence = format!("throttled {count} times, {seconds:.2} s in all");
    if count == 0 && reached < 0.9 {
        return Outcome::void("it never reached its quota").with(evidence);
    }
    Outcome::holds(count > 0 && seconds > 0.0, evidence)
}

pub(super) fn far_above(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.go_first()?;
    set(fixture, "a", 10 * PERIOD)?;
    let probes = [fixture.start("a", &format!("spin cpu={}", fixture.cpu()))?];
    let windows = fixture.windows(6, 0.3, || cpu_times(&probes))?;
    Ok(judge_far_above(&windows, throttled(fixture, "a")?))
}

fn judge_far_above(windows: &[Window], (count, seconds): (u64, f64)) -> Outcome {
    let busy = mean_busy(windows);
    let evidence =
        format!("quota 10 CPUs, used {busy:.2}, throttled {count} times, {seconds:.3} s");
    if count > 0 || seconds > 0.0 {
        return Outcome::broken("a group far below its quota was throttled").with(evidence);
    }
    if busy < 0.3 {
        return Outcome::void("other work kept it from using the CPU").with(evidence);
    }
    Outcome::kept(evidence)
}

/// v1 refuses a child quota above the parent's; v2 accepts it, and the parent's quota applies.
pub(super) fn of_child(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make_parent("a")?;
    fixture.make("a/b")?;
    set(fixture, "a", 20_000)?;
    let answer = errno_of(set(fixture, "a/b", 50_000));
    if !fixture.is_v2() {
        let evidence = format!("parent 0.2 CPUs, child 0.5 CPUs: {}", errno_text(answer));
        return Ok(Outcome::holds(answer == Some(Errno::INVAL), evidence));
    }
    if answer.is_some() {
        return Ok(Outcome::broken(format!("a child's larger quota: {}", errno_text(answer))));
    }
    let capped = use_of(fixture, &spin(fixture, "a/b")?, |windows| judge_cap(windows, 0.2))?;
    Ok(capped.with("the child's own quota is 0.5 CPUs"))
}

/// 36 ms of work every 300 ms, against a quota of 20 ms per 100 ms.
pub(super) fn burst(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let mut counts = Vec::new();
    let mut took = None;
    fixture.go_first()?;
    for (name, burst) in [("plain", 0), ("burst", 20_000)] {
        fixture.make(name)?;
        set(fixture, name, 20_000)?;
        let file = fixture.by_version("cpu.cfs_burst_us", "cpu.max.burst");
        fixture.write(name, file, &burst.to_string())?;
        let words = format!("spin duty=12 turn_ms=300 cpu={}", fixture.cpu());
        let _probe = fixture.start(name, &words)?;
        // Program start may exceed the quota.
        fixture.pause(0.3)?;
        let before = throttled(fixture, name)?.0;
        let grew = || Ok::<_, Error>(throttled(fixture, name)?.0.saturating_sub(before));
        // The plain group runs until it was throttled often enough, the other one as long.
        let began = Instant::now();
        let limit = took.unwrap_or(8.0);
        fixture.wait_for(limit, || Ok(took.is_none() && grew()? >= 5))?;
        took = took.or(Some(began.elapsed().as_secs_f64() / fixture.patience));
        counts.push(grew()?);
    }
    let bursts = fixture.keyed("burst", "cpu.stat", "nr_bursts").ok();
    Ok(judge_burst(counts[0], counts[1], bursts))
}

/// How often a group was throttled without and with a burst, and its number of bursts (counted
/// since Linux 5.16): without that count a burst that does not help may be a busy machine.
fn judge_burst(plain: u64, with_burst: u64, bursts: Option<u64>) -> Outcome {
    let counted = bursts.map_or_else(String::new, |count| format!(", bursts counted: {count}"));
    let evidence = format!(
        "36 ms of work in every 300 ms, quota 20 ms in 100 ms: throttled {plain} times without \
         and {with_burst} times with a burst of 20 ms{counted}"
    );
    if plain < 3 {
        return Outcome::void("the work did not exceed the quota").with(evidence);
    }
    // Bursts counted but throttling unchanged: the work took longer than its CPU time. No burst and
    // less throttling: it was spread over more periods.
    match (with_burst >= plain, bursts) {
        (true, Some(0)) => Outcome::broken("no burst was counted").with(evidence),
        (false, None | Some(1..)) if with_burst * 2 <= plain => Outcome::kept(evidence),
        _ => Outcome::undecided("the machine was too busy to run the work in time").with(evidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn use_in_cpus(values: &[f64]) -> Vec<Window> {
        values.iter().map(|used| Window { seconds: 1.0, grew: vec![used * 1e9] }).collect()
    }

    #[test]
    fn a_quota_that_does_not_cap_is_broken() {
        let at = |values: &[f64]| judge_cap(&use_in_cpus(values), 0.2).verdict;
        assert_eq!(at(&[0.2, 0.21, 0.2, 0.19]), Verdict::Kept);
        assert_eq!(at(&[0.9, 0.95, 0.9, 0.97]), Verdict::Broken);
        assert_eq!(at(&[0.01, 0.02, 0.01, 0.02]), Verdict::Void);
        assert_eq!(at(&[0.05, 0.5, 0.2, 0.19]), Verdict::Undecided);
    }

    #[test]
    fn uncounted_throttling_is_broken() {
        assert_eq!(judge_count((0, 0.0), 0.98).verdict, Verdict::Broken);
        assert_eq!(judge_count((12, 0.9), 0.98).verdict, Verdict::Kept);
        // A container that has less than the quota throttles instead.
        assert_eq!(judge_count((0, 0.0), 0.75).verdict, Verdict::Void);
    }

    #[test]
    fn throttling_far_below_the_quota_is_broken() {
        let busy = use_in_cpus(&[0.9, 0.9]);
        assert_eq!(judge_far_above(&busy, (0, 0.0)).verdict, Verdict::Kept);
        assert_eq!(judge_far_above(&busy, (3, 0.1)).verdict, Verdict::Broken);
        assert_eq!(judge_far_above(&use_in_cpus(&[0.1]), (0, 0.0)).verdict, Verdict::Void);
    }

    #[test]
    fn a_burst_without_effect_is_broken() {
        assert_eq!(judge_burst(5, 0, Some(5)).verdict, Verdict::Kept);
        assert_eq!(judge_burst(5, 5, None).verdict, Verdict::Undecided);
        // Counted bursts prove the feature; on a busy machine the work may still not fit.
        assert_eq!(judge_burst(5, 6, Some(3)).verdict, Verdict::Undecided);
        assert_eq!(judge_burst(5, 5, Some(0)).verdict, Verdict::Broken);
        assert_eq!(judge_burst(5, 0, Some(0)).verdict, Verdict::Undecided);
        assert_eq!(judge_burst(0, 0, Some(1)).verdict, Verdict::Void);
    }
}
