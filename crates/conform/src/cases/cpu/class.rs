//! Scheduling classes of groups: nice values, idle, clamped, real-time.

use super::*;

/// The file exists since Linux 5.15; its documentation is newer.
const IDLE: Topic = CPU
    .documented_in("Documentation/admin-guide/cgroup-v2.rst, cpu.idle")
    .needing(&[Need::Controller("cpu"), Need::File("cpu.idle")]);
const REAL_TIME: Topic = CPU
    .documented_in("Documentation/scheduler/sched-rt-group.rst")
    .needing(&[Need::OnV1("cpu"), Need::File("cpu.rt_runtime_us")]);

pub(crate) const CASES: &[Case] = &[
    CPU.needing(&[Need::OnV2("cpu"), Need::File("cpu.weight.nice")]).case(
        "weight-nice-weighs-as-nice-does",
        "Groups with cpu.weight.nice 0 and 5 divide a saturated CPU like tasks of these nice \
         values.",
        |fixture| {
            let groups = [("n0", "cpu.weight.nice", "0"), ("n5", "cpu.weight.nice", "5")];
            // Weights of these nice values (`sched_prio_to_weight`, kernel/sched/core.c).
            decide(fixture, &spinners(fixture, &groups)?, &[1024.0, 335.0])
        },
    ),
    IDLE.case(
        "an-idle-group-yields-to-a-busy-one",
        "A group with cpu.idle gets almost nothing of a CPU that another group keeps busy.",
        |fixture| {
            let probes =
                spinners(fixture, &[("idle", "cpu.idle", "1"), ("busy", "cpu.idle", "0")])?;
            watch(fixture, &probes, judge_idle)
        },
    ),
    IDLE.case(
        "an-idle-group-alone-gets-the-cpu",
        "A group with cpu.idle that is alone on its CPU gets all of it.",
        |fixture| {
            let probes = spinners(fixture, &[("idle", "cpu.idle", "1")])?;
            fixture.pause(0.1)?;
            let before = fixture.time_of_cpu(fixture.cpu())?;
            let windows = fixture.windows(6, 0.3, || cpu_times(&probes))?;
            let idle = fixture.time_of_cpu(fixture.cpu())?.idle_s - before.idle_s;
            let seconds: f64 = windows.iter().map(|window| window.seconds).sum();
            Ok(judge_alone(&windows, idle / seconds))
        },
    ),
    IDLE.case(
        "an-idle-group-gets-less-than-weight-1",
        "A group with cpu.idle gets less than a sibling of weight 1, the lightest.",
        |fixture| {
            // 3 against 10 (`WEIGHT_IDLEPRIO`, and a weight of 1 in 1024ths).
            let (file, weight) = fixture.by_version(("cpu.shares", "10"), ("cpu.weight", "1"));
            let probes = spinners(fixture, &[("idle", "cpu.idle", "1"), ("other", file, weight)])?;
            watch(fixture, &probes, judge_beside_light)
        },
    ),
    IDLE.documented_in("Documentation/admin-guide/cgroup-v2.rst, cpu.weight")
        .needing(&[Need::OnV2("cpu"), Need::File("cpu.idle")])
        .case(
            "the-weight-of-an-idle-group-reads-0",
            "cpu.weight of a group with cpu.idle shows as a 0.",
            |fixture| {
                make(fixture, "a", 300)?;
                fixture.write("a", "cpu.idle", "1")?;
                Ok(judge_idle_weight(fixture.number("a", "cpu.weight")?))
            },
        ),
    IDLE.case(
        "idle-groups-share-equally",
        "Two groups with cpu.idle that are alone on a CPU get a half of it each.",
        |fixture| {
            let probes =
                spinners(fixture, &[("idle", "cpu.idle", "1"), ("other", "cpu.idle", "1")])?;
            decide(fixture, &probes, &[1.0, 1.0])
        },
    ),
];

pub(crate) const TASKS: &[Case] = &[
    CPU.needing(&[Need::Controller("cpu"), Need::File("cpu.uclamp.max")]).case(
        "uclamp-max-clamps-tasks",
        "Tasks of a group are clamped to its cpu.uclamp.max.",
        |fixture| {
            // The effective clamp of a task, from /proc/PID/sched, in 1/1024.
            fixture.make("a")?;
            fixture.write("a", "cpu.uclamp.max", "25.00")?;
            let probe = fixture.start("a", "spin")?;
            let text = fixture.root.read(format!("/proc/{}/sched", probe.pid()))?;
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            let value = lines
                .find(|(name, _)| name.trim() == "effective uclamp.max")
                .and_then(|(_, value)| value.trim().parse().ok());
            let lacks = "/proc/PID/sched does not show the effective clamp";
            value.map(judge_clamp).ok_or_else(|| Stop::not_available(lacks))
        },
    ),
    REAL_TIME.case(
        "without-rt-runtime-no-task-is-real-time",
        "A group with cpu.rt_runtime_us 0 has no real-time tasks.",
        |fixture| {
            fixture.make("a")?;
            fixture.write("a", "cpu.rt_runtime_us", "0")?;
            let answer = fixture.start("a", "realtime")?.refusal()?;
            let what = "SCHED_FIFO in a group with cpu.rt_runtime_us 0";
            Ok(answered(what, answer, Some(Errno::PERM)))
        },
    ),
];

