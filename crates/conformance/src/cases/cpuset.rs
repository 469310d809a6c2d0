//! cpuset: the CPUs that threads run on and the nodes that pages come from.

use std::collections::BTreeSet;

use assay_kernel::affinity;
use assay_units::IdSet;

use super::prelude::*;

const CPUS: Topic = Topic::new(
    "cpuset",
    "Documentation/admin-guide/cgroup-v2.rst, Cpuset Interface Files",
    &[Need::Controller("cpuset"), Need::Cpus(2)],
);
const NODES: Topic = CPUS.needing(&[Need::Controller("cpuset"), Need::Nodes(2)]);
const PARTITIONS: Topic = CPUS.needing(&[Need::OnV2("cpuset"), Need::Cpus(2)]);
const EXCLUSIVE: Topic = CPUS.needing(&[Need::OnV2("cpuset"), Need::File("cpuset.cpus.exclusive")]);
const V1: Topic = CPUS
    .documented_in("Documentation/admin-guide/cgroup-v1/cpusets.rst")
    .needing(&[Need::OnV1("cpuset")]);

pub(super) const CASES: &[Case] = &[
    CPUS.case(
        "threads-run-on-their-groups-cpus",
        "Threads of a group may use, and run on, only the CPUs of its cpuset.cpus.",
        |fixture| {
            fixture.make("a")?;
            let cpu = fixture.cpu();
            fixture.write("a", "cpuset.cpus", &cpu.to_string())?;
            let observed = look(fixture, &spinner(fixture, "a")?)?;
            Ok(judge_bound(&observed, &[cpu], &format!("cpuset.cpus {cpu}")))
        },
    ),
    CPUS.case(
        "threads-follow-a-changed-list",
        "Running threads move at once when cpuset.cpus changes.",
        |fixture| {
            let (first, last) = two_cpus(fixture);
            fixture.make("a")?;
            fixture.write("a", "cpuset.cpus", &first.to_string())?;
            let spinner = spinner(fixture, "a")?;
            let before = look(fixture, &spinner)?;
            fixture.write("a", "cpuset.cpus", &last.to_string())?;
            // A thread that runs is moved by the stopper of its CPU, a moment later.
            fixture.pause(0.1)?;
            let after = look(fixture, &spinner)?;
            Ok(Outcome::all([
                judge_bound(&before, &[first], &format!("cpuset.cpus {first}")),
                judge_bound(&after, &[last], &format!("changed to {last}")),
            ]))
        },
    ),
    CPUS.case(
        "a-group-without-a-list-binds-nothing",
        "Without a list of its own, a group lets its threads run on every CPU of its parent.",
        |fixture| {
            // On v1 it has its parent's list.
            fixture.make("a")?;
            let observed = look(fixture, &spinner(fixture, "a")?)?;
            Ok(judge_bound(&observed, &fixture.cpus(), "no list"))
        },
    ),
    CPUS.case(
        "a-child-gets-no-cpu-its-parent-lacks",
        "A child never runs on a CPU that its parent lacks: v1 refuses it, v2 ignores it.",
        |fixture| {
            let (first, last) = two_cpus(fixture);
            fixture.make_parent("a")?;
            fixture.make("a/b")?;
            // On v1 the child has all of its parent's CPUs, which prevents the parent from losing any.
            fixture.write("a/b", "cpuset.cpus", &first.to_string())?;
            fixture.write("a", "cpuset.cpus", &first.to_string())?;
            let answer = fixture.refusal("a/b", "cpuset.cpus", &last.to_string());
            if !fixture.is_v2() {
                return Ok(answered("a CPU that the parent lacks", answer, Some(Errno::ACCESS)));
            }
            let observed = look(fixture, &spinner(fixture, "a/b")?)?;
            let what = format!("parent {first}, child {last} ({})", errno_text(answer));
            Ok(judge_bound(&observed, &[first], &what))
        },
    ),
    NODES.case(
        "pages-come-from-their-groups-nodes",
        "Pages are allocated only on the nodes of cpuset.mems.",
        |fixture| {
            let (first, last) = two_nodes(fixture);
            let mut outcomes = Vec::new();
            for node in [first, last] {
                let group = format!("n{node}");
                fixture.make(&group)?;
                fixture.write(&group, "cpuset.mems", &node.to_string())?;
                let probe = fixture.start(&group, &format!("pages bytes={BYTES}"))?;
                let found = pages_on(fixture, &probe, node)?;
                outcomes.push(judge_pages(found, true, &format!("cpuset.mems {node}")));
            }
            Ok(Outcome::all(outcomes))
        },
    ),
    NODES.case(
        "pages-follow-a-changed-list",
        "Pages move to the new nodes when cpuset.mems changes (v1: with cpuset.memory_migrate).",
        |fixture| change_nodes(fixture, true),
    ),
    V1.needing(&[Need::OnV1("cpuset"), Need::Nodes(2)]).case(
        "v1-pages-stay-without-memory-migrate",
        "On v1, pages stay where they are when cpuset.mems changes without cpuset.memory_migrate.",
        |fixture| change_nodes(fixture, false),
    ),
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
    V1.case(
        "v1-lists-come-before-processes",
        "On v1, a group without cpuset.cpus and cpuset.mems refuses processes with ENOSPC.",
        |fixture| {
            make_bare(fixture, &["a"])?;
            let probe = fixture.start_in("b", "echo")?;
            let before = ("without them", fixture.attach("a", &probe));
            for file in ["cpuset.cpus", "cpuset.mems"] {
                fixture.write("a", file, &fixture.read("", file)?)?;
            }
            let after = ("a process into a group with lists", fixture.attach("a", &probe));
            Ok(refused(after, before, Errno::NOSPC))
        },
    ),
    V1.case(
        "v1-exclusive-cpus-are-refused-to-siblings",
        "On v1, a CPU of a group with cpuset.cpu_exclusive is refused to its siblings.",
        |fixture| {
            let cpu = fixture.cpu().to_string();
            if let Some(errno) = fixture.refusal("", "cpuset.cpu_exclusive", "1") {
                // Its siblings are groups of the host, which may share CPUs with it.
                let why = "the host's groups share CPUs with the group to be made exclusive";
                return Ok(Outcome::void(format!("{why}: {}", errno_text(Some(errno)))));
            }
            make_bare(fixture, &["a", "b"])?;
            fixture.write("a", "cpuset.cpus", &cpu)?;
            fixture.write("a", "cpuset.cpu_exclusive", "1")?;
            let answer = fixture.refusal("b", "cpuset.cpus", &cpu);
            let what = "the CPU of an exclusive group to its sibling";
            Ok(answered(what, answer, Some(Errno::INVAL)))
        },
    ),
    V1.case(
        "v1-cpus-that-are-not-exclusive-are-shared",
        "On v1, a CPU of a group without cpuset.cpu_exclusive is accepted in its sibling's list.",
        |fixture| {
            let cpu = fixture.cpu().to_string();
            make_bare(fixture, &["a", "b"])?;
            fixture.write("a", "cpuset.cpus", &cpu)?;
            let answer = fixture.refusal("b", "cpuset.cpus", &cpu);
            Ok(answered("a CPU of a group that is not exclusive, for its sibling", answer, None))
        },
    ),
    V1.case(
        "v1-clone-children-copies-the-lists",
        "On v1, children of a group with cgroup.clone_children start with its lists.",
        |fixture| {
            make_bare(fixture, &["plain"])?;
            fixture.write("", "cgroup.clone_children", "1")?;
            make_bare(fixture, &["clone"])?;
            let list = |group| fixture.read(group, "cpuset.cpus");
            Ok(judge_clone(&list("")?, &list("plain")?, &list("clone")?))
        },
    ),
];

