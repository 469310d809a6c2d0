//! Tracks the processes of targets: those in control groups, and descendants of a process. Children are
//! followed as they are forked; reused process ids are recognised by the start time of the process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_sys::kernel::{Root, process};

use crate::sample::target::{ProcessTarget, Processes};

/// A tracked process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    /// Index of its target.
    target: usize,
    /// The last pass in which it existed.
    last_pass: u64,
}

/// The processes of all targets.
pub(crate) struct ProcessTracker {
    root: Root,
    targets: Vec<ProcessTarget>,
    /// Targets that are trees: the target, its root process, and whether that process is included. Every
    /// process of the machine is compared with these, while groups may be hundreds.
    trees: Vec<(usize, u32, bool)>,
    members: HashMap<u32, Member>,
    /// Processes that belong to no target, with the pass that established it. Examining each of them in every
    /// pass would cost more than everything else.
    strangers: HashMap<u32, u64>,
    pass: u64,
    /// When the next pass may begin.
    next: Option<Instant>,
}

/// A pass that takes longer than this, since others may make any number of groups, rests nine times as long.
const LONG: Duration = Duration::from_millis(20);

/// After this many passes such a process is examined again: its id may have been reused by a tracked one.
const REEXAMINE_AFTER: u64 = 10;

impl ProcessTracker {
    pub(crate) fn new(root: &Root, targets: &[ProcessTarget]) -> Self {
        let tree = |(at, target): (usize, &ProcessTarget)| match target.of {
            Processes::Tree { pid, itself } => Some((at, pid, itself)),
            Processes::Group(_) => None,
        };
        Self {
            root: root.clone(),
            targets: targets.to_vec(),
            trees: targets.iter().enumerate().filter_map(tree).collect(),
            members: HashMap::new(),
            strangers: HashMap::new(),
            pass: 0,
            next: None,
        }
    }

    /// The name of a target.
    pub(crate) fn name(&self, target: usize) -> &str {
        self.targets.get(target).map_or("", |target| target.name.as_str())
    }

    /// How many of the targets are groups.
    pub(crate) fn groups(&self) -> usize {
        self.targets.iter().filter(|target| matches!(target.of, Processes::Group(_))).count()
    }

    /// Begins a pass over all processes of the machine.
    fn begin(&mut self) {
        self.pass += 1;
    }

    /// The target of a process, if any, from its id and its parent's.
    fn target_of(&mut self, pid: u32, parent: u32) -> Option<usize> {
        if let Some(member) = self.members.get_mut(&pid) {
            member.last_pass = self.pass;
            return Some(member.target);
        }
        let target = self.of_tree(pid, parent)?;
        self.members.insert(pid, Member { target, last_pass: self.pass });
        Some(target)
    }

    fn of_tree(&self, pid: u32, parent: u32) -> Option<usize> {
        let root =
            self.trees.iter().find(|(_, top, itself)| parent == *top || *itself && pid == *top);
        if let Some((target, ..)) = root {
            return Some(*target);
        }
        if self.trees.is_empty() {
            return None;
        }
        // Children of a group's process appear in the group itself, which is read again soon.
        let above = self.members.get(&parent)?;
        let is_tree = matches!(self.targets.get(above.target)?.of, Processes::Tree { .. });
        is_tree.then_some(above.target)
    }

    /// Ends a pass: processes of trees that did not occur in it are removed.
    fn end(&mut self) {
        let (pass, targets) = (self.pass, &self.targets);
        self.members.retain(|_, member| {
            let of = targets.get(member.target).map(|target| &target.of);
            member.last_pass == pass || matches!(of, Some(Processes::Group(_)))
        });
    }

    /// Updates the processes of the groups and of the groups inside them.
    fn update_groups(&mut self) {
        let targets = &self.targets;
        self.members.retain(|_, member| {
            let of = targets.get(member.target).map(|target| &target.of);
            matches!(of, Some(Processes::Tree { .. }))
        });
        for (target, group) in self.targets.iter().enumerate() {
            let Processes::Group(directories) = &group.of else { continue };
            let mut pids = Vec::new();
            for directory in directories {
                processes_below(&self.root, directory, &mut pids);
            }
            for pid in pids {
                // Of nested targets the innermost comes last and takes precedence.
                self.members.insert(pid, Member { target, last_pass: self.pass });
            }
        }
    }

    /// All tracked processes with their targets, from a scan of /proc.
    pub(crate) fn by_proc(&mut self) -> Vec<(u32, usize)> {
        let begun = Instant::now();
        if self.next.is_none_or(|next| begun >= next) {
            self.look();
            let took = begun.elapsed();
            self.next = (took > LONG).then(|| begun + 10 * took);
        }
        let mut tracked: Vec<(u32, usize)> =
            self.members.iter().map(|(pid, member)| (*pid, member.target)).collect();
        tracked.sort_unstable();
        tracked
    }

