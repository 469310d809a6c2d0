//! Pages are allocated on the nodes of a cpuset, and move when it changes.

use assay_kernel::Error;

use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// Large compared with what a process needs to start.
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

fn of_process(fixture: &Fixture, pid: u32, node: u16) -> Result<(u64, u64), Error> {
    Ok(pages(&fixture.root().read(format!("/proc/{pid}/numa_maps"))?, node))
}

/// The first and the last node with memory.
fn two_nodes(fixture: &Fixture) -> (u16, u16) {
    let nodes = &fixture.facts().memory_nodes;
    (nodes.iter().next().unwrap_or(0), nodes.iter().last().unwrap_or(0))
}

fn judge((here, all): (u64, u64), most: bool, what: &str) -> Outcome {
    let evidence = format!("{what}: {here} of {all} anonymous pages on the node");
    // Number of pages at the largest page size of any architecture, 64 KiB.
    if all < BYTES / 65_536 {
        return Outcome::void("the process has too few pages").with(evidence);
    }
    let part = here as f64 / all as f64;
    Outcome::holds(if most { part > 0.95 } else { part < 0.05 }, evidence)
}

pub(super) fn come_from(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let (first, last) = two_nodes(fixture);
    let mut outcomes = Vec::new();
    for node in [first, last] {
        let group = format!("n{node}");
        fixture.make(&group)?;
        fixture.write(&group, "cpuset.mems", &node.to_string())?;
        let probe = fixture.start(&group, &format!("pages bytes={BYTES}"))?;
        let pages_found = of_process(fixture, probe.pid(), node)?;
        outcomes.push(judge(pages_found, true, &format!("cpuset.mems {node}")));
    }
    Ok(Outcome::all(outcomes))
}

/// v2 always moves pages, v1 if cpuset.memory_migrate is 1.
pub(super) fn follow(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    change(fixture, true)
}

/// v1 without cpuset.memory_migrate leaves pages where they are.
pub(super) fn stay(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    change(fixture, false)
}

fn change(fixture: &Fixture, migrate: bool) -> Result<Outcome, Stop> {
    let (first, last) = two_nodes(fixture);
    fixture.make("a")?;
    fixture.write("a", "cpuset.mems", &first.to_string())?;
    if !fixture.is_v2() {
        fixture.write("a", "cpuset.memory_migrate", if migrate { "1" } else { "0" })?;
    }
    let probe = fixture.start("a", &format!("pages bytes={BYTES}"))?;
    fixture.write("a", "cpuset.mems", &last.to_string())?;
    // A kernel worker moves the pages after the write has returned.
    let moved = |(here, all): (u64, u64)| here * 20 > all * 19;
    let pid = probe.pid();
    fixture
        .wait_for(if migrate { 3.0 } else { 0.5 }, || Ok(moved(of_process(fixture, pid, last)?)))?;
    let what = format!("cpuset.mems {first}, then {last}");
    Ok(judge(of_process(fixture, pid, last)?, migrate, &what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn anonymous_pages_are_counted_by_node() {
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
