//! Pages come from the nodes that a cpuset names, and follow when it changes.

use assay_kernel::Error;

use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// Enough that what a process needs to start is a small part of it.
const BYTES: u64 = 32 << 20;

/// Anonymous pages of a process on this node and on all nodes (/proc/PID/numa_maps,
/// Documentation/filesystems/proc.rst).
fn pages(text: &str, node: u16) -> (u64, u64) {
    let (mut here, mut all) = (0, 0);
    for line in text.lines().filter(|line| line.contains(" anon=")) {
        for word in line.split_whitespace() {
            let Some((name, count)) = word.strip_prefix('N').and_then(|w| w.split_once('=')) else {
                continue;
            };
            let count: u64 = count.parse().unwrap_or(0);
            all += count;
            here += if name.parse() == Ok(node) { count } else { 0 };
        }
    }
    (here, all)
}

fn of_process(ground: &Fixture, pid: u32, node: u16) -> Result<(u64, u64), Error> {
    Ok(pages(&ground.root().read(format!("/proc/{pid}/numa_maps"))?, node))
}

/// The first and the last node with memory.
fn two_nodes(ground: &Fixture) -> (u16, u16) {
    let nodes = &ground.facts().memory_nodes;
    (nodes.iter().next().unwrap_or(0), nodes.iter().last().unwrap_or(0))
}

fn judge((here, all): (u64, u64), most: bool, what: &str) -> Outcome {
    let evidence = format!("{what}: {here} of {all} anonymous pages on the node");
    // With the largest pages of any architecture, 64 KiB, there are this many.
    if all < BYTES / 65_536 {
        return Outcome::void("the process has too few pages").with(evidence);
    }
    let part = here as f64 / all as f64;
    Outcome::holds(if most { part > 0.95 } else { part < 0.05 }, evidence)
}

pub(super) fn come_from(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (first, last) = two_nodes(ground);
    let mut outcomes = Vec::new();
    for node in [first, last] {
        let group = format!("n{node}");
        ground.make(&group)?;
        ground.write(&group, "cpuset.mems", &node.to_string())?;
        let probe = ground.start(&group, &format!("pages bytes={BYTES}"))?;
        let found = of_process(ground, probe.pid(), node)?;
        outcomes.push(judge(found, true, &format!("cpuset.mems {node}")));
    }
    Ok(Outcome::all(outcomes))
}

/// v2 always moves pages, v1 when cpuset.memory_migrate says so.
pub(super) fn follow(ground: &mut Fixture) -> Result<Outcome, Error> {
    change(ground, true)
}

/// v1 without cpuset.memory_migrate leaves pages where they are.
pub(super) fn stay(ground: &mut Fixture) -> Result<Outcome, Error> {
    change(ground, false)
}

fn change(ground: &Fixture, migrate: bool) -> Result<Outcome, Error> {
    let (first, last) = two_nodes(ground);
    ground.make("a")?;
    ground.write("a", "cpuset.mems", &first.to_string())?;
    if !ground.is_v2() {
        ground.write("a", "cpuset.memory_migrate", if migrate { "1" } else { "0" })?;
    }
    let probe = ground.start("a", &format!("pages bytes={BYTES}"))?;
    ground.write("a", "cpuset.mems", &last.to_string())?;
    // Pages are moved by a worker of the kernel, after the write has returned.
    let wanted = |(here, all): (u64, u64)| here * 20 > all * 19;
    let pid = probe.pid();
    ground
        .wait_for(if migrate { 3.0 } else { 0.5 }, || Ok(wanted(of_process(ground, pid, last)?)))?;
    let what = format!("cpuset.mems {first}, then {last}");
    Ok(judge(of_process(ground, pid, last)?, migrate, &what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn only_anonymous_pages_are_counted_node_by_node() {
        let text = "7f00 default file=/bin/x mapped=9 N0=9\n\
                    7f10 default anon=8192 dirty=8192 N0=192 N1=8000 kernelpagesize_kB=4\n";
        assert_eq!(pages(text, 1), (8000, 8192));
    }

    #[test]
    fn pages_on_another_node_are_broken() {
        assert_eq!(judge((8190, 8192), true, "x").verdict, Verdict::Kept);
        assert_eq!(judge((4000, 8192), true, "x").verdict, Verdict::Broken);
        assert_eq!(judge((8190, 8192), false, "x").verdict, Verdict::Broken);
        assert_eq!(judge((1, 1), true, "x").verdict, Verdict::Void);
    }
}