    fn look(&mut self) {
        self.begin();
        self.update_groups();
        if self.targets.iter().any(|target| matches!(target.of, Processes::Tree { .. })) {
            self.update_trees();
            self.end();
        }
    }

    fn update_trees(&mut self) {
        let pids = self.root.directories("/proc").unwrap_or_default();
        let pids = pids.iter().filter_map(|name| name.parse::<u32>().ok());
        let mut rest: Vec<(u32, u32)> = Vec::new();
        let pass = self.pass;
        for pid in pids {
            let fresh =
                self.strangers.get(&pid).is_some_and(|examined| pass - examined < REEXAMINE_AFTER);
            // A process that has ended belongs to no target.
            if let (false, Some(parent)) = (fresh, process::parent(&self.root, pid)) {
                rest.push((pid, parent));
            }
        }
        // A child may have a lower id than its parent, so this repeats until nothing new is found.
        loop {
            let before = rest.len();
            rest.retain(|(pid, parent)| self.target_of(*pid, *parent).is_none());
            if rest.len() == before {
                break;
            }
        }
        self.strangers.extend(rest.into_iter().map(|(pid, _)| (pid, pass)));
        self.strangers.retain(|_, examined| pass - *examined < REEXAMINE_AFTER);
    }
}

/// Ids in the `cgroup.procs` of a group and of all groups inside it. Removed groups, and threaded ones, which
/// have no list of processes, yield none.
fn processes_below(root: &Root, directory: &Path, pids: &mut Vec<u32>) {
    let text = root.read(directory.join("cgroup.procs")).unwrap_or_default();
    pids.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
    let inside: Vec<PathBuf> = root
        .directories(directory)
        .unwrap_or_default()
        .into_iter()
        .map(|name| directory.join(name))
        .collect();
    for group in inside {
        processes_below(root, &group, pids);
    }
}

#[cfg(test)]
mod tests {
    use assay_test_support::put;

    use super::*;

    fn process(tree: &Path, pid: u32, parent: u32) {
        put(tree, &format!("proc/{pid}/status"), &format!("Name:\tp\nPPid:\t{parent}\n"));
    }

    fn tree_of(pid: u32, itself: bool) -> ProcessTarget {
        ProcessTarget { name: "tree".to_owned(), of: Processes::Tree { pid, itself } }
    }

    #[test]
    fn a_tree_is_found_in_any_order_of_its_ids() {
        let tree = tempfile::tempdir().unwrap();
        for (pid, parent) in [(1, 0), (100, 1), (30, 100), (20, 30), (500, 20), (7, 1)] {
            process(tree.path(), pid, parent);
        }
        let root = Root::at(tree.path());
        let pids = |members: &mut ProcessTracker| -> Vec<u32> {
            members.by_proc().into_iter().map(|(pid, _)| pid).collect()
        };
        let mut with = ProcessTracker::new(&root, &[tree_of(100, true)]);
        assert_eq!(pids(&mut with), [20, 30, 100, 500]);
        let mut without = ProcessTracker::new(&root, &[tree_of(100, false)]);
        assert_eq!(pids(&mut without), [20, 30, 500]);
        // One process ends, one is forked.
        std::fs::remove_dir_all(tree.path().join("proc/500")).unwrap();
        process(tree.path(), 501, 20);
        assert_eq!(pids(&mut without), [20, 30, 501]);
    }

    #[test]
    fn a_reused_id_of_an_untracked_process_is_found() {
        let tree = tempfile::tempdir().unwrap();
        process(tree.path(), 100, 1);
        process(tree.path(), 200, 1);
        let mut members = ProcessTracker::new(&Root::at(tree.path()), &[tree_of(100, true)]);
        assert_eq!(members.by_proc(), [(100, 0)]);
        process(tree.path(), 200, 100);
        for _ in 0..REEXAMINE_AFTER {
            members.by_proc();
        }
        assert_eq!(members.by_proc(), [(100, 0), (200, 0)]);
    }

    #[test]
    fn nested_groups_are_read_and_removed_groups_are_empty() {
        let tree = tempfile::tempdir().unwrap();
        put(tree.path(), "cg/a/cgroup.procs", "5\n6\n");
        put(tree.path(), "cg/a/b/cgroup.procs", "7\n");
        let group = Processes::Group(vec![PathBuf::from("/cg/a")]);
        let target = ProcessTarget { name: "a".to_owned(), of: group };
        let mut members = ProcessTracker::new(&Root::at(tree.path()), &[target]);
        assert_eq!(members.by_proc(), [(5, 0), (6, 0), (7, 0)]);
        std::fs::remove_dir_all(tree.path().join("cg/a")).unwrap();
        assert_eq!(members.by_proc(), []);
    }
}
