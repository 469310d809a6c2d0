//! Scheduling classes of groups: nice values, idle, clamped, real-time.

use rustix::io::Errno;

use super::weight::{cpu_times, decide};
use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop};
use crate::windows::{Window, mean_busy};

/// Weights of the nice values 0 and 5 (`sched_prio_to_weight`, kernel/sched/core.c).
const NICE: [(&str, f64); 2] = [("0", 1024.0), ("5", 335.0)];

pub(super) fn by_nice(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    let mut probes = Vec::new();
    for (nice, _) in NICE {
        let name = format!("n{nice}");
        fixture.make(&name)?;
        fixture.write(&name, "cpu.weight.nice", nice)?;
        probes.push(fixture.start(&name, &format!("spin cpu={}", fixture.cpu()))?);
    }
    decide(fixture, &probes, &NICE.map(|(_, weight)| weight))
}

pub(super) fn idle_beside_busy(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    let mut probes = Vec::new();
    for (name, idle) in [("idle", "1"), ("busy", "0")] {
        fixture.make(name)?;
        fixture.write(name, "cpu.idle", idle)?;
        probes.push(fixture.start(name, &format!("spin cpu={}", fixture.cpu()))?);
    }
    fixture.pause(0.1)?;
    fixture.settle(8, &[0.25, 1.0], || cpu_times(&probes), judge_idle)
}

/// The idle group's share of both groups' time. Its weight is 3 against 1024 (`WEIGHT_IDLEPRIO`).
fn judge_idle(windows: &[Window]) -> Outcome {
    let shares: Vec<f64> = windows.iter().filter_map(|w| Some(w.shares()?[0])).collect();
    let busy = mean_busy(windows);
    let share = Interval::of_median(&shares);
    let evidence = format!(
        "the idle group got {:.1} % of the time of both, {:.0} % of the CPU together",
        share.mean * 100.0,
        busy * 100.0
    );
    if busy < 0.3 {
        return Outcome::void("other work kept the CPU busy").with(evidence);
    }
    Outcome::decided(
        share.verdict_within(-0.05, 0.05),
        evidence,
        "the idle group slowed the busy one",
        "its share varies too much",
    )
}

pub(super) fn idle_alone(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    fixture.make("idle")?;
    fixture.write("idle", "cpu.idle", "1")?;
    let probes = [fixture.start("idle", &format!("spin cpu={}", fixture.cpu()))?];
    fixture.pause(0.1)?;
    let before = fixture.time_of_cpu(fixture.cpu())?;
    let windows = fixture.windows(6, 0.3, || cpu_times(&probes))?;
    let idle = fixture.time_of_cpu(fixture.cpu())?.idle_s - before.idle_s;
    let seconds: f64 = windows.iter().map(|window| window.seconds).sum();
    Ok(judge_alone(&windows, idle / seconds))
}

/// All other work on the CPU has precedence, so only what nobody used was kept from the group. `unused` is that
/// part of the CPU.
fn judge_alone(windows: &[Window], unused: f64) -> Outcome {
    let used = Interval::of_mean(&windows.iter().map(Window::busy).collect::<Vec<f64>>());
    let evidence = format!(
        "alone on its CPU the idle group used {used} of it, and {:.0} % were used by nobody",
        100.0 * unused
    );
    match () {
        // Beside a busy group it would have got a few thousandths.
        () if used.mean > 0.2 && unused < 0.1 => Outcome::kept(evidence),
        () if unused < 0.1 => Outcome::void("other work kept the CPU busy").with(evidence),
        () if unused > 0.3 => {
            Outcome::broken("the CPU was idle although the group wanted it").with(evidence)
        }
        () => Outcome::undecided("some of the CPU was used by nobody").with(evidence),
    }
}

pub(super) fn idle_weight(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.write("a", "cpu.weight", "300")?;
    fixture.write("a", "cpu.idle", "1")?;
    Ok(judge_idle_weight(fixture.number("a", "cpu.weight")?))
}

fn judge_idle_weight(weight: u64) -> Outcome {
    let evidence = format!("cpu.weight 300, then cpu.idle 1: cpu.weight reads {weight}");
    Outcome::holds(weight == 0, evidence)
}

/// The effective clamp of a task, from /proc/PID/sched, in 1/1024.
pub(super) fn clamp(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.write("a", "cpu.uclamp.max", "25.00")?;
    let probe = fixture.start("a", "spin")?;
    let text = fixture.root().read(format!("/proc/{}/sched", probe.pid()))?;
    let value = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == "effective uclamp.max")
        .and_then(|(_, value)| value.trim().parse::<u64>().ok());
    Ok(match value {
        Some(value) => judge_clamp(value),
        None => Outcome::not_available("/proc/PID/sched does not show the effective clamp"),
    })
}

fn judge_clamp(value: u64) -> Outcome {
    let evidence = format!("cpu.uclamp.max 25.00: a task inside is clamped to {value} of 1024");
    Outcome::holds((255..=257).contains(&value), evidence)
}

pub(super) fn no_real_time(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.write("a", "cpu.rt_runtime_us", "0")?;
    let mut probe = fixture.start("a", "realtime")?;
    Ok(judge_real_time(probe.refusal()?))
}

fn judge_real_time(refused: Option<Errno>) -> Outcome {
    let evidence =
        format!("SCHED_FIFO in a group with cpu.rt_runtime_us 0: {}", errno_text(refused));
    Outcome::holds(refused == Some(Errno::PERM), evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;
    use crate::windows::of_cpus;

    #[test]
    fn an_idle_group_with_an_equal_share_is_broken() {
        assert_eq!(judge_idle(&of_cpus(&[0.003, 0.99])).verdict, Verdict::Kept);
        assert_eq!(judge_idle(&of_cpus(&[0.5, 0.5])).verdict, Verdict::Broken);
        assert_eq!(judge_idle(&of_cpus(&[0.001, 0.1])).verdict, Verdict::Void);
    }

    #[test]
    fn an_idle_group_that_is_kept_from_an_idle_cpu_is_broken() {
        let of = |used, unused| judge_alone(&of_cpus(&[used]), unused).verdict;
        assert_eq!(of(0.99, 0.0), Verdict::Kept);
        assert_eq!(of(0.25, 0.75), Verdict::Broken);
        assert_eq!(of(0.05, 0.01), Verdict::Void, "others had it");
        assert_eq!(of(0.8, 0.2), Verdict::Undecided);
    }

    /// As on Linux 6.1 and 6.12.
    #[test]
    fn an_idle_group_with_a_weight_is_broken() {
        assert_eq!(judge_idle_weight(0).verdict, Verdict::Kept);
        assert_eq!(judge_idle_weight(1).verdict, Verdict::Broken);
    }

    #[test]
    fn a_missing_clamp_or_real_time_without_budget_is_broken() {
        assert_eq!(judge_clamp(256).verdict, Verdict::Kept);
        assert_eq!(judge_clamp(1024).verdict, Verdict::Broken);
        assert_eq!(judge_real_time(None).verdict, Verdict::Broken);
        assert_eq!(judge_real_time(Some(Errno::PERM)).verdict, Verdict::Kept);
    }
}
