//! cpuset: the CPUs that threads run on and the nodes that pages come from.

pub(super) mod partition;

use std::collections::BTreeSet;

use assay_sys::kernel::affinity;

use super::prelude::*;

const CPUS: Topic = Topic::new(
    "cpuset",
    "Documentation/admin-guide/cgroup-v2.rst, Cpuset Interface Files",
    &[Need::Controller("cpuset"), Need::Cpus(2)],
);
const NODES: Topic = CPUS.needing(&[Need::Controller("cpuset"), Need::Nodes(2)]);
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
];

pub(super) const ON_V1: &[Case] = &[
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
    fn different_clones_are_broken() {
        assert_eq!(judge_clone("0-1", "", "0-1").verdict, Verdict::Kept);
        assert_eq!(judge_clone("0-1", "", "").verdict, Verdict::Broken);
    }
}
