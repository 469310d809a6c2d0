//! pids: how many tasks a group may have.

use assay_kernel::{Error, process};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::case::Case;
use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::Outcome;
use crate::running::Running;

const DOCUMENT: &str = "Documentation/admin-guide/cgroup-v2.rst, PID Interface Files";

pub(super) const CASES: &[Case] = &[
    Case {
        controller: "pids",
        behaviour: "fork-above-the-limit-fails",
        promise: "A fork that would exceed pids.max fails with EAGAIN.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids")],
        run: fork_above_the_limit,
    },
    Case {
        controller: "pids",
        behaviour: "forks-far-below-the-limit-succeed",
        promise: "A limit far above what a group needs refuses nothing and counts nothing.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids")],
        run: forks_below_the_limit,
    },
    Case {
        controller: "pids",
        behaviour: "refusals-are-counted",
        promise: "Each fork that pids.max refuses is counted in pids.events.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids"), Need::File("pids.events")],
        run: refusals_are_counted,
    },
    Case {
        controller: "pids",
        behaviour: "a-limit-binds-the-whole-subtree",
        promise: "A fork in a group without a limit fails when a group above it is full.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids")],
        run: limit_of_the_parent,
    },
    Case {
        controller: "pids",
        behaviour: "current-counts-every-task",
        promise: "pids.current is the number of tasks in the group and below it, threads included.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids")],
        run: current,
    },
    Case {
        controller: "pids",
        behaviour: "peak-remembers-the-most",
        promise: "pids.peak keeps the largest number of tasks when they have gone.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids"), Need::File("pids.peak")],
        run: peak,
    },
    Case {
        controller: "pids",
        behaviour: "attaching-is-never-refused",
        promise: "Moving a process into a full group succeeds, and pids.current is then above pids.max.",
        documented: DOCUMENT,
        needs: &[Need::Controller("pids")],
        run: attach_above_the_limit,
    },
];

/// What a probe of `fork` said: how many children it got, and the refusal.
fn forks(probe: &mut Running) -> Result<(u32, Option<Errno>), Error> {
    probe.say("go");
    let forked = probe.line()?.unwrap_or_default();
    let refused = probe.line()?.unwrap_or_default();
    let number = |text: &str, word: &str| text.strip_prefix(word)?.trim().parse::<i32>().ok();
    let forked = number(&forked, "forked").unwrap_or(0).unsigned_abs();
    Ok((forked, number(&refused, "refused").map(Errno::from_raw_os_error)))
}

fn group_with_limit(ground: &Fixture, limit: &str) -> Result<Running, Error> {
    ground.make("a")?;
    ground.write("a", "pids.max", limit)?;
    ground.start("a", "fork count=8")
}

fn fork_above_the_limit(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (forked, refused) = forks(&mut group_with_limit(ground, "4")?)?;
    Ok(judge_refusal(4, forked, refused))
}

/// The probe itself is one of the tasks that the limit allows.
fn judge_refusal(limit: u32, forked: u32, refused: Option<Errno>) -> Outcome {
    let seen =
        format!("pids.max {limit}: {forked} children beside their parent, then {}", words(refused));
    Outcome::holds(forked + 1 == limit && refused == Some(Errno::AGAIN), seen)
}

fn forks_below_the_limit(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (forked, refused) = forks(&mut group_with_limit(ground, "1000")?)?;
    // A counter of its own only since Linux 4.8.
    let events = ground.keyed("a", "pids.events", "max").unwrap_or(0);
    let seen = format!("pids.max 1000: {forked} of 8 children, refusals counted: {events}");
    Ok(Outcome::holds(forked == 8 && refused.is_none() && events == 0, seen))
}

fn refusals_are_counted(ground: &mut Fixture) -> Result<Outcome, Error> {
    let mut probe = group_with_limit(ground, "4")?;
    let mut refusals = 0;
    for _ in 0..3 {
        refusals += u64::from(forks(&mut probe)?.1.is_some());
    }
    Ok(judge_count(refusals, ground.keyed("a", "pids.events", "max")?))
}

fn judge_count(refusals: u64, counted: u64) -> Outcome {
    let seen = format!("{refusals} forks refused, {counted} counted");
    if refusals == 0 {
        return Outcome::void("no fork was refused").with(seen);
    }
    Outcome::holds(counted == refusals, seen)
}

fn limit_of_the_parent(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make_parent("a")?;
    ground.make("a/b")?;
    ground.write("a", "pids.max", "4")?;
    let (forked, refused) = forks(&mut ground.start("a/b", "fork count=8")?)?;
    Ok(judge_refusal(4, forked, refused).with("the limit is the parent's"))
}

fn current(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make_parent("a")?;
    ground.make("a/b")?;
    let mut probes = vec![ground.start("a/b", "spin threads=3 duty=5")?];
    probes.push(ground.start("a/b", "echo")?);
    let tasks = probes.iter().map(|probe| threads(ground, probe)).sum::<Result<u64, Error>>()?;
    Ok(judge_current(tasks, ground.number("a", "pids.current")?))
}

/// Threads of a process, as /proc counts them.
fn threads(ground: &Fixture, probe: &Running) -> Result<u64, Error> {
    Ok(ground.root().list(format!("/proc/{}/task", probe.pid()))?.len() as u64)
}

fn judge_current(tasks: u64, counted: u64) -> Outcome {
    let seen = format!("{tasks} tasks in a child group, pids.current of its parent {counted}");
    Outcome::holds(tasks == counted, seen)
}

fn peak(ground: &mut Fixture) -> Result<Outcome, Error> {
    let mut probe = group_with_limit(ground, "max")?;
    let (forked, _) = forks(&mut probe)?;
    let children = ground.tree().processes("a")?;
    for pid in children.into_iter().filter(|pid| *pid != probe.pid()) {
        process::send(pid, Signal::KILL)?;
    }
    let emptied = ground.wait_for(2.0, || Ok(ground.number("a", "pids.current")? == 1))?;
    if !emptied {
        return Ok(Outcome::void("the children did not end"));
    }
    Ok(judge_peak(u64::from(forked) + 1, ground.number("a", "pids.peak")?))
}

fn judge_peak(most: u64, peak: u64) -> Outcome {
    Outcome::holds(peak == most, format!("{most} tasks at most, 1 now, pids.peak {peak}"))
}

fn attach_above_the_limit(ground: &mut Fixture) -> Result<Outcome, Error> {
    let _full = group_with_limit(ground, "1")?;
    ground.make("b")?;
    let probe = ground.start("b", "echo")?;
    let said = ground.refusal("a", "cgroup.procs", &probe.pid().to_string());
    Ok(judge_attach(said, ground.number("a", "pids.current")?))
}

fn judge_attach(said: Option<Errno>, current: u64) -> Outcome {
    let seen = format!("pids.max 1, a second process attached: {}, {current} inside", words(said));
    Outcome::holds(said.is_none() && current == 2, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_kernel_that_lets_one_more_through_or_answers_otherwise_is_broken() {
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
    fn an_attach_that_is_refused_is_broken() {
        assert_eq!(judge_attach(Some(Errno::AGAIN), 1).verdict, Verdict::Broken);
        assert_eq!(judge_attach(None, 2).verdict, Verdict::Kept);
    }
}
