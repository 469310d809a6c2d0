//! What the kernel counts as a group's CPU time.

use assay_kernel::Error;

use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// By how much a count may be off beside what reading takes: a part of it, and the ticks that a
/// running thread's clock may lag behind (HZ=100 at worst, on two CPUs).
const PART: f64 = 0.03;
const TICKS_NS: f64 = 20e6;

/// CPU time counted for a group in nanoseconds.
fn counted(ground: &Fixture, group: &str) -> Result<u64, Error> {
    if ground.is_v2() {
        return Ok(ground.keyed(group, "cpu.stat", "usage_usec")? * 1000);
    }
    ground.number(group, "cpuacct.usage")
}

/// A group's count, and the clock of what is inside, read just before and just after it: on a
/// busy machine much time may pass between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cases) struct Reading {
    before: u64,
    counted: u64,
    after: u64,
}

impl Reading {
    /// Reads the clock, the count and the clock again, all in nanoseconds.
    pub(in crate::cases) fn take(
        mut clock: impl FnMut() -> Result<u64, Error>,
        count: impl FnOnce() -> Result<u64, Error>,
    ) -> Result<Self, Error> {
        Ok(Self { before: clock()?, counted: count()?, after: clock()? })
    }

    /// Of a count and a clock that stand still.
    pub(in crate::cases) const fn at_rest(counted: u64, clock: u64) -> Self {
        Self { before: clock, counted, after: clock }
    }
}

/// Time counted for the group against the clock of the process inside, over the same while.
pub(in crate::cases) fn usage(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let probe = ground.start("a", "spin threads=2")?;
    let read = || Reading::take(|| probe.cpu_ns(), || counted(ground, "a"));
    let first = read()?;
    ground.let_run(&probe, 0.3)?;
    Ok(judge_usage(first, read()?, "two spinning threads"))
}

/// What the count grew by must lie between the least and the most that the clock can have grown
/// by at the moments of counting.
pub(in crate::cases) fn judge_usage(first: Reading, last: Reading, whose: &str) -> Outcome {
    let counted = last.counted.saturating_sub(first.counted) as f64;
    let least = last.before.saturating_sub(first.after) as f64;
    let most = last.after.saturating_sub(first.before) as f64;
    let evidence = format!(
        "{whose}: {:.1} to {:.1} ms by their own clock, {:.1} ms counted for the group",
        least / 1e6,
        most / 1e6,
        counted / 1e6
    );
    if least < 50e6 {
        return Outcome::void("others kept the threads from running").with(evidence);
    }
    let slack = most * PART + TICKS_NS;
    let off = (least - counted).max(counted - most).max(0.0);
    if off <= slack {
        Outcome::kept(evidence)
    } else if off > 2.0 * slack {
        Outcome::broken("the count is not the time that was used").with(evidence)
    } else {
        Outcome::undecided("the count differs, but by little").with(evidence)
    }
}

/// A sleeping process uses nothing, whatever its neighbour does.
pub(in crate::cases) fn sleeper(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("sleeps")?;
    ground.make("spins")?;
    let _sleeper = ground.start("sleeps", "echo")?;
    let spinner = ground.start("spins", "spin")?;
    let before = (counted(ground, "sleeps")?, counted(ground, "spins")?);
    ground.let_run(&spinner, 0.2)?;
    let slept = counted(ground, "sleeps")?.saturating_sub(before.0);
    let spun = counted(ground, "spins")?.saturating_sub(before.1);
    Ok(judge_sleeper(slept, spun))
}

fn judge_sleeper(slept_ns: u64, spun_ns: u64) -> Outcome {
    let evidence = format!(
        "counted for the sleeper {:.2} ms, for its neighbour {:.1} ms",
        slept_ns as f64 / 1e6,
        spun_ns as f64 / 1e6
    );
    if spun_ns < 30_000_000 {
        return Outcome::void("others kept the neighbour from running").with(evidence);
    }
    Outcome::holds(slept_ns < spun_ns / 20, evidence)
}

/// `user_usec` and `system_usec` add up to `usage_usec` in one reading.
pub(super) fn parts(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let probe = ground.start("a", "spin")?;
    ground.let_run(&probe, 0.1)?;
    let text = ground.read("a", "cpu.stat")?;
    let value = |key| crate::fixture::keyed(&text, key).unwrap_or(0);
    Ok(judge_parts(value("usage_usec"), value("user_usec"), value("system_usec")))
}

fn judge_parts(usage: u64, user: u64, system: u64) -> Outcome {
    let evidence = format!("usage {usage} us, user {user} us, system {system} us");
    if usage == 0 {
        return Outcome::void("nothing was used").with(evidence);
    }
    // Each of the three is rounded down by itself.
    Outcome::holds(usage.abs_diff(user + system) <= 2, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn time_that_is_not_counted_is_broken() {
        let none = Reading::at_rest(0, 0);
        let judge = |counted: u64, clock: u64| {
            judge_usage(none, Reading::at_rest(counted, clock), "x").verdict
        };
        assert_eq!(judge(990_000_000, 1_000_000_000), Verdict::Kept);
        assert_eq!(judge(500_000_000, 1_000_000_000), Verdict::Broken);
        assert_eq!(judge(0, 1_000_000), Verdict::Void);
        // A reading that took long allows whatever lies in between.
        let slow = Reading { before: 500_000_000, counted: 800_000_000, after: 1_000_000_000 };
        assert_eq!(judge_usage(none, slow, "x").verdict, Verdict::Kept);
    }

    #[test]
    fn a_sleeper_that_is_charged_is_broken() {
        assert_eq!(judge_sleeper(100_000, 300_000_000).verdict, Verdict::Kept);
        assert_eq!(judge_sleeper(150_000_000, 300_000_000).verdict, Verdict::Broken);
        assert_eq!(judge_sleeper(0, 1000).verdict, Verdict::Void);
    }

    #[test]
    fn parts_that_do_not_add_up_are_broken() {
        assert_eq!(judge_parts(100, 60, 39).verdict, Verdict::Kept);
        assert_eq!(judge_parts(100, 60, 10).verdict, Verdict::Broken);
    }
}