const PARTITION: &str = "cpuset.cpus.partition";
/// Number of times that the last CPU of a spinning thread is read.
const LOOKS: usize = 20;
/// Bytes that a process allocates: large compared with what it needs to start.
const BYTES: u64 = 32 << 20;

/// CPUs that threads may use, and those that they ran on.
#[derive(Debug, Default, PartialEq, Eq)]
struct ThreadCpus {
    allowed: BTreeSet<u16>,
    ran: BTreeSet<u16>,
}

/// The first and the last CPU of this host.
fn two_cpus(fixture: &Fixture) -> (u16, u16) {
    (fixture.cpus().first().copied().unwrap_or(0), fixture.cpu())
}

/// The first and the last node with memory.
fn two_nodes(fixture: &Fixture) -> (u16, u16) {
    let nodes = &fixture.facts.memory_nodes;
    (nodes.iter().next().unwrap_or(0), nodes.iter().last().unwrap_or(0))
}

/// Creates v1 groups without the settings that [`Fixture::make`] applies.
fn make_bare(fixture: &Fixture, groups: &[&str]) -> Result<(), Error> {
    groups.iter().try_for_each(|group| fixture.root.make_dir(fixture.directory(group)))
}

/// A probe and its two threads.
fn spinner(fixture: &Fixture, group: &str) -> Result<(Running, [u32; 2]), Error> {
    let mut probe = fixture.start(group, "spin threads=2")?;
    let threads = [probe.value("thread ")?, probe.value("thread ")?];
    Ok((probe, threads))
}

fn look(fixture: &Fixture, (_, threads): &(Running, [u32; 2])) -> Result<ThreadCpus, Error> {
    let mut observed = ThreadCpus::default();
    for _ in 0..LOOKS {
        fixture.pause(0.01)?;
        for thread in threads {
            observed.allowed.extend(affinity::allowed_cpus(*thread)?);
            observed.ran.extend(affinity::last_cpu(fixture.root, *thread));
        }
    }
    Ok(observed)
}

fn judge_bound(observed: &ThreadCpus, expected: &[u16], what: &str) -> Outcome {
    let list = |cpus: &BTreeSet<u16>| cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    let evidence = format!(
        "{what}: 2 spinning threads may use CPUs {} and ran on {}, {LOOKS} looks",
        list(&observed.allowed),
        list(&observed.ran)
    );
    let expected: BTreeSet<u16> = expected.iter().copied().collect();
    let right = observed.allowed == expected && observed.ran.is_subset(&expected);
    Outcome::holds(right, evidence).void_if(observed.ran.is_empty(), "the threads have ended")
}

