//! CPU time accounting, in cpu.stat and by the v1 controller cpuacct.

use super::*;

/// cpu.stat has the time used without the controller, too.
const STAT: Topic = CPU.needing(&[Need::V2]);
const CPUACCT: Topic = Topic::new(
    "cpuacct",
    "Documentation/admin-guide/cgroup-v1/cpuacct.rst",
    &[Need::OnV1("cpuacct")],
);

pub(crate) const CASES: &[Case] = &[
    STAT.case(
        "usage-is-the-time-of-its-threads",
        "usage_usec in cpu.stat grows by the CPU time that threads of the group use.",
        usage,
    ),
    STAT.case(
        "usage-of-a-sleeper-is-nothing",
        "usage_usec of a sleeping group does not grow, whatever its siblings do.",
        sleeper,
    ),
    STAT.case(
        "usage-is-user-and-system",
        "user_usec and system_usec add up to usage_usec.",
        |fixture| {
            let probe = fixture.start_in("a", "spin")?;
            fixture.let_run(&probe, 0.1)?;
            let text = fixture.read("a", "cpu.stat")?;
            let value = |key| keyed(&text, key).unwrap_or(0);
            Ok(judge_parts(value("usage_usec"), value("user_usec"), value("system_usec")))
        },
    ),
    CPUACCT.case(
        "usage-is-the-time-of-its-threads",
        "cpuacct.usage grows by the CPU time that threads of the group use.",
        usage,
    ),
    CPUACCT.case(
        "usage-of-a-sleeper-is-nothing",
        "cpuacct.usage of a sleeping group does not grow, whatever its siblings do.",
        sleeper,
    ),
    CPUACCT.case(
        "usage-percpu-adds-up",
        "The values of cpuacct.usage_percpu add up to cpuacct.usage.",
        |fixture| {
            let mut probe = fixture.start_in("a", "spin")?;
            fixture.let_run(&probe, 0.1)?;
            // Two files cannot be read at one instant, so nothing may run in between.
            probe.end()?;
            let usage = fixture.number("a", "cpuacct.usage")?;
            let text = fixture.read("a", "cpuacct.usage_percpu")?;
            let parts = text.split_whitespace().filter_map(|word| word.parse().ok());
            Ok(judge_per_cpu(usage, &parts.collect::<Vec<u64>>()))
        },
    ),
    CPUACCT.case(
        "usage-reaches-the-parent",
        "CPU time of a group is also counted for its ancestors.",
        |fixture| {
            fixture.make_parent("a")?;
            let mut probe = fixture.start_in("a/b", "spin")?;
            fixture.let_run(&probe, 0.1)?;
            probe.end()?;
            let child = fixture.number("a/b", "cpuacct.usage")?;
            let parent = Reading::at_rest(fixture.number("a", "cpuacct.usage")?, child);
            let whose = "a spinning child, counted for its parent";
            Ok(judge_usage(Reading::at_rest(0, 0), parent, whose))
        },
    ),
];

/// Tolerance beyond the duration of the readings: a fraction of the count, and the ticks by which a
/// running thread's clock may lag (HZ=100 at worst, on two CPUs).
const PART: f64 = 0.03;
const TICKS_NS: f64 = 20e6;

/// CPU time counted for a group in nanoseconds.
fn counted(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    if fixture.is_v2() {
        return Ok(fixture.keyed(group, "cpu.stat", "usage_usec")? * 1000);
    }
    fixture.number(group, "cpuacct.usage")
}

/// A group's count, and the clock of its processes read just before and just after it: on a busy
/// machine much time may pass between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    before: u64,
    counted: u64,
    after: u64,
}

impl Reading {
    /// Reads the clock, the count and the clock again, all in nanoseconds.
    pub(crate) fn take(
        mut clock: impl FnMut() -> Result<u64, Error>,
        count: impl FnOnce() -> Result<u64, Error>,
    ) -> Result<Self, Error> {
        Ok(Self { before: clock()?, counted: count()?, after: clock()? })
    }

    /// A reading of a count and a clock that do not advance.
    const fn at_rest(counted: u64, clock: u64) -> Self {
        Self { before: clock, counted, after: clock }
    }
}

/// Time counted for the group compared with the clock of its process, over the same interval.
fn usage(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let probe = fixture.start_in("a", "spin threads=2")?;
    let read = || Reading::take(|| probe.cpu_ns(), || counted(fixture, "a"));
    let first = read()?;
    fixture.let_run(&probe, 0.3)?;
    Ok(judge_usage(first, read()?, "two spinning threads"))
}

