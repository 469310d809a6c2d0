//! Quotas cap what a group may use in a period, and cap nothing that stays below.

use std::time::Instant;

use assay_kernel::Error;
use rustix::io::Errno;

use super::weight::cpu_times;
use crate::errno_name::{errno_name, words};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Verdict};
use crate::windows::Window;

/// Microseconds; the kernel's own default.
const PERIOD: u64 = 100_000;
/// By how much of itself a quota may be passed: the kernel hands time out in slices of 5 ms
/// (sched_cfs_bandwidth_slice_us), and a slice may be used after the period it was taken in.
const SLACK: f64 = 0.15;

/// Sets a quota in microseconds of each period of 100 ms.
fn set(ground: &Fixture, group: &str, quota: u64) -> Result<(), Error> {
    if ground.is_v2() {
        return ground.write(group, "cpu.max", &format!("{quota} {PERIOD}"));
    }
    ground.write(group, "cpu.cfs_period_us", &PERIOD.to_string())?;
    ground.write(group, "cpu.cfs_quota_us", &quota.to_string())
}

/// How often the group was throttled, and for how long, in seconds.
fn throttled(ground: &Fixture, group: &str) -> Result<(u64, f64), Error> {
    let count = ground.keyed(group, "cpu.stat", "nr_throttled")?;
    let (key, unit) = ground.by_version(("throttled_time", 1e9), ("throttled_usec", 1e6));
    Ok((count, ground.keyed(group, "cpu.stat", key)? as f64 / unit))
}