/// Anonymous pages of a process on this node and on all nodes.
fn pages_on(fixture: &Fixture, probe: &Running, node: u16) -> Result<(u64, u64), Error> {
    let text = fixture.root.read(format!("/proc/{}/numa_maps", probe.pid()))?;
    Ok(anonymous_pages(&text, node))
}

/// From /proc/PID/numa_maps (Documentation/filesystems/proc.rst).
fn anonymous_pages(text: &str, node: u16) -> (u64, u64) {
    let (mut here, mut all) = (0, 0);
    let lines = text.lines().filter(|line| line.contains(" anon="));
    for word in lines.flat_map(str::split_whitespace) {
        let Some((name, count)) = word.strip_prefix('N').and_then(|w| w.split_once('=')) else {
            continue;
        };
        let count: u64 = count.parse().unwrap_or(0);
        all += count;
        here += if name.parse() == Ok(node) { count } else { 0 };
    }
    (here, all)
}

/// v2 always moves pages, v1 if cpuset.memory_migrate is 1.
fn change_nodes(fixture: &Fixture, migrate: bool) -> Result<Outcome, Stop> {
    let (first, last) = two_nodes(fixture);
    fixture.make("a")?;
    fixture.write("a", "cpuset.mems", &first.to_string())?;
    if !fixture.is_v2() {
        fixture.write("a", "cpuset.memory_migrate", if migrate { "1" } else { "0" })?;
    }
    let probe = fixture.start("a", &format!("pages bytes={BYTES}"))?;
    fixture.write("a", "cpuset.mems", &last.to_string())?;
    // A kernel worker moves the pages after the write has returned.
    fixture.wait_for(if migrate { 3.0 } else { 0.5 }, || {
        let (here, all) = pages_on(fixture, &probe, last)?;
        Ok(here * 20 > all * 19)
    })?;
    let what = format!("cpuset.mems {first}, then {last}");
    Ok(judge_pages(pages_on(fixture, &probe, last)?, migrate, &what))
}

fn judge_pages((here, all): (u64, u64), most: bool, what: &str) -> Outcome {
    let evidence = format!("{what}: {here} of {all} anonymous pages on the node");
    let part = here as f64 / all as f64;
    // Number of pages at the largest page size of any architecture, 64 KiB.
    Outcome::holds(if most { part > 0.95 } else { part < 0.05 }, evidence)
        .void_if(all < BYTES / 65_536, "the process has too few pages")
}

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

fn judge_clone(parent: &str, plain: &str, clone: &str) -> Outcome {
    let evidence = format!(
        "cpuset.cpus `{parent}` above; in a group made without clone_children `{plain}`, with it \
         `{clone}`"
    );
    Outcome::holds(plain.is_empty() && clone == parent, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(state: &str, outside: &[u16]) -> Partition {
        Partition { state: state.to_owned(), inside: vec![1], outside: outside.to_vec() }
    }

    #[test]
    fn a_thread_that_runs_or_may_run_elsewhere_is_broken() {
        let judge = |allowed: &[u16], ran: &[u16]| {
            let observed = ThreadCpus {
                allowed: allowed.iter().copied().collect(),
                ran: ran.iter().copied().collect(),
            };
            judge_bound(&observed, &[1], "x").verdict
        };
        assert_eq!(judge(&[1], &[1]), Verdict::Kept);
        assert_eq!(judge(&[0, 1], &[1]), Verdict::Broken);
        assert_eq!(judge(&[1], &[0, 1]), Verdict::Broken);
        assert_eq!(judge(&[1], &[]), Verdict::Void);
    }

    #[test]
    fn pages_on_another_node_are_broken() {
        let text = "7f00 default file=/bin/x mapped=9 N0=9\n\
                    7f10 default anon=8192 dirty=8192 N0=192 N1=8000 kernelpagesize_kB=4\n";
        assert_eq!(anonymous_pages(text, 1), (8000, 8192));
        assert_eq!(judge_pages((8190, 8192), true, "x").verdict, Verdict::Kept);
        assert_eq!(judge_pages((4000, 8192), true, "x").verdict, Verdict::Broken);
        assert_eq!(judge_pages((8190, 8192), false, "x").verdict, Verdict::Broken);
        assert_eq!(judge_pages((1, 1), true, "x").verdict, Verdict::Void);
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
    fn cpus_that_siblings_cannot_share_and_different_clones_are_broken() {
        assert_eq!(judge_shared(1, &[vec![1], vec![1]], None).verdict, Verdict::Kept);
        assert_eq!(judge_shared(1, &[vec![1], vec![0]], None).verdict, Verdict::Broken);
        assert_eq!(judge_shared(1, &[], Some(Errno::INVAL)).verdict, Verdict::Broken);
        assert_eq!(judge_clone("0-1", "", "0-1").verdict, Verdict::Kept);
        assert_eq!(judge_clone("0-1", "", "").verdict, Verdict::Broken);
    }
}
