//! Threaded groups: threads of one process in different groups of one domain.

use assay_sys::kernel::clock;

use super::*;
use crate::cases::cpu::account::{Reading, judge_usage};

const THREADS: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, Threads");

pub(crate) const CASES: &[Case] = &[
    THREADS.case(
        "threads-of-one-process-go-apart",
        "Threads of one process can be in different threaded groups of one domain.",
        |fixture| {
            let (probe, threads) = apart(fixture)?;
            let what = "a process and its two threads are in";
            Ok(judge_groups(what, &groups(fixture, &probe, &threads)?, ["d", "t1", "t2"]))
        },
    ),
    THREADS.case(
        "threads-are-accounted-apart",
        "cpu.stat of a threaded group counts the threads inside it, not the whole process.",
        |fixture| {
            // A thread's own CPU clock compared with the count of its group.
            let (probe, threads) = apart(fixture)?;
            let clock = || clock::thread_of_process_cpu_ns(fixture.root, probe.pid(), threads[0]);
            if clock().is_none() {
                let lacks = "/proc/PID/task/TID/schedstat (CONFIG_SCHED_INFO)";
                return Err(Stop::not_available(lacks));
            }
            let own = || clock().ok_or_else(|| probe.ended());
            let count = || Ok(fixture.keyed("d/t1", "cpu.stat", "usage_usec")? * 1000);
            let first = Reading::take(own, count)?;
            let before = own()?;
            fixture.wait_for(10.0, || Ok(own()?.saturating_sub(before) >= 200_000_000))?;
            let last = Reading::take(own, count)?;
            Ok(judge_usage(first, last, "one of two threads, alone in its group"))
        },
    ),
    THREADS.case(
        "threads-stay-in-their-domain",
        "A thread cannot be moved to a group of another domain.",
        |fixture| {
            let (_probe, threads) = domain(fixture, "spin threads=2 duty=5")?;
            fixture.make("other")?;
            let attach = |group| fixture.refusal(group, "cgroup.threads", &threads[0].to_string());
            let outside = ("to another domain", attach("other"));
            let inside = ("a thread to a group of its domain", attach("d/t1"));
            Ok(refused(inside, outside, Errno::OPNOTSUPP))
        },
    ),
    THREADS.case(
        "threaded-is-one-way",
        "Making a group threaded makes its parent a threaded domain, and is irreversible.",
        |fixture| {
            fixture.make_each(&["d", "d/t"])?;
            fixture.write("d/t", "cgroup.type", "threaded")?;
            fixture.make("d/t/fresh")?;
            let types = ["d", "d/t", "d/t/fresh"].map(|group| fixture.read(group, "cgroup.type"));
            let types = types.into_iter().collect::<Result<Vec<String>, Error>>()?;
            let reverted = fixture.refusal("d/t", "cgroup.type", "domain");
            Ok(judge_types(&types, reverted, errno_of(fixture.read("d/t", "cgroup.procs"))))
        },
    ),
    THREADS.needing(&[Need::V2, Need::File("cgroup.kill")]).case(
        "kill-of-a-threaded-group-fails",
        "Writing cgroup.kill in a threaded group fails with EOPNOTSUPP and kills nobody.",
        |fixture| {
            // What would reach a whole process is refused where only some of its threads may be.
            let (mut probe, threads) = domain(fixture, "spin threads=2 duty=5")?;
            fixture.write("d/t1", "cgroup.threads", &threads[0].to_string())?;
            let refused = fixture.refusal("d/t1", "cgroup.kill", "1");
            Ok(judge_kill(refused, probe.ended_within(fixture.time(0.3)).is_none()))
        },
    ),
    THREADS.case(
        "procs-of-a-threaded-group-take-whole-processes",
        "Writing to cgroup.procs of a threaded group moves every thread of the process there.",
        |fixture| {
            let (probe, threads) = domain(fixture, "spin threads=2 duty=5")?;
            fixture.write("d/t1", "cgroup.threads", &threads[0].to_string())?;
            fixture.move_to("d/t2", &probe)?;
            let what = "a process and its two threads, one of them elsewhere, after a write to \
                        cgroup.procs of t2:";
            Ok(judge_groups(what, &groups(fixture, &probe, &threads)?, ["t2", "t2", "t2"]))
        },
    ),
];

/// Creates a domain `d` with threaded groups `d/t1` and `d/t2`, and a process in `d` with two
/// spinning threads. Returns the probe and the thread ids.
fn domain(fixture: &Fixture, spin: &str) -> Result<(Running, [u32; 2]), Error> {
    fixture.make("d")?;
    for group in ["d/t1", "d/t2"] {
        fixture.make(group)?;
        fixture.write(group, "cgroup.type", "threaded")?;
    }
    let mut probe = fixture.start("d", spin)?;
    let threads = [probe.value("thread ")?, probe.value("thread ")?];
    Ok((probe, threads))
}

/// The same with a thread in each of the two groups.
fn apart(fixture: &Fixture) -> Result<(Running, [u32; 2]), Error> {
    let (probe, threads) = domain(fixture, "spin threads=2")?;
    for (tid, group) in threads.iter().zip(["d/t1", "d/t2"]) {
        fixture.write(group, "cgroup.threads", &tid.to_string())?;
    }
    Ok((probe, threads))
}

/// The cgroup v2 groups of a process and of its threads, from /proc.
fn groups(fixture: &Fixture, probe: &Running, threads: &[u32]) -> Result<Vec<String>, Error> {
    let pid = probe.pid();
    let group = |tid: &u32| {
        let text = fixture.root.read(format!("/proc/{pid}/task/{tid}/cgroup"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
        Ok(line.rsplit('/').next().unwrap_or_default().to_owned())
    };
    [pid].iter().chain(threads).map(group).collect()
}

fn judge_groups(what: &str, groups: &[String], expected: [&str; 3]) -> Outcome {
    Outcome::holds(groups == expected, format!("{what} {}", groups.join(", ")))
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

fn judge_kill(refused: Option<Errno>, lives: bool) -> Outcome {
    let evidence = format!(
        "cgroup.kill of a threaded group with one of two threads: {}; the process lives: {lives}",
        errno_text(refused)
    );
    Outcome::holds(refused == Some(Errno::OPNOTSUPP) && lives, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_in_other_groups_than_expected_are_broken() {
        let judge = |groups: [&str; 3], expected| {
            judge_groups("x", &groups.map(str::to_owned), expected).verdict
        };
        assert_eq!(judge(["d", "t1", "t2"], ["d", "t1", "t2"]), Verdict::Kept);
        assert_eq!(judge(["d", "d", "d"], ["d", "t1", "t2"]), Verdict::Broken);
        assert_eq!(judge(["t2", "t1", "t2"], ["t2", "t2", "t2"]), Verdict::Broken);
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
}