/// Judges the use of a spinning group, in windows of whole periods.
fn use_of(
    ground: &Fixture,
    group: &str,
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Error> {
    ground.go_first()?;
    let probes = [ground.start(group, &format!("spin cpu={}", ground.cpu()))?];
    ground.pause(0.2)?;
    ground.settle(6, &[0.3, 1.2], || cpu_times(&probes), judge)
}

pub(super) fn caps(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    set(ground, "a", 20_000)?;
    let capped = use_of(ground, "a", |windows| judge_cap(windows, 0.2))?;
    let (count, seconds) = throttled(ground, "a")?;
    Ok(Outcome::all([capped, judge_count(count, seconds)]))
}

/// Use against a quota, both in CPUs.
fn judge_cap(windows: &[Window], quota: f64) -> Outcome {
    let used: Vec<f64> = windows.iter().map(Window::busy).collect();
    let used = Interval::of(&used);
    let evidence = format!("quota {quota:.2} CPUs, used {used} in {} windows", windows.len());
    match used.against(0.0, quota * (1.0 + SLACK)) {
        Verdict::Broken => Outcome::broken("it used more than its quota").with(evidence),
        _ if used.mean < quota * 0.6 => {
            Outcome::void("others kept it from using its quota").with(evidence)
        }
        // The lower end of a use that is never negative says nothing here.
        _ if used.high <= quota * (1.0 + SLACK) => Outcome::kept(evidence),
        _ => Outcome::undecided("its use varies too much between windows").with(evidence),
    }
}

fn judge_count(count: u64, seconds: f64) -> Outcome {
    let seen = format!("throttled {count} times, {seconds:.2} s in all");
    Outcome::holds(count > 0 && seconds > 0.0, seen)
}

pub(super) fn far_above(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.go_first()?;
    set(ground, "a", 10 * PERIOD)?;
    let probes = [ground.start("a", &format!("spin cpu={}", ground.cpu()))?];
    let windows = ground.windows(6, 0.3, || cpu_times(&probes))?;
    Ok(judge_far_above(&windows, throttled(ground, "a")?))
}

fn judge_far_above(windows: &[Window], (count, seconds): (u64, f64)) -> Outcome {
    let busy = windows.iter().map(Window::busy).sum::<f64>() / windows.len().max(1) as f64;
    let evidence =
        format!("quota 10 CPUs, used {busy:.2}, throttled {count} times, {seconds:.3} s");
    if count > 0 || seconds > 0.0 {
        return Outcome::broken("a group far below its quota was throttled").with(evidence);
    }
    if busy < 0.3 {
        return Outcome::void("others kept it from using the CPU").with(evidence);
    }
    Outcome::kept(evidence)
}

/// v1 refuses a child more than its parent has; v2 takes it, and the parent's quota binds.
pub(super) fn of_child(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make_parent("a")?;
    ground.make("a/b")?;
    set(ground, "a", 20_000)?;
    let said = errno_name(set(ground, "a/b", 50_000));
    if !ground.is_v2() {
        let seen = format!("parent 0.2 CPUs, child 0.5 CPUs: {}", words(said));
        return Ok(Outcome::holds(said == Some(Errno::INVAL), seen));
    }
    if said.is_some() {
        return Ok(Outcome::broken(format!("a child's larger quota: {}", words(said))));
    }
    let capped = use_of(ground, "a/b", |windows| judge_cap(windows, 0.2))?;
    Ok(capped.with("the child's own quota is 0.5 CPUs"))
}

/// Work of 36 ms in every 300 ms, against a quota of 20 ms in 100 ms.
pub(super) fn burst(ground: &mut Fixture) -> Result<Outcome, Error> {
    let mut counts = Vec::new();
    let mut took = None;
    ground.go_first()?;
    for (name, burst) in [("plain", 0), ("burst", 20_000)] {
        ground.make(name)?;
        set(ground, name, 20_000)?;
        let file = ground.by_version("cpu.cfs_burst_us", "cpu.max.burst");
        ground.write(name, file, &burst.to_string())?;
        let words = format!("spin duty=12 turn_ms=300 cpu={}", ground.cpu());
        let _probe = ground.start(name, &words)?;
        // What the program needs to start may pass the quota for as long as it likes.
        ground.pause(0.3)?;
        let before = throttled(ground, name)?.0;
        let grew = || Ok::<_, Error>(throttled(ground, name)?.0.saturating_sub(before));
        // The plain group until it was throttled often enough, the other for as long.
        let began = Instant::now();
        let limit = took.unwrap_or(8.0);
        ground.wait_for(limit, || Ok(took.is_none() && grew()? >= 5))?;
        took = took.or(Some(began.elapsed().as_secs_f64() / ground.patience));
        counts.push(grew()?);
    }
    let bursts = ground.keyed("burst", "cpu.stat", "nr_bursts").ok();
    Ok(judge_burst(counts[0], counts[1], bursts))
}

/// How often a group was throttled without and with a burst, and how often it burst (a counter
/// since Linux 5.16).
fn judge_burst(plain: u64, with_burst: u64, bursts: Option<u64>) -> Outcome {
    let counted = bursts.map_or_else(String::new, |count| format!(", bursts counted: {count}"));
    let evidence = format!(
        "36 ms of work in every 300 ms, quota 20 ms in 100 ms: throttled {plain} times without \
         and {with_burst} times with a burst of 20 ms{counted}"
    );
    if plain < 3 {
        return Outcome::void("the work did not pass the quota").with(evidence);
    }
    // Bursts that are counted, and throttling that stays all the same: the work took longer than
    // its time on the CPU. No burst and less throttling: it was spread over more periods.
    match (with_burst >= plain, bursts) {
        (true, Some(0)) => Outcome::broken("no burst was counted").with(evidence),
        (true, None) => Outcome::broken("a burst did not help").with(evidence),
        (false, None | Some(1..)) if with_burst * 2 <= plain => Outcome::kept(evidence),
        _ => Outcome::undecided("a busy machine spread the work otherwise").with(evidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn use_in_cpus(values: &[f64]) -> Vec<Window> {
        values.iter().map(|used| Window { seconds: 1.0, grew: vec![used * 1e9] }).collect()
    }

    #[test]
    fn a_kernel_that_does_not_cap_is_broken() {
        let at = |values: &[f64]| judge_cap(&use_in_cpus(values), 0.2).verdict;
        assert_eq!(at(&[0.2, 0.21, 0.2, 0.19]), Verdict::Kept);
        assert_eq!(at(&[0.9, 0.95, 0.9, 0.97]), Verdict::Broken);
        assert_eq!(at(&[0.01, 0.02, 0.01, 0.02]), Verdict::Void);
        assert_eq!(at(&[0.05, 0.5, 0.2, 0.19]), Verdict::Undecided);
    }

    #[test]
    fn throttling_that_is_not_counted_is_broken() {
        assert_eq!(judge_count(0, 0.0).verdict, Verdict::Broken);
        assert_eq!(judge_count(12, 0.9).verdict, Verdict::Kept);
    }

    #[test]
    fn throttling_far_below_the_quota_is_broken() {
        let busy = use_in_cpus(&[0.9, 0.9]);
        assert_eq!(judge_far_above(&busy, (0, 0.0)).verdict, Verdict::Kept);
        assert_eq!(judge_far_above(&busy, (3, 0.1)).verdict, Verdict::Broken);
        assert_eq!(judge_far_above(&use_in_cpus(&[0.1]), (0, 0.0)).verdict, Verdict::Void);
    }

    #[test]
    fn a_burst_that_changes_nothing_is_broken() {
        assert_eq!(judge_burst(5, 0, Some(5)).verdict, Verdict::Kept);
        assert_eq!(judge_burst(5, 5, None).verdict, Verdict::Broken);
        // Bursts that are counted are there; on a busy machine the work may still not fit.
        assert_eq!(judge_burst(5, 6, Some(3)).verdict, Verdict::Undecided);
        assert_eq!(judge_burst(5, 5, Some(0)).verdict, Verdict::Broken);
        assert_eq!(judge_burst(5, 0, Some(0)).verdict, Verdict::Undecided);
        assert_eq!(judge_burst(0, 0, Some(1)).verdict, Verdict::Void);
    }
}
