//! Threaded groups: threads of one process in different groups of one domain.

use assay_kernel::{Error, clock};
use rustix::io::Errno;

use crate::cases::cpu::account::{Reading, judge_usage};
use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::outcome::Outcome;
use crate::running::Running;

/// A domain `d` with threaded groups `d/t1` and `d/t2`, and a process in `d` with two spinning
/// threads, of which the ids come back.
fn domain(ground: &Fixture, spin: &str) -> Result<(Running, Vec<u32>), Error> {
    ground.make("d")?;
    for group in ["d/t1", "d/t2"] {
        ground.make(group)?;
        ground.write(group, "cgroup.type", "threaded")?;
    }
    let mut probe = ground.start("d", spin)?;
    let mut threads = Vec::new();
    while threads.len() < 2 {
        let line = probe.line()?.unwrap_or_default();
        match line.strip_prefix("thread ").and_then(|id| id.parse().ok()) {
            Some(id) => threads.push(id),
            None => return Err(unexpected(ground, &line)),
        }
    }
    Ok((probe, threads))
}

fn unexpected(ground: &Fixture, line: &str) -> Error {
    Error::unexpected("start", &ground.directory("d"), format!("the probe said `{line}`"))
}

/// The group of a thread on cgroup v2, as /proc tells it.
fn group_of(ground: &Fixture, pid: u32, tid: u32) -> Result<String, Error> {
    let text = ground.root().read(format!("/proc/{pid}/task/{tid}/cgroup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    Ok(line.rsplit('/').next().unwrap_or_default().to_owned())
}

pub(super) fn apart(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (probe, threads) = domain(ground, "spin threads=2")?;
    for (tid, group) in threads.iter().zip(["d/t1", "d/t2"]) {
        ground.write(group, "cgroup.threads", &tid.to_string())?;
    }
    let mut found = Vec::new();
    for tid in [probe.pid(), threads[0], threads[1]] {
        found.push(group_of(ground, probe.pid(), tid)?);
    }
    Ok(judge_apart(&found))
}

fn judge_apart(found: &[String]) -> Outcome {
    let seen = format!("a process and its two threads are in {}", found.join(", "));
    Outcome::holds(found == ["d", "t1", "t2"], seen)
}

/// CPU time of a thread by its own clock against what its group counts.
pub(super) fn accounted_apart(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (probe, threads) = domain(ground, "spin threads=2")?;
    for (tid, group) in threads.iter().zip(["d/t1", "d/t2"]) {
        ground.write(group, "cgroup.threads", &tid.to_string())?;
    }
    let (pid, tid) = (probe.pid(), threads[0]);
    if clock::thread_of_process_cpu_ns(ground.root(), pid, tid).is_none() {
        return Ok(Outcome::not_available("/proc/PID/task/TID/schedstat (CONFIG_SCHED_INFO)"));
    }
    let own = || {
        clock::thread_of_process_cpu_ns(ground.root(), pid, tid)
            .ok_or_else(|| unexpected(ground, "nothing more: it has ended"))
    };
    let count = || Ok(ground.keyed("d/t1", "cpu.stat", "usage_usec")? * 1000);
    let first = Reading::take(own, count)?;
    let before = own()?;
    ground.wait_for(10.0, || Ok(own()?.saturating_sub(before) >= 200_000_000))?;
    let last = Reading::take(own, count)?;
    Ok(judge_usage(first, last, "one of two threads, alone in its group"))
}

/// A thread cannot go to a group outside its domain.
pub(super) fn stays_in_domain(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (_probe, threads) = domain(ground, "spin threads=2 duty=5")?;
    ground.make("other")?;
    let outside = ground.refusal("other", "cgroup.threads", &threads[0].to_string());
    let inside = ground.refusal("d/t1", "cgroup.threads", &threads[0].to_string());
    Ok(judge_domain(inside, outside))
}

fn judge_domain(inside: Option<Errno>, outside: Option<Errno>) -> Outcome {
    let seen = format!(
        "a thread to a group of its domain: {}, to another domain: {}",
        words(inside),
        words(outside)
    );
    Outcome::holds(inside.is_none() && outside == Some(Errno::OPNOTSUPP), seen)
}

/// What types a threaded group makes of its surroundings, and that the way is one-way.
pub(super) fn types(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("d")?;
    ground.make("d/t")?;
    ground.write("d/t", "cgroup.type", "threaded")?;
    ground.make("d/t/fresh")?;
    let found = ["d", "d/t", "d/t/fresh"].map(|group| ground.read(group, "cgroup.type"));
    let found = found.into_iter().collect::<Result<Vec<String>, Error>>()?;
    let back = ground.refusal("d/t", "cgroup.type", "domain");
    let listed = crate::errno_name::errno_name(ground.read("d/t", "cgroup.procs"));
    Ok(judge_types(&found, back, listed))
}

fn judge_types(found: &[String], back: Option<Errno>, listed: Option<Errno>) -> Outcome {
    let seen = format!(
        "a threaded group, the one above and a fresh one below: {}, {}, {}; back to domain: {}; \
         its cgroup.procs: {}",
        found[1],
        found[0],
        found[2],
        words(back),
        words(listed)
    );
    let right = found == ["domain threaded", "threaded", "domain invalid"];
    Outcome::holds(right && back.is_some() && listed == Some(Errno::OPNOTSUPP), seen)
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
    fn a_way_back_from_threaded_is_broken() {
        let names = ["domain threaded", "threaded", "domain invalid"].map(str::to_owned);
        let (no, not) = (Some(Errno::INVAL), Some(Errno::OPNOTSUPP));
        assert_eq!(judge_types(&names, no, not).verdict, Verdict::Kept);
        assert_eq!(judge_types(&names, None, not).verdict, Verdict::Broken);
    }
}
