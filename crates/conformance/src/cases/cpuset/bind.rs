//! Threads run where their cpuset says.

use std::collections::BTreeSet;

use assay_kernel::{Error, affinity};
use rustix::io::Errno;

use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::outcome::Outcome;
use crate::running::Running;

/// Looks at the last CPU of a thread while it spins.
const LOOKS: usize = 20;

/// What was seen of threads: the CPUs that they may use, and those that they ran on.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    allowed: BTreeSet<u16>,
    ran: BTreeSet<u16>,
}

/// The first and the last CPU of this host.
fn two_cpus(ground: &Fixture) -> (u16, u16) {
    (ground.facts().cpus.allowed.iter().next().unwrap_or(0), ground.cpu())
}

fn spinner(ground: &Fixture, group: &str) -> Result<(Running, Vec<u32>), Error> {
    let mut probe = ground.start(group, "spin threads=2")?;
    let mut threads = Vec::new();
    for _ in 0..2 {
        let line = probe.line()?.unwrap_or_default();
        threads.extend(line.strip_prefix("thread ").and_then(|id| id.parse::<u32>().ok()));
    }
    Ok((probe, threads))
}

fn look(ground: &Fixture, threads: &[u32]) -> Result<Seen, Error> {
    let mut seen = Seen::default();
    for _ in 0..LOOKS {
        ground.pause(0.01)?;
        for thread in threads {
            seen.allowed.extend(affinity::of(*thread)?);
            seen.ran.extend(affinity::last_cpu(ground.root(), *thread));
        }
    }
    Ok(seen)
}

fn list(cpus: &BTreeSet<u16>) -> String {
    cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

fn judge_bound(seen: &Seen, wanted: &BTreeSet<u16>, what: &str) -> Outcome {
    let evidence = format!(
        "{what}: 2 spinning threads may use CPUs {} and ran on {}, {LOOKS} looks",
        list(&seen.allowed),
        list(&seen.ran)
    );
    if seen.ran.is_empty() {
        return Outcome::void("the threads have ended").with(evidence);
    }
    Outcome::holds(seen.allowed == *wanted && seen.ran.is_subset(wanted), evidence)
}

pub(super) fn threads(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let cpu = ground.cpu();
    ground.write("a", "cpuset.cpus", &cpu.to_string())?;
    let (_probe, threads) = spinner(ground, "a")?;
    let seen = look(ground, &threads)?;
    Ok(judge_bound(&seen, &BTreeSet::from([cpu]), &format!("cpuset.cpus {cpu}")))
}

pub(super) fn moved(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (first, last) = two_cpus(ground);
    ground.make("a")?;
    ground.write("a", "cpuset.cpus", &first.to_string())?;
    let (_probe, threads) = spinner(ground, "a")?;
    let before = look(ground, &threads)?;
    ground.write("a", "cpuset.cpus", &last.to_string())?;
    // A thread that runs is moved by the stopper of its CPU, a moment later.
    ground.pause(0.1)?;
    let after = look(ground, &threads)?;
    Ok(Outcome::all([
        judge_bound(&before, &BTreeSet::from([first]), &format!("cpuset.cpus {first}")),
        judge_bound(&after, &BTreeSet::from([last]), &format!("changed to {last}")),
    ]))
}

/// A group without a list of its own (v2), or with its parent's (v1), binds nothing.
pub(super) fn unbound(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let (_probe, threads) = spinner(ground, "a")?;
    let seen = look(ground, &threads)?;
    let all: BTreeSet<u16> = ground.facts().cpus.allowed.iter().collect();
    Ok(judge_bound(&seen, &all, "no list of its own"))
}

/// CPUs that the parent lacks: v1 refuses them, v2 leaves them out.
pub(super) fn outside_parent(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (first, last) = two_cpus(ground);
    ground.make_parent("a")?;
    ground.make("a/b")?;
    // On v1 the child has all of its parent's CPUs, which holds the parent back from losing any.
    ground.write("a/b", "cpuset.cpus", &first.to_string())?;
    ground.write("a", "cpuset.cpus", &first.to_string())?;
    let said = ground.refusal("a/b", "cpuset.cpus", &last.to_string());
    if !ground.is_v2() {
        return Ok(judge_refused(said));
    }
    let (_probe, threads) = spinner(ground, "a/b")?;
    let seen = look(ground, &threads)?;
    let what = format!("parent {first}, child {last} ({})", words(said));
    Ok(judge_bound(&seen, &BTreeSet::from([first]), &what))
}

fn judge_refused(said: Option<Errno>) -> Outcome {
    let seen = format!("a CPU that the parent lacks: {}, to be EACCES", words(said));
    Outcome::holds(said == Some(Errno::ACCESS), seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_thread_that_runs_or_may_run_elsewhere_is_broken() {
        let wanted = BTreeSet::from([1]);
        let judge = |allowed: &[u16], ran: &[u16]| {
            let seen = Seen {
                allowed: allowed.iter().copied().collect(),
                ran: ran.iter().copied().collect(),
            };
            judge_bound(&seen, &wanted, "x").verdict
        };
        assert_eq!(judge(&[1], &[1]), Verdict::Kept);
        assert_eq!(judge(&[0, 1], &[1]), Verdict::Broken);
        assert_eq!(judge(&[1], &[0, 1]), Verdict::Broken);
        assert_eq!(judge(&[1], &[]), Verdict::Void);
    }

    #[test]
    fn a_parent_that_lends_what_it_lacks_is_broken() {
        assert_eq!(judge_refused(None).verdict, Verdict::Broken);
        assert_eq!(judge_refused(Some(Errno::ACCESS)).verdict, Verdict::Kept);
    }
}
