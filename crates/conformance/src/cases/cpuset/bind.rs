//! Threads run on the CPUs of their cpuset.

use std::collections::BTreeSet;

use assay_kernel::{Error, affinity};
use rustix::io::Errno;

use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;

/// Number of times that the last CPU of a spinning thread is read.
const LOOKS: usize = 20;

/// CPUs that threads may use, and those that they ran on.
#[derive(Debug, Default, PartialEq, Eq)]
struct ThreadCpus {
    allowed: BTreeSet<u16>,
    ran: BTreeSet<u16>,
}

/// The first and the last CPU of this host.
fn two_cpus(fixture: &Fixture) -> (u16, u16) {
    (fixture.facts().cpus.allowed.iter().next().unwrap_or(0), fixture.cpu())
}

fn spinner(fixture: &Fixture, group: &str) -> Result<(Running, Vec<u32>), Error> {
    let mut probe = fixture.start(group, "spin threads=2")?;
    let mut threads = Vec::new();
    for _ in 0..2 {
        let line = probe.line()?.unwrap_or_default();
        threads.extend(line.strip_prefix("thread ").and_then(|id| id.parse::<u32>().ok()));
    }
    Ok((probe, threads))
}

fn look(fixture: &Fixture, threads: &[u32]) -> Result<ThreadCpus, Error> {
    let mut observed = ThreadCpus::default();
    for _ in 0..LOOKS {
        fixture.pause(0.01)?;
        for thread in threads {
            observed.allowed.extend(affinity::allowed_cpus(*thread)?);
            observed.ran.extend(affinity::last_cpu(fixture.root(), *thread));
        }
    }
    Ok(observed)
}

fn list(cpus: &BTreeSet<u16>) -> String {
    cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

fn judge_bound(observed: &ThreadCpus, expected: &BTreeSet<u16>, what: &str) -> Outcome {
    let evidence = format!(
        "{what}: 2 spinning threads may use CPUs {} and ran on {}, {LOOKS} looks",
        list(&observed.allowed),
        list(&observed.ran)
    );
    if observed.ran.is_empty() {
        return Outcome::void("the threads have ended").with(evidence);
    }
    Outcome::holds(observed.allowed == *expected && observed.ran.is_subset(expected), evidence)
}

pub(super) fn threads(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let cpu = fixture.cpu();
    fixture.write("a", "cpuset.cpus", &cpu.to_string())?;
    let (_probe, threads) = spinner(fixture, "a")?;
    let observed = look(fixture, &threads)?;
    Ok(judge_bound(&observed, &BTreeSet::from([cpu]), &format!("cpuset.cpus {cpu}")))
}

pub(super) fn moved(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let (first, last) = two_cpus(fixture);
    fixture.make("a")?;
    fixture.write("a", "cpuset.cpus", &first.to_string())?;
    let (_probe, threads) = spinner(fixture, "a")?;
    let before = look(fixture, &threads)?;
    fixture.write("a", "cpuset.cpus", &last.to_string())?;
    // A thread that runs is moved by the stopper of its CPU, a moment later.
    fixture.pause(0.1)?;
    let after = look(fixture, &threads)?;
    Ok(Outcome::all([
        judge_bound(&before, &BTreeSet::from([first]), &format!("cpuset.cpus {first}")),
        judge_bound(&after, &BTreeSet::from([last]), &format!("changed to {last}")),
    ]))
}

/// A group without a list (v2), or with its parent's list (v1), binds nothing.
pub(super) fn unbound(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let (_probe, threads) = spinner(fixture, "a")?;
    let observed = look(fixture, &threads)?;
    let all: BTreeSet<u16> = fixture.facts().cpus.allowed.iter().collect();
    Ok(judge_bound(&observed, &all, "no list"))
}

/// CPUs that the parent lacks: v1 refuses them, v2 ignores them.
pub(super) fn outside_parent(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let (first, last) = two_cpus(fixture);
    fixture.make_parent("a")?;
    fixture.make("a/b")?;
    // On v1 the child has all of its parent's CPUs, which prevents the parent from losing any.
    fixture.write("a/b", "cpuset.cpus", &first.to_string())?;
    fixture.write("a", "cpuset.cpus", &first.to_string())?;
    let answer = fixture.refusal("a/b", "cpuset.cpus", &last.to_string());
    if !fixture.is_v2() {
        return Ok(judge_refused(answer));
    }
    let (_probe, threads) = spinner(fixture, "a/b")?;
    let observed = look(fixture, &threads)?;
    let what = format!("parent {first}, child {last} ({})", errno_text(answer));
    Ok(judge_bound(&observed, &BTreeSet::from([first]), &what))
}

fn judge_refused(answer: Option<Errno>) -> Outcome {
    let evidence = format!("a CPU that the parent lacks: {}, expected EACCES", errno_text(answer));
    Outcome::holds(answer == Some(Errno::ACCESS), evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_thread_that_runs_or_may_run_elsewhere_is_broken() {
        let expected = BTreeSet::from([1]);
        let judge = |allowed: &[u16], ran: &[u16]| {
            let observed = ThreadCpus {
                allowed: allowed.iter().copied().collect(),
                ran: ran.iter().copied().collect(),
            };
            judge_bound(&observed, &expected, "x").verdict
        };
        assert_eq!(judge(&[1], &[1]), Verdict::Kept);
        assert_eq!(judge(&[0, 1], &[1]), Verdict::Broken);
        assert_eq!(judge(&[1], &[0, 1]), Verdict::Broken);
        assert_eq!(judge(&[1], &[]), Verdict::Void);
    }

    #[test]
    fn a_child_with_more_cpus_than_its_parent_is_broken() {
        assert_eq!(judge_refused(None).verdict, Verdict::Broken);
        assert_eq!(judge_refused(Some(Errno::ACCESS)).verdict, Verdict::Kept);
    }
}
