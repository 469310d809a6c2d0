//! Partitions of cgroup v2: CPUs that a group has for itself.

use assay_kernel::{Error, affinity};
use rustix::io::Errno;

use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// Gives the top group the last CPU, as a partition of this kind, and looks at a process outside
/// and one inside.
fn with_partition(ground: &Fixture, kind: &str) -> Result<(String, Vec<u16>, Vec<u16>), Error> {
    let cpu = ground.cpu();
    ground.make("a")?;
    let outside = ground.start_outside("echo")?;
    ground.write("", "cpuset.cpus", &cpu.to_string())?;
    ground.write("", "cpuset.cpus.partition", kind)?;
    let inside = ground.start("a", "echo")?;
    let state = ground.read("", "cpuset.cpus.partition")?;
    Ok((state, affinity::of(inside.pid())?, affinity::of(outside.pid())?))
}

pub(super) fn root(ground: &mut Fixture) -> Result<Outcome, Error> {
    let found = with_partition(ground, "root")?;
    Ok(judge(ground.cpu(), &found, true))
}

pub(super) fn member(ground: &mut Fixture) -> Result<Outcome, Error> {
    let found = with_partition(ground, "member")?;
    Ok(judge(ground.cpu(), &found, false))
}

/// State of the partition, and the CPUs of a process inside and of one outside.
fn judge(cpu: u16, found: &(String, Vec<u16>, Vec<u16>), takes: bool) -> Outcome {
    let (state, inside, outside) = found;
    let evidence = format!(
        "CPU {cpu}, partition `{state}`: a process inside may use {inside:?}, one outside {outside:?}"
    );
    if takes && state != "root" {
        return Outcome::void("the kernel did not make it a partition").with(evidence);
    }
    Outcome::holds(inside == &[cpu] && outside.contains(&cpu) != takes, evidence)
}

/// Two threads that begin on one CPU of two: the scheduler spreads them, but not in an isolated
/// partition.
pub(super) fn isolated(ground: &mut Fixture) -> Result<Outcome, Error> {
    let cpus: Vec<u16> = ground.facts().cpus.allowed.iter().collect();
    let pair = &cpus[cpus.len() - 2..];
    ground.make("a")?;
    ground.write("", "cpuset.cpus", &format!("{},{}", pair[0], pair[1]))?;
    let mut spread = Vec::new();
    for kind in ["root", "isolated"] {
        ground.write("", "cpuset.cpus.partition", kind)?;
        let state = ground.read("", "cpuset.cpus.partition")?;
        if state != kind {
            let why = format!("the kernel did not make it a partition: `{state}`");
            return Ok(Outcome::void(why));
        }
        spread.push(cpus_used(ground, pair[0])?);
    }
    Ok(judge_isolated(spread[0], spread[1]))
}

/// How many CPUs two threads use together that began on `cpu`.
fn cpus_used(ground: &Fixture, cpu: u16) -> Result<f64, Error> {
    let probe = ground.start("a", &format!("spin threads=2 start_cpu={cpu}"))?;
    ground.pause(0.3)?;
    let windows = ground.windows(1, 0.5, || Ok(vec![probe.cpu_ns()?]))?;
    Ok(windows.iter().map(crate::windows::Window::busy).sum())
}

fn judge_isolated(balanced: f64, isolated: f64) -> Outcome {
    let evidence = format!(
        "two threads that began on one of two CPUs used {balanced:.2} CPUs in a root partition \
         and {isolated:.2} in an isolated one"
    );
    if balanced < 1.3 {
        return Outcome::void("they were not spread in a root partition either").with(evidence);
    }
    Outcome::holds(isolated < 1.15, evidence)
}

pub(super) fn exclusive(ground: &mut Fixture) -> Result<Outcome, Error> {
    let cpu = ground.cpu().to_string();
    ground.make("a")?;
    ground.make("b")?;
    ground.write("", "cpuset.cpus.exclusive", &cpu)?;
    let first = ground.refusal("a", "cpuset.cpus.exclusive", &cpu);
    let second = ground.refusal("b", "cpuset.cpus.exclusive", &cpu);
    Ok(judge_exclusive(first, second))
}

fn judge_exclusive(first: Option<Errno>, second: Option<Errno>) -> Outcome {
    let seen = format!("one CPU to a group: {}; to its sibling: {}", words(first), words(second));
    Outcome::holds(first.is_none() && second == Some(Errno::INVAL), seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_partition_that_shares_its_cpu_is_broken() {
        let found = |state: &str, outside: &[u16]| (state.to_owned(), vec![1], outside.to_vec());
        assert_eq!(judge(1, &found("root", &[0]), true).verdict, Verdict::Kept);
        assert_eq!(judge(1, &found("root", &[0, 1]), true).verdict, Verdict::Broken);
        assert_eq!(judge(1, &found("root invalid (x)", &[0, 1]), true).verdict, Verdict::Void);
        assert_eq!(judge(1, &found("member", &[0, 1]), false).verdict, Verdict::Kept);
        assert_eq!(judge(1, &found("member", &[0]), false).verdict, Verdict::Broken);
    }

    #[test]
    fn balancing_in_an_isolated_partition_is_broken() {
        assert_eq!(judge_isolated(1.9, 1.0).verdict, Verdict::Kept);
        assert_eq!(judge_isolated(1.9, 1.9).verdict, Verdict::Broken);
        assert_eq!(judge_isolated(1.0, 1.0).verdict, Verdict::Void);
    }

    #[test]
    fn an_exclusive_cpu_that_two_groups_have_is_broken() {
        assert_eq!(judge_exclusive(None, Some(Errno::INVAL)).verdict, Verdict::Kept);
        assert_eq!(judge_exclusive(None, None).verdict, Verdict::Broken);
    }
}
