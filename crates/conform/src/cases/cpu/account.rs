//! What the kernel counts as a group's CPU time.

use assay_kernel::Error;

use crate::ground::Ground;
use crate::outcome::Outcome;

/// By how much counted and measured time may differ: a part of it, and the ticks that a running
/// thread's clock may lag behind.
const PART: f64 = 0.03;
const TICKS_NS: f64 = 12e6;

/// CPU time counted for a group in nanoseconds.
fn counted(ground: &Ground, group: &str) -> Result<u64, Error> {
    if ground.is_v2() {
        return Ok(ground.keyed(group, "cpu.stat", "usage_usec")? * 1000);
    }
    ground.number(group, "cpuacct.usage")
}

/// Time counted for the group against the clock of the process inside, over the same while.
pub(in crate::cases) fn usage(ground: &mut Ground) -> Result<Outcome, Error> {
    ground.make("a")?;
    let probe = ground.start("a", "spin threads=2")?;
    let before = (counted(ground, "a")?, probe.cpu_ns()?);
    ground.pause(0.5)?;
    let after = (counted(ground, "a")?, probe.cpu_ns()?);
    let grew = |before: u64, after: u64| after.saturating_sub(before) as f64;
    Ok(judge_usage(grew(before.0, after.0), grew(before.1, after.1), "two spinning threads"))
}

/// Both in nanoseconds.
pub(in crate::cases) fn judge_usage(counted: f64, measured: f64, whose: &str) -> Outcome {
    let evidence = format!(
        "{whose}: {:.1} ms by their own clock, {:.1} ms counted for the group",
        measured / 1e6,
        counted / 1e6
    );
    if measured < 50e6 {
        return Outcome::void("others kept the threads from running").with(evidence);
    }
    let off = (counted - measured).abs();
    if off <= measured * PART + TICKS_NS {
        Outcome::kept(evidence)
    } else if off > 2.0 * (measured * PART + TICKS_NS) {
        Outcome::broken("the count is not the time that was used").with(evidence)
    } else {
        Outcome::undecided("the count differs, but by little").with(evidence)
    }
}

/// A sleeping process uses nothing, whatever its neighbour does.
pub(in crate::cases) fn sleeper(ground: &mut Ground) -> Result<Outcome, Error> {
    ground.make("sleeps")?;
    ground.make("spins")?;
    let _sleeper = ground.start("sleeps", "echo")?;
    let _spinner = ground.start("spins", "spin")?;
    let before = (counted(ground, "sleeps")?, counted(ground, "spins")?);
    ground.pause(0.3)?;
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
pub(super) fn parts(ground: &mut Ground) -> Result<Outcome, Error> {
    ground.make("a")?;
    let _probe = ground.start("a", "spin")?;
    ground.pause(0.2)?;
    let text = ground.read("a", "cpu.stat")?;
    let value = |key| crate::ground::keyed(&text, key).unwrap_or(0);
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
        assert_eq!(judge_usage(990e6, 1000e6, "x").verdict, Verdict::Kept);
        assert_eq!(judge_usage(500e6, 1000e6, "x").verdict, Verdict::Broken);
        assert_eq!(judge_usage(0.0, 1e6, "x").verdict, Verdict::Void);
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