/// Creates groups with a file and its value each, and starts a probe in each, all on one CPU.
fn spinners(fixture: &Fixture, groups: &[(&str, &str, &str)]) -> Result<Vec<Running>, Error> {
    fixture.go_first()?;
    let start = |(group, file, value): &(&str, &str, &str)| {
        fixture.make(group)?;
        fixture.write(group, file, value)?;
        fixture.start_bound(group, "spin")
    };
    groups.iter().map(start).collect()
}

/// The idle group's share of both groups' time. Its weight is 3 against 1024 (`WEIGHT_IDLEPRIO`).
fn judge_idle(windows: &[Window]) -> Outcome {
    let busy = mean_busy(windows);
    let share = Interval::of_median(&first_shares(windows));
    let evidence = format!(
        "the idle group got {:.1} % of the time of both, {:.0} % of the CPU together",
        share.mean * 100.0,
        busy * 100.0
    );
    let (broken, undecided) = ("the idle group slowed the busy one", "its share varies too much");
    Outcome::decided(share.verdict_within(-0.05, 0.05), evidence, broken, undecided)
        .void_if(busy < 0.3, "other work kept the CPU busy")
}

/// The idle group must get less than the lightest one that is not idle, which gets most of the CPU.
fn judge_beside_light(windows: &[Window]) -> Outcome {
    let share = Interval::of_median(&first_shares(windows));
    let busy = mean_busy(windows);
    let evidence = format!(
        "an idle group beside one of weight 1 got {share} of what both got (by weight 3/13 = \
         0.23), {:.0} % of the CPU together",
        busy * 100.0
    );
    let (broken, undecided) = (
        "an idle group got as much as one that is not idle",
        "its share varies too much between windows",
    );
    // A share is never negative.
    Outcome::decided(share.verdict_within(f64::NEG_INFINITY, 0.4), evidence, broken, undecided)
        .void_if(busy < 0.3, "other work kept the CPU busy")
}

/// All other work on the CPU has precedence, so only what nobody used was kept from the group. `unused` is that
/// part of the CPU.
fn judge_alone(windows: &[Window], unused: f64) -> Outcome {
    let used = Interval::of_windows(windows, Window::busy);
    let evidence = format!(
        "alone on its CPU the idle group used {used} of it, and {:.0} % were used by nobody",
        100.0 * unused
    );
    let verdict = match unused {
        // Beside a busy group it would have got a few thousandths.
        unused if unused < 0.1 && used.mean > 0.2 => Verdict::Kept,
        unused if unused > 0.3 => Verdict::Broken,
        _ => Verdict::Undecided,
    };
    let (broken, undecided) =
        ("the CPU was idle although the group wanted it", "some of the CPU was used by nobody");
    Outcome::decided(verdict, evidence, broken, undecided)
        .void_if(unused < 0.1 && used.mean <= 0.2, "other work kept the CPU busy")
}

fn judge_idle_weight(weight: u64) -> Outcome {
    let evidence = format!("cpu.weight 300, then cpu.idle 1: cpu.weight reads {weight}");
    Outcome::holds(weight == 0, evidence)
}

fn judge_clamp(value: u64) -> Outcome {
    let evidence = format!("cpu.uclamp.max 25.00: a task inside is clamped to {value} of 1024");
    Outcome::holds((255..=257).contains(&value), evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::of_cpus;

    #[test]
    fn an_idle_group_with_an_equal_share_is_broken() {
        assert_eq!(judge_idle(&of_cpus(&[0.003, 0.99])).verdict, Verdict::Kept);
        assert_eq!(judge_idle(&of_cpus(&[0.5, 0.5])).verdict, Verdict::Broken);
        assert_eq!(judge_idle(&of_cpus(&[0.001, 0.1])).verdict, Verdict::Void);
    }

    #[test]
    fn an_idle_group_that_is_not_behind_is_broken() {
        assert_eq!(judge_beside_light(&of_cpus(&[0.23, 0.77])).verdict, Verdict::Kept);
        assert_eq!(judge_beside_light(&of_cpus(&[0.5, 0.5])).verdict, Verdict::Broken);
        assert_eq!(judge_beside_light(&of_cpus(&[0.05, 0.05])).verdict, Verdict::Void);
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
    fn a_missing_clamp_is_broken() {
        assert_eq!(judge_clamp(256).verdict, Verdict::Kept);
        assert_eq!(judge_clamp(1024).verdict, Verdict::Broken);
    }
}
