//! Threaded groups: threads of one process in different groups of one domain.

use assay_kernel::{Error, clock};
use rustix::io::Errno;

use crate::cases::cpu::account::{Reading, judge_usage};
use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;

/// Creates a domain `d` with threaded groups `d/t1` and `d/t2`, and a process in `d` with two
/// spinning threads. Returns the probe and the thread ids.
fn domain(fixture: &Fixture, spin: &str) -> Result<(Running, Vec<u32>), Error> {
    fixture.make("d")?;
    for group in ["d/t1", "d/t2"] {
        fixture.make(group)?;
        fixture.write(group, "cgroup.type", "threaded")?;
    }
    let mut probe = fixture.start("d", spin)?;
    let mut threads = Vec::new();
    while threads.len() < 2 {
        let line = probe.line()?.unwrap_or_default();
        match line.strip_prefix("thread ").and_then(|id| id.parse().ok()) {
            Some(id) => threads.push(id),
            None => return Err(unexpected(fixture, &line)),
        }
    }
    Ok((probe, threads))
}

fn unexpected(fixture: &Fixture, line: &str) -> Error {
    Error::unexpected(
        "start",
        &fixture.directory("d"),
        format!("unexpected output of the probe: `{line}`"),
    )
}

/// The cgroup v2 group of a thread, from /proc.
fn group_of(fixture: &Fixture, pid: u32, tid: u32) -> Result<String, Error> {
    let text = fixture.root().read(format!("/proc/{pid}/task/{tid}/cgroup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    Ok(line.rsplit('/').next().unwrap_or_default().to_owned())
}

pub(super) fn apart(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let (probe, threads) = domain(fixture, "spin threads=2")?;
    for (tid, group) in threads.iter().zip(["d/t1", "d/t2"]) {
        fixture.write(group, "cgroup.threads", &tid.to_string())?;
    }
    let mut groups = Vec::new();
    for tid in [probe.pid(), threads[0], threads[1]] {
        groups.push(group_of(fixture, probe.pid(), tid)?);
    }
    Ok(judge_apart(&groups))
}

fn judge_apart(groups: &[String]) -> Outcome {
    let evidence = format!("a process and its two threads are in {}", groups.join(", "));
    Outcome::holds(groups == ["d", "t1", "t2"], evidence)
}

/// A thread's own CPU clock compared with the count of its group.
pub(super) fn accounted_apart(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let (probe, threads) = domain(fixture, "spin threads=2")?;
    for (tid, group) in threads.iter().zip(["d/t1", "d/t2"]) {
        fixture.write(group, "cgroup.threads", &tid.to_string())?;
    }
    let (pid, tid) = (probe.pid(), threads[0]);
    if clock::thread_of_process_cpu_ns(fixture.root(), pid, tid).is_none() {
        return Err(Stop::not_available("/proc/PID/task/TID/schedstat (CONFIG_SCHED_INFO)"));
    }
    let own = || {
        clock::thread_of_process_cpu_ns(fixture.root(), pid, tid)
            .ok_or_else(|| unexpected(fixture, "end of output"))
    };
    let count = || Ok(fixture.keyed("d/t1", "cpu.stat", "usage_usec")? * 1000);
    let first = Reading::take(own, count)?;
    let before = own()?;
    fixture.wait_for(10.0, || Ok(own()?.saturating_sub(before) >= 200_000_000))?;
    let last = Reading::take(own, count)?;
    Ok(judge_usage(first, last, "one of two threads, alone in its group"))
}

/// A thread cannot be moved outside its domain.
pub(super) fn stays_in_domain(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let (_probe, threads) = domain(fixture, "spin threads=2 duty=5")?;
    fixture.make("other")?;
    let outside = fixture.refusal("other", "cgroup.threads", &threads[0].to_string());
    let inside = fixture.refusal("d/t1", "cgroup.threads", &threads[0].to_string());
    Ok(judge_domain(inside, outside))
}

fn judge_domain(inside: Option<Errno>, outside: Option<Errno>) -> Outcome {
    let evidence = format!(
        "a thread to a group of its domain: {}, to another domain: {}",
        errno_text(inside),
        errno_text(outside)
    );
    Outcome::holds(inside.is_none() && outside == Some(Errno::OPNOTSUPP), evidence)
}

/// The types of a threaded group, its parent and its child; the change is irreversible.
pub(super) fn types(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("d")?;
    fixture.make("d/t")?;
    fixture.write("d/t", "cgroup.type", "threaded")?;
    fixture.make("d/t/fresh")?;
    let types = ["d", "d/t", "d/t/fresh"].map(|group| fixture.read(group, "cgroup.type"));
    let types = types.into_iter().collect::<Result<Vec<String>, Error>>()?;
    let reverted = fixture.refusal("d/t", "cgroup.type", "domain");
    let procs_read = crate::errno_name::errno_of(fixture.read("d/t", "cgroup.procs"));
    Ok(judge_types(&types, reverted, procs_read))
}

fn judge_types(types: &[String], reverted: Option<Errno>, procs_read: Option<Errno>) -> Outcome {
    let evidence = format!(
        "a threaded group, the one above and a fresh one below: {}, {}, {}; back to domain: {}; \
         its cgroup.procs: {}",
        types[1],
        types[0],
        types[2],
        errno_text(reverted),
        errno_text(procs_read)
    );
    let right = types == ["domain threaded", "threaded", "domain invalid"];
    Outcome::holds(right && reverted.is_some() && procs_read == Some(Errno::OPNOTSUPP), evidence)
}

/// What would reach a whole process is refused where only some of its threads may be.
pub(super) fn kill(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let (mut probe, threads) = domain(fixture, "spin threads=2 duty=5")?;
    fixture.write("d/t1", "cgroup.threads", &threads[0].to_string())?;
    let refused = fixture.refusal("d/t1", "cgroup.kill", "1");
    Ok(judge_kill(refused, probe.ended_within(fixture.time(0.3)).is_none()))
}

fn judge_kill(refused: Option<Errno>, lives: bool) -> Outcome {
    let evidence = format!(
        "cgroup.kill of a threaded group with one of two threads: {}; the process lives: {lives}",
        errno_text(refused)
    );
    Outcome::holds(refused == Some(Errno::OPNOTSUPP) && lives, evidence)
}

pub(super) fn whole_process(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let (probe, threads) = domain(fixture, "spin threads=2 duty=5")?;
    fixture.write("d/t1", "cgroup.threads", &threads[0].to_string())?;
    fixture.write("d/t2", "cgroup.procs", &probe.pid().to_string())?;
    let all = [probe.pid(), threads[0], threads[1]];
    let groups = all.map(|tid| group_of(fixture, probe.pid(), tid));
    Ok(judge_whole(&groups.into_iter().collect::<Result<Vec<String>, Error>>()?))
}

fn judge_whole(groups: &[String]) -> Outcome {
    let evidence = format!(
        "a process and its two threads, one of them elsewhere, after a write to cgroup.procs of t2: {}",
        groups.join(", ")
    );
    Outcome::holds(groups == ["t2", "t2", "t2"], evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn threads_that_stay_together_are_broken() {
        let names = |names: [&str; 3]| names.map(str::to_owned);
        assert_eq!(judge_apart(&names(["d", "t1", "t2"])).verdict, Verdict::Kept);
        assert_eq!(judge_apart(&names(["d", "d", "d"])).verdict, Verdict::Broken);
    }

    #[test]
    fn a_thread_that_leaves_its_domain_is_broken() {
        assert_eq!(judge_domain(None, Some(Errno::OPNOTSUPP)).verdict, Verdict::Kept);
        assert_eq!(judge_domain(None, None).verdict, Verdict::Broken);
    }

    #[test]
    fn reverting_a_threaded_group_is_broken() {
        let names = ["domain threaded", "threaded", "domain invalid"].map(str::to_owned);
        let (no, not) = (Some(Errno::INVAL), Some(Errno::OPNOTSUPP));
        assert_eq!(judge_types(&names, no, not).verdict, Verdict::Kept);
        assert_eq!(judge_types(&names, None, not).verdict, Verdict::Broken);
    }

    #[test]
    fn killing_by_a_threaded_group_is_broken() {
        assert_eq!(judge_kill(Some(Errno::OPNOTSUPP), true).verdict, Verdict::Kept);
        assert_eq!(judge_kill(None, false).verdict, Verdict::Broken);
        assert_eq!(judge_kill(Some(Errno::OPNOTSUPP), false).verdict, Verdict::Broken);
    }

    #[test]
    fn a_thread_that_stays_behind_is_broken() {
        let names = |names: [&str; 3]| names.map(str::to_owned);
        assert_eq!(judge_whole(&names(["t2", "t2", "t2"])).verdict, Verdict::Kept);
        assert_eq!(judge_whole(&names(["t2", "t1", "t2"])).verdict, Verdict::Broken);
    }
}
