//! Partitions of cgroup v2: exclusive CPUs.

use assay_sys::units::IdSet;

use super::*;

const PARTITIONS: Topic = CPUS.needing(&[Need::OnV2("cpuset"), Need::Cpus(2)]);
const EXCLUSIVE: Topic = CPUS.needing(&[Need::OnV2("cpuset"), Need::File("cpuset.cpus.exclusive")]);

pub(crate) const CASES: &[Case] = &[
    PARTITIONS.case(
        "a-partition-root-has-its-cpus-for-itself",
        "CPUs of a partition root are removed from every group outside it.",
        |fixture| Ok(judge_partition(fixture.cpu(), &with_partition(fixture, "root")?, true)),
    ),
    PARTITIONS.case(
        "a-member-shares-its-cpus",
        "A group that is not a partition removes no CPU from others.",
        |fixture| Ok(judge_partition(fixture.cpu(), &with_partition(fixture, "member")?, false)),
    ),
    PARTITIONS.needing(&[Need::OnV2("cpuset"), Need::Kernel(6, 1), Need::Cpus(3)]).case(
        "an-isolated-partition-is-not-balanced",
        "The scheduler does not move threads between CPUs of an isolated partition.",
        |fixture| {
            // Two threads that start on one of two CPUs: the scheduler spreads them, except in an
            // isolated partition.
            let cpus = fixture.cpus();
            let pair = &cpus[cpus.len() - 2..];
            fixture.make("a")?;
            fixture.write("", "cpuset.cpus", &format!("{},{}", pair[0], pair[1]))?;
            let mut spread = Vec::new();
            for kind in ["root", "isolated"] {
                fixture.write("", PARTITION, kind)?;
                let state = fixture.read("", PARTITION)?;
                if state != kind {
                    dissolve(fixture, "", pair)?;
                    let why = format!("the kernel did not create the partition: `{state}`");
                    return Ok(Outcome::void(why));
                }
                spread.push(cpus_used(fixture, pair[0])?);
            }
            dissolve(fixture, "", pair)?;
            Ok(judge_isolated(spread[0], spread[1]))
        },
    ),
    EXCLUSIVE
        .needing(&[
            Need::OnV2("cpuset"),
            Need::Root,
            Need::Cpus(2),
            Need::File("cpuset.cpus.exclusive"),
        ])
        .case(
            "a-remote-partition-needs-exclusive-cpus",
            "A group below one that is no partition becomes a partition root if all groups above \
             hand its CPUs down in cpuset.cpus.exclusive, and only then.",
            |fixture| {
                let cpu = fixture.cpu();
                let set = |file: &str| {
                    let write = |group: &&str| fixture.write(group, file, &cpu.to_string());
                    ["", "a", "a/b"].iter().try_for_each(write)
                };
                let become_root = || -> Result<String, Error> {
                    fixture.write("a/b", PARTITION, "root")?;
                    fixture.read("a/b", PARTITION)
                };
                let outside = fixture.start_outside("echo")?;
                fixture.make_parent("a")?;
                fixture.make("a/b")?;
                set("cpuset.cpus")?;
                let without = become_root()?;
                fixture.write("a/b", PARTITION, "member")?;
                set("cpuset.cpus.exclusive")?;
                let state = become_root()?;
                let inside = fixture.start("a/b", "echo")?;
                let partition = Partition::look(state, &inside, &outside)?;
                dissolve(fixture, "a/b", &[cpu])?;
                Ok(judge_remote(cpu, &without, &partition))
            },
        ),
    EXCLUSIVE.case(
        "exclusive-cpus-are-refused-to-siblings",
        "A CPU in one group's cpuset.cpus.exclusive is refused in its sibling's.",
        |fixture| {
            let cpu = fixture.cpu().to_string();
            fixture.make_each(&["a", "b"])?;
            fixture.write("", "cpuset.cpus.exclusive", &cpu)?;
            let claim = |group| fixture.refusal(group, "cpuset.cpus.exclusive", &cpu);
            let first = ("one CPU to a group", claim("a"));
            Ok(refused(first, ("to its sibling", claim("b")), Errno::INVAL))
        },
    ),
    EXCLUSIVE.case(
        "cpus-that-are-not-exclusive-are-shared",
        "A CPU in cpuset.cpus of one group is accepted in its sibling's, and both may run on it.",
        |fixture| {
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
        },
    ),
];

const PARTITION: &str = "cpuset.cpus.partition";

/// The state of a partition, and the CPUs of a process inside and of one outside.
struct Partition {
    state: String,
    inside: Vec<u16>,
    outside: Vec<u16>,
}

impl Partition {
    fn look(state: String, inside: &Running, outside: &Running) -> Result<Self, Error> {
        let inside = affinity::allowed_cpus(inside.pid())?;
        Ok(Self { state, inside, outside: affinity::allowed_cpus(outside.pid())? })
    }
}

/// Makes the top group a partition of this kind on the last CPU.
fn with_partition(fixture: &Fixture, kind: &str) -> Result<Partition, Error> {
    let cpu = fixture.cpu();
    let outside = fixture.start_outside("echo")?;
    fixture.write("", "cpuset.cpus", &cpu.to_string())?;
    fixture.write("", PARTITION, kind)?;
    // Linux 5.10 makes no partition of a group that has children (EBUSY); 6.1 does.
    let inside = fixture.start_in("a", "echo")?;
    let partition = Partition::look(fixture.read("", PARTITION)?, &inside, &outside)?;
    dissolve(fixture, "", &[cpu])?;
    Ok(partition)
}

