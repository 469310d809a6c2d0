//! pids: the number of tasks that a group may have.

use assay_sys::kernel::process;
use rustix::process::Signal;

use super::prelude::*;

const PIDS: Topic = Topic::new(
    "pids",
    "Documentation/admin-guide/cgroup-v2.rst, PID Interface Files",
    &[Need::Controller("pids")],
);

pub(super) const CASES: &[Case] = &[
    PIDS.case(
        "fork-above-the-limit-fails",
        "A fork that would exceed pids.max fails with EAGAIN.",
        |fixture| {
            let (forked, refused) = forks(&mut group_with_limit(fixture, "4")?)?;
            Ok(judge_refusal(4, forked, refused))
        },
    ),
    PIDS.case(
        "forks-far-below-the-limit-succeed",
        "A limit far above what a group needs refuses nothing and counts nothing.",
        |fixture| {
            let (forked, refused) = forks(&mut group_with_limit(fixture, "1000")?)?;
            // pids.events exists only since Linux 4.8.
            let events = fixture.keyed("a", "pids.events", "max").unwrap_or(0);
            let evidence =
                format!("pids.max 1000: {forked} of 8 children, refusals counted: {events}");
            Ok(Outcome::holds(forked == 8 && refused.is_none() && events == 0, evidence))
        },
    ),
    PIDS.needing(&[Need::Controller("pids"), Need::File("pids.events")]).case(
        "refusals-are-counted",
        "Each fork that pids.max refuses is counted in pids.events.",
        |fixture| {
            let mut probe = group_with_limit(fixture, "4")?;
            let mut refusals = 0;
            for _ in 0..3 {
                refusals += u64::from(forks(&mut probe)?.1.is_some());
            }
            Ok(judge_count(refusals, fixture.keyed("a", "pids.events", "max")?))
        },
    ),
    PIDS.case(
        "a-limit-binds-the-whole-subtree",
        "A fork in a group without a limit fails when one of its ancestors is full.",
        |fixture| {
            fixture.make_parent("a")?;
            fixture.write("a", "pids.max", "4")?;
            let (forked, refused) = forks(&mut fixture.start_in("a/b", "fork count=8")?)?;
            Ok(judge_refusal(4, forked, refused).with("the limit is the parent's"))
        },
    ),
    PIDS.case(
        "current-counts-every-task",
        "pids.current is the number of tasks in the group and its descendants, threads included.",
        |fixture| {
            fixture.make_parent("a")?;
            let spinner = fixture.start_in("a/b", "spin threads=3 duty=5")?;
            let sleeper = fixture.start("a/b", "echo")?;
            let tasks = threads(fixture, &spinner)? + threads(fixture, &sleeper)?;
            Ok(judge_current(tasks, fixture.number("a", "pids.current")?))
        },
    ),
    PIDS.needing(&[Need::Controller("pids"), Need::File("pids.peak")]).case(
        "peak-remembers-the-most",
        "pids.peak keeps the largest number of tasks after they have ended.",
        |fixture| {
            let mut probe = group_with_limit(fixture, "max")?;
            let (forked, _) = forks(&mut probe)?;
            let children = fixture.tree.processes("a")?;
            for pid in children.into_iter().filter(|pid| *pid != probe.pid()) {
                process::send(pid, Signal::KILL)?;
            }
            if !fixture.wait_for(2.0, || Ok(fixture.number("a", "pids.current")? == 1))? {
                return Ok(Outcome::void("the children did not end"));
            }
            Ok(judge_peak(u64::from(forked) + 1, fixture.number("a", "pids.peak")?))
        },
    ),
    PIDS.case(
        "attaching-is-never-refused",
        "Moving a process into a full group succeeds, and pids.current is then above pids.max.",
        |fixture| {
            let _full = group_with_limit(fixture, "1")?;
            let probe = fixture.start_in("b", "echo")?;
            let answer = fixture.attach("a", &probe);
            Ok(judge_attach(answer, fixture.number("a", "pids.current")?))
        },
    ),
];

/// Output of the probe `fork`: the number of children, and the refusal.
fn forks(probe: &mut Running) -> Result<(u32, Option<Errno>), Error> {
    probe.send("go");
    Ok((probe.value("forked ")?, probe.refusal()?))
}

fn group_with_limit(fixture: &Fixture, limit: &str) -> Result<Running, Error> {
    fixture.make("a")?;
    fixture.write("a", "pids.max", limit)?;
    fixture.start("a", "fork count=8")
}

/// Threads of a process, as counted by /proc.
fn threads(fixture: &Fixture, probe: &Running) -> Result<u64, Error> {
    Ok(fixture.root.list(format!("/proc/{}/task", probe.pid()))?.len() as u64)
}

/// The probe itself counts as one of the allowed tasks.
fn judge_refusal(limit: u32, forked: u32, refused: Option<Errno>) -> Outcome {
    let evidence = format!(
        "pids.max {limit}: {forked} children in addition to their parent, then {}",
        errno_text(refused)
    );
    Outcome::holds(forked + 1 == limit && refused == Some(Errno::AGAIN), evidence)
}

fn judge_count(refusals: u64, counted: u64) -> Outcome {
    Outcome::holds(counted == refusals, format!("{refusals} forks refused, {counted} counted"))
        .void_if(refusals == 0, "no fork was refused")
}

fn judge_current(tasks: u64, counted: u64) -> Outcome {
    let evidence = format!("{tasks} tasks in a child group, pids.current of its parent {counted}");
    Outcome::holds(tasks == counted, evidence)
}

fn judge_peak(most: u64, peak: u64) -> Outcome {
    Outcome::holds(peak == most, format!("{most} tasks at most, 1 now, pids.peak {peak}"))
}

fn judge_attach(answer: Option<Errno>, current: u64) -> Outcome {
    let evidence =
        format!("pids.max 1, a second process attached: {}, {current} inside", errno_text(answer));
    Outcome::holds(answer.is_none() && current == 2, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_task_too_many_or_another_errno_is_broken() {
        assert_eq!(judge_refusal(4, 3, Some(Errno::AGAIN)).verdict, Verdict::Kept);
        assert_eq!(judge_refusal(4, 4, Some(Errno::AGAIN)).verdict, Verdict::Broken);
        assert_eq!(judge_refusal(4, 3, Some(Errno::NOMEM)).verdict, Verdict::Broken);
        assert_eq!(judge_refusal(4, 8, None).verdict, Verdict::Broken);
    }

    #[test]
    fn counters_that_miss_a_task_or_a_refusal_are_broken() {
        assert_eq!(judge_count(3, 3).verdict, Verdict::Kept);
        assert_eq!(judge_count(3, 1).verdict, Verdict::Broken);
        assert_eq!(judge_count(0, 0).verdict, Verdict::Void);
        assert_eq!(judge_current(5, 4).verdict, Verdict::Broken);
        assert_eq!(judge_peak(9, 0).verdict, Verdict::Broken);
    }

    #[test]
    fn a_refused_attach_is_broken() {
        assert_eq!(judge_attach(Some(Errno::AGAIN), 1).verdict, Verdict::Broken);
        assert_eq!(judge_attach(None, 2).verdict, Verdict::Kept);
    }
}