/// A sleeping process uses no CPU time, whatever its sibling does.
fn sleeper(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let _sleeper = fixture.start_in("sleeps", "echo")?;
    let spinner = fixture.start_in("spins", "spin")?;
    let before = (counted(fixture, "sleeps")?, counted(fixture, "spins")?);
    fixture.let_run(&spinner, 0.2)?;
    let slept = counted(fixture, "sleeps")?.saturating_sub(before.0);
    Ok(judge_sleeper(slept, counted(fixture, "spins")?.saturating_sub(before.1)))
}

/// The growth of the count must lie between the smallest and the largest possible growth of the
/// clock between the two counts.
pub(crate) fn judge_usage(first: Reading, last: Reading, whose: &str) -> Outcome {
    let counted = last.counted.saturating_sub(first.counted) as f64;
    let least = last.before.saturating_sub(first.after) as f64;
    let most = last.after.saturating_sub(first.before) as f64;
    let evidence = format!(
        "{whose}: {:.1} to {:.1} ms by their own clock, {:.1} ms counted for the group",
        least / 1e6,
        most / 1e6,
        counted / 1e6
    );
    let slack = most * PART + TICKS_NS;
    let verdict = match (least - counted).max(counted - most).max(0.0) {
        off if off <= slack => Verdict::Kept,
        off if off > 2.0 * slack => Verdict::Broken,
        _ => Verdict::Undecided,
    };
    let (broken, undecided) =
        ("the count does not match the time used", "the count differs slightly");
    Outcome::decided(verdict, evidence, broken, undecided)
        .void_if(least < 50e6, "the threads hardly ran: the CPU was busy with other work")
}

fn judge_sleeper(slept_ns: u64, spun_ns: u64) -> Outcome {
    let evidence = format!(
        "counted for the sleeper {:.2} ms, for its sibling {:.1} ms",
        slept_ns as f64 / 1e6,
        spun_ns as f64 / 1e6
    );
    let why = "the sibling hardly ran: the CPU was busy with other work";
    Outcome::holds(slept_ns < spun_ns / 20, evidence).void_if(spun_ns < 30_000_000, why)
}

fn judge_parts(usage: u64, user: u64, system: u64) -> Outcome {
    let evidence = format!("usage {usage} us, user {user} us, system {system} us");
    // Each of the three is rounded down independently.
    Outcome::holds(usage.abs_diff(user + system) <= 2, evidence)
        .void_if(usage == 0, "no CPU time was used")
}

fn judge_per_cpu(usage: u64, parts: &[u64]) -> Outcome {
    let sum: u64 = parts.iter().sum();
    let evidence = format!("usage {usage} ns, {} CPUs together {sum} ns", parts.len());
    Outcome::holds(usage == sum, evidence).void_if(usage == 0, "no CPU time was used")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncounted_time_is_broken() {
        let none = Reading::at_rest(0, 0);
        let judge = |counted: u64, clock: u64| {
            judge_usage(none, Reading::at_rest(counted, clock), "x").verdict
        };
        assert_eq!(judge(990_000_000, 1_000_000_000), Verdict::Kept);
        assert_eq!(judge(500_000_000, 1_000_000_000), Verdict::Broken);
        assert_eq!(judge(0, 1_000_000), Verdict::Void);
        // A slow reading allows every value in its range.
        let slow = Reading { before: 500_000_000, counted: 800_000_000, after: 1_000_000_000 };
        assert_eq!(judge_usage(none, slow, "x").verdict, Verdict::Kept);
    }

    #[test]
    fn charging_a_sleeper_is_broken() {
        assert_eq!(judge_sleeper(100_000, 300_000_000).verdict, Verdict::Kept);
        assert_eq!(judge_sleeper(150_000_000, 300_000_000).verdict, Verdict::Broken);
        assert_eq!(judge_sleeper(0, 1000).verdict, Verdict::Void);
    }

    #[test]
    fn parts_that_do_not_add_up_are_broken() {
        assert_eq!(judge_parts(100, 60, 39).verdict, Verdict::Kept);
        assert_eq!(judge_parts(100, 60, 10).verdict, Verdict::Broken);
        assert_eq!(judge_per_cpu(10, &[4, 6]).verdict, Verdict::Kept);
        assert_eq!(judge_per_cpu(10, &[4]).verdict, Verdict::Broken);
        assert_eq!(judge_per_cpu(0, &[]).verdict, Verdict::Void);
    }
}