/// Gives the CPUs of a partition of the case back before its groups are removed. Before `cpuset_css_killed` (kernel/cgroup/cpuset.c; 6.12.117 has it, 6.1.192
/// not) the kernel does so some time after rmdir (`cpuset_css_offline`), when the next case may have begun.
fn dissolve(fixture: &Fixture, group: &str, cpus: &[u16]) -> Result<(), Error> {
    fixture.write(group, PARTITION, "member")?;
    let directory = fixture.directory("");
    let Some(above) = directory.parent() else { return Ok(()) };
    let is_back = || -> Result<bool, Error> {
        let text = fixture.root.read_trimmed(above.join("cpuset.cpus.effective"))?;
        Ok(text.parse::<IdSet>().is_ok_and(|set| cpus.iter().all(|cpu| set.contains(*cpu))))
    };
    fixture.wait_for(2.0, is_back).map(|_| ())
}

/// CPUs used together by two threads that started on `cpu`.
fn cpus_used(fixture: &Fixture, cpu: u16) -> Result<f64, Error> {
    let probe = fixture.start("a", &format!("spin threads=2 start_cpu={cpu}"))?;
    fixture.pause(0.3)?;
    let windows = fixture.windows(1, 0.5, || Ok(vec![probe.cpu_ns()?]))?;
    Ok(windows.iter().map(Window::busy).sum())
}

fn judge_partition(cpu: u16, partition: &Partition, takes: bool) -> Outcome {
    let Partition { state, inside, outside } = partition;
    let evidence = format!(
        "CPU {cpu}, partition `{state}`: a process inside may use {inside:?}, one outside {outside:?}"
    );
    Outcome::holds(inside == &[cpu] && outside.contains(&cpu) != takes, evidence)
        .void_if(takes && state != "root", "the kernel did not create the partition")
}

fn judge_isolated(balanced: f64, isolated: f64) -> Outcome {
    let evidence = format!(
        "two threads that began on one of two CPUs used {balanced:.2} CPUs in a root partition \
         and {isolated:.2} in an isolated one"
    );
    Outcome::holds(isolated < 1.15, evidence)
        .void_if(balanced < 1.3, "the threads were not spread in a root partition either")
}

fn judge_remote(cpu: u16, without: &str, partition: &Partition) -> Outcome {
    let Partition { state, inside, outside } = partition;
    let evidence = format!(
        "CPU {cpu} for a group below a member: `{without}` without cpuset.cpus.exclusive, `{state}` with it; a \
         process inside may use {inside:?}, one outside {outside:?}"
    );
    let right = without.starts_with("root invalid") && state == "root";
    Outcome::holds(right && inside == &[cpu] && !outside.contains(&cpu), evidence)
}

fn judge_shared(cpu: u16, allowed: &[Vec<u16>], refused: Option<Errno>) -> Outcome {
    let evidence = format!(
        "CPU {cpu} for two siblings: {}; their processes may use {allowed:?}",
        errno_text(refused)
    );
    let both = allowed.len() == 2 && allowed.iter().all(|cpus| cpus == &[cpu]);
    Outcome::holds(refused.is_none() && both, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(state: &str, outside: &[u16]) -> Partition {
        Partition { state: state.to_owned(), inside: vec![1], outside: outside.to_vec() }
    }

    #[test]
    fn a_partition_that_shares_its_cpu_is_broken() {
        let judge =
            |state, outside, takes| judge_partition(1, &partition(state, outside), takes).verdict;
        assert_eq!(judge("root", &[0], true), Verdict::Kept);
        assert_eq!(judge("root", &[0, 1], true), Verdict::Broken);
        assert_eq!(judge("root invalid (x)", &[0, 1], true), Verdict::Void);
        assert_eq!(judge("member", &[0, 1], false), Verdict::Kept);
        assert_eq!(judge("member", &[0], false), Verdict::Broken);
    }

    #[test]
    fn balancing_in_an_isolated_partition_is_broken() {
        assert_eq!(judge_isolated(1.9, 1.0).verdict, Verdict::Kept);
        assert_eq!(judge_isolated(1.9, 1.9).verdict, Verdict::Broken);
        assert_eq!(judge_isolated(1.0, 1.0).verdict, Verdict::Void);
    }

    #[test]
    fn a_remote_partition_without_exclusive_cpus_or_that_shares_them_is_broken() {
        let judge = |without, state, outside: &[u16]| {
            judge_remote(1, without, &partition(state, outside)).verdict
        };
        assert_eq!(judge("root invalid (x)", "root", &[0]), Verdict::Kept);
        assert_eq!(judge("root", "root", &[0]), Verdict::Broken);
        assert_eq!(judge("root invalid (x)", "root invalid (x)", &[0, 1]), Verdict::Broken);
        assert_eq!(judge("root invalid (x)", "root", &[0, 1]), Verdict::Broken);
    }

    #[test]
    fn a_cpu_that_siblings_cannot_share_is_broken() {
        assert_eq!(judge_shared(1, &[vec![1], vec![1]], None).verdict, Verdict::Kept);
        assert_eq!(judge_shared(1, &[vec![1], vec![0]], None).verdict, Verdict::Broken);
        assert_eq!(judge_shared(1, &[], Some(Errno::INVAL)).verdict, Verdict::Broken);
    }
}
