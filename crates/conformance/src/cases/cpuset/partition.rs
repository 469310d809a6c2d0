//! Partitions of cgroup v2: exclusive CPUs.

use assay_kernel::{Error, affinity};
use assay_units::IdSet;
use rustix::io::Errno;

use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// Makes the top group a partition of this kind on the last CPU, and reads the CPUs of a process
/// inside and of one outside.
fn with_partition(fixture: &Fixture, kind: &str) -> Result<(String, Vec<u16>, Vec<u16>), Error> {
    let cpu = fixture.cpu();
    let outside = fixture.start_outside("echo")?;
    fixture.write("", "cpuset.cpus", &cpu.to_string())?;
    fixture.write("", "cpuset.cpus.partition", kind)?;
    // Linux 5.10 makes no partition of a group that has children (EBUSY); 6.1 does.
    fixture.make("a")?;
    let inside = fixture.start("a", "echo")?;
    let state = fixture.read("", "cpuset.cpus.partition")?;
    let cpus = (affinity::allowed_cpus(inside.pid())?, affinity::allowed_cpus(outside.pid())?);
    dissolve(fixture, "", &[cpu])?;
    Ok((state, cpus.0, cpus.1))
}

/// Gives the CPUs of a partition of the case back before its groups are removed. Before `cpuset_css_killed` (kernel/cgroup/cpuset.c; 6.12.117 has it, 6.1.192
/// not) the kernel does so some time after rmdir (`cpuset_css_offline`), when the next case may have begun.
fn dissolve(fixture: &Fixture, group: &str, cpus: &[u16]) -> Result<(), Error> {
    fixture.write(group, "cpuset.cpus.partition", "member")?;
    let directory = fixture.directory("");
    let Some(above) = directory.parent() else { return Ok(()) };
    let is_back = || -> Result<bool, Error> {
        let text = fixture.root().read_trimmed(above.join("cpuset.cpus.effective"))?;
        Ok(text.parse::<IdSet>().is_ok_and(|set| cpus.iter().all(|cpu| set.contains(*cpu))))
    };
    fixture.wait_for(2.0, is_back).map(|_| ())
}

pub(super) fn root(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let partition = with_partition(fixture, "root")?;
    Ok(judge(fixture.cpu(), &partition, true))
}

pub(super) fn member(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let partition = with_partition(fixture, "member")?;
    Ok(judge(fixture.cpu(), &partition, false))
}

/// Judges the partition's state and the CPUs of a process inside and of one outside.
fn judge(cpu: u16, partition: &(String, Vec<u16>, Vec<u16>), takes: bool) -> Outcome {
    let (state, inside, outside) = partition;
    let evidence = format!(
        "CPU {cpu}, partition `{state}`: a process inside may use {inside:?}, one outside {outside:?}"
    );
    if takes && state != "root" {
        return Outcome::void("the kernel did not create the partition").with(evidence);
    }
    Outcome::holds(inside == &[cpu] && outside.contains(&cpu) != takes, evidence)
}

/// Two threads that start on one of two CPUs: the scheduler spreads them, except in an isolated
/// partition.
pub(super) fn isolated(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let cpus: Vec<u16> = fixture.facts().cpus.allowed.iter().collect();
    let pair = &cpus[cpus.len() - 2..];
    fixture.make("a")?;
    fixture.write("", "cpuset.cpus", &format!("{},{}", pair[0], pair[1]))?;
    let mut spread = Vec::new();
    for kind in ["root", "isolated"] {
        fixture.write("", "cpuset.cpus.partition", kind)?;
        let state = fixture.read("", "cpuset.cpus.partition")?;
        if state != kind {
            dissolve(fixture, "", pair)?;
            let why = format!("the kernel did not create the partition: `{state}`");
            return Ok(Outcome::void(why));
        }
        spread.push(cpus_used(fixture, pair[0])?);
    }
    dissolve(fixture, "", pair)?;
    Ok(judge_isolated(spread[0], spread[1]))
}

/// CPUs used together by two threads that started on `cpu`.
fn cpus_used(fixture: &Fixture, cpu: u16) -> Result<f64, Error> {
    let probe = fixture.start("a", &format!("spin threads=2 start_cpu={cpu}"))?;
    fixture.pause(0.3)?;
    let windows = fixture.windows(1, 0.5, || Ok(vec![probe.cpu_ns()?]))?;
    Ok(windows.iter().map(crate::windows::Window::busy).sum())
}

fn judge_isolated(balanced: f64, isolated: f64) -> Outcome {
    let evidence = format!(
        "two threads that began on one of two CPUs used {balanced:.2} CPUs in a root partition \
         and {isolated:.2} in an isolated one"
    );
    if balanced < 1.3 {
        return Outcome::void("the threads were not spread in a root partition either")
            .with(evidence);
    }
    Outcome::holds(isolated < 1.15, evidence)
}

/// A partition root whose parent is none. It needs its CPUs in `cpuset.cpus.exclusive` of all groups above.
pub(super) fn remote(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let cpu = fixture.cpu();
    let set = |file: &str| {
        ["", "a", "a/b"].iter().try_for_each(|group| fixture.write(group, file, &cpu.to_string()))
    };
    let become_root = || -> Result<String, Error> {
        fixture.write("a/b", "cpuset.cpus.partition", "root")?;
        fixture.read("a/b", "cpuset.cpus.partition")
    };
    let outside = fixture.start_outside("echo")?;
    fixture.make_parent("a")?;
    fixture.make("a/b")?;
    set("cpuset.cpus")?;
    let without = become_root()?;
    fixture.write("a/b", "cpuset.cpus.partition", "member")?;
    set("cpuset.cpus.exclusive")?;
    let state = become_root()?;
    let inside = fixture.start("a/b", "echo")?;
    let cpus = (affinity::allowed_cpus(inside.pid())?, affinity::allowed_cpus(outside.pid())?);
    dissolve(fixture, "a/b", &[cpu])?;
    Ok(judge_remote(cpu, &without, &(state, cpus.0, cpus.1)))
}

fn judge_remote(cpu: u16, without: &str, partition: &(String, Vec<u16>, Vec<u16>)) -> Outcome {
    let (state, inside, outside) = partition;
    let evidence = format!(
        "CPU {cpu} for a group below a member: `{without}` without cpuset.cpus.exclusive, `{state}` with it; a \
         process inside may use {inside:?}, one outside {outside:?}"
    );
    let right = without.starts_with("root invalid") && state == "root";
    Outcome::holds(right && inside == &[cpu] && !outside.contains(&cpu), evidence)
}

pub(super) fn exclusive(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let cpu = fixture.cpu().to_string();
    fixture.make("a")?;
    fixture.make("b")?;
    fixture.write("", "cpuset.cpus.exclusive", &cpu)?;
    let first = fixture.refusal("a", "cpuset.cpus.exclusive", &cpu);
    let second = fixture.refusal("b", "cpuset.cpus.exclusive", &cpu);
    Ok(judge_exclusive(first, second))
}

pub(super) fn shared(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let cpu = fixture.cpu();
    let mut allowed = Vec::new();
    for group in ["a", "b"] {
        fixture.make(group)?;
        if let Some(errno) = fixture.refusal(group, "cpuset.cpus", &cpu.to_string()) {
            return Ok(judge_shared(cpu, &[], Some(errno)));
        }
        allowed.push(affinity::allowed_cpus(fixture.start(group, "echo")?.pid())?);
    }
    Ok(judge_shared(cpu, &allowed, None))
}

fn judge_shared(cpu: u16, allowed: &[Vec<u16>], refused: Option<Errno>) -> Outcome {
    let evidence = format!(
        "CPU {cpu} for two siblings: {}; their processes may use {allowed:?}",
        errno_text(refused)
    );
    let both = allowed.len() == 2 && allowed.iter().all(|cpus| cpus == &[cpu]);
    Outcome::holds(refused.is_none() && both, evidence)
}

fn judge_exclusive(first: Option<Errno>, second: Option<Errno>) -> Outcome {
    let evidence = format!(
        "one CPU to a group: {}; to its sibling: {}",
        errno_text(first),
        errno_text(second)
    );
    Outcome::holds(first.is_none() && second == Some(Errno::INVAL), evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_partition_that_shares_its_cpu_is_broken() {
        let partition =
            |state: &str, outside: &[u16]| (state.to_owned(), vec![1], outside.to_vec());
        assert_eq!(judge(1, &partition("root", &[0]), true).verdict, Verdict::Kept);
        assert_eq!(judge(1, &partition("root", &[0, 1]), true).verdict, Verdict::Broken);
        assert_eq!(judge(1, &partition("root invalid (x)", &[0, 1]), true).verdict, Verdict::Void);
        assert_eq!(judge(1, &partition("member", &[0, 1]), false).verdict, Verdict::Kept);
        assert_eq!(judge(1, &partition("member", &[0]), false).verdict, Verdict::Broken);
    }

    #[test]
    fn balancing_in_an_isolated_partition_is_broken() {
        assert_eq!(judge_isolated(1.9, 1.0).verdict, Verdict::Kept);
        assert_eq!(judge_isolated(1.9, 1.9).verdict, Verdict::Broken);
        assert_eq!(judge_isolated(1.0, 1.0).verdict, Verdict::Void);
    }

    #[test]
    fn a_cpu_that_siblings_cannot_share_is_broken() {
        assert_eq!(judge_shared(1, &[vec![1], vec![1]], None).verdict, Verdict::Kept);
        assert_eq!(judge_shared(1, &[vec![1], vec![0]], None).verdict, Verdict::Broken);
        assert_eq!(judge_shared(1, &[], Some(Errno::INVAL)).verdict, Verdict::Broken);
    }

    #[test]
    fn sharing_an_exclusive_cpu_is_broken() {
        assert_eq!(judge_exclusive(None, Some(Errno::INVAL)).verdict, Verdict::Kept);
        assert_eq!(judge_exclusive(None, None).verdict, Verdict::Broken);
    }

    #[test]
    fn a_remote_partition_without_exclusive_cpus_or_that_shares_them_is_broken() {
        let of = |state: &str, outside: &[u16]| (state.to_owned(), vec![1], outside.to_vec());
        let judge = |without, partition| judge_remote(1, without, &partition).verdict;
        assert_eq!(judge("root invalid (x)", of("root", &[0])), Verdict::Kept);
        assert_eq!(judge("root", of("root", &[0])), Verdict::Broken);
        assert_eq!(judge("root invalid (x)", of("root invalid (x)", &[0, 1])), Verdict::Broken);
        assert_eq!(judge("root invalid (x)", of("root", &[0, 1])), Verdict::Broken);
    }
}
