//! Which processes are followed: those in some control groups, and those below some process.
//! Children are followed as they are forked; a process id that was given out again is told by the
//! time at which its process was started.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assay_kernel::{Root, task};

use crate::target::{ProcessTarget, Processes};

/// A process that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    /// Whose it is, an index of the targets.
    target: usize,
    /// The last pass that saw it.
    seen: u64,
}

/// The processes of all targets.
pub(crate) struct ProcessTracker {
    root: Root,
    targets: Vec<ProcessTarget>,
    /// Those that are trees: the target, its process, and whether that belongs to it. Groups may
    /// be hundreds, and every process of the machine is held against these.
    trees: Vec<(usize, u32, bool)>,
    of: HashMap<u32, Member>,
    /// Processes that are nobody's, with the pass that found that out. Looking at each of them
    /// again and again would cost more than all the rest.
    strangers: HashMap<u32, u64>,
    pass: u64,
}

/// After so many passes a stranger is looked at again: its id may have become one of ours.
const AGAIN: u64 = 10;

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
            of: HashMap::new(),
            strangers: HashMap::new(),
            pass: 0,
        }
    }

    /// The name of a target.
    pub(crate) fn name(&self, target: usize) -> &str {
        self.targets.get(target).map_or("", |target| target.name.as_str())
    }

    /// How many directories of groups are read in a look at the groups, at least.
    pub(crate) fn groups(&self) -> usize {
        self.targets.iter().filter(|target| matches!(target.of, Processes::Group(_))).count()
    }

    /// Begins a pass over all processes of the machine.
    pub(crate) fn begin(&mut self) {
        self.pass += 1;
    }

    /// Whose a process is, if it is anybody's, from its id and its parent's.
    pub(crate) fn whose(&mut self, pid: u32, parent: u32) -> Option<usize> {
        if let Some(member) = self.of.get_mut(&pid) {
            member.seen = self.pass;
            return Some(member.target);
        }
        let target = self.of_tree(pid, parent)?;
        self.of.insert(pid, Member { target, seen: self.pass });
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
        // What a group's process forks is seen in the group itself, which is asked again soon.
        let above = self.of.get(&parent)?;
        let is_tree = matches!(self.targets.get(above.target)?.of, Processes::Tree { .. });
        is_tree.then_some(above.target)
    }

    /// Ends a pass: processes of trees that it did not see are gone.
    pub(crate) fn end(&mut self) {
        let (pass, targets) = (self.pass, &self.targets);
        self.of.retain(|_, member| {
            let of = targets.get(member.target).map(|target| &target.of);
            member.seen == pass || matches!(of, Some(Processes::Group(_)))
        });
    }

    /// Reads anew which processes the groups have, and those inside them.
    pub(crate) fn look_at_groups(&mut self) {
        let targets = &self.targets;
        self.of.retain(|_, member| {
            let of = targets.get(member.target).map(|target| &target.of);
            matches!(of, Some(Processes::Tree { .. }))
        });
        for (target, known) in self.targets.iter().enumerate() {
            let Processes::Group(directories) = &known.of else { continue };
            let mut found = Vec::new();
            for directory in directories {
                processes_below(&self.root, directory, &mut found);
            }
            for pid in found {
                // The innermost of several targets that hold it comes last in their order.
                self.of.insert(pid, Member { target, seen: self.pass });
            }
        }
    }

    /// All processes that are followed now, by looking through /proc, each with its target.
    pub(crate) fn by_proc(&mut self) -> Vec<(u32, usize)> {
        self.begin();
        self.look_at_groups();
        if self.targets.iter().any(|target| matches!(target.of, Processes::Tree { .. })) {
            self.look_at_proc();
            self.end();
        }
        let mut found: Vec<(u32, usize)> =
            self.of.iter().map(|(pid, member)| (*pid, member.target)).collect();
        found.sort_unstable();
        found
    }

    fn look_at_proc(&mut self) {
        let pids = self.root.directories("/proc").unwrap_or_default();
        let pids = pids.iter().filter_map(|name| name.parse::<u32>().ok());
        let mut rest: Vec<(u32, u32)> = Vec::new();
        let pass = self.pass;
        for pid in pids {
            let fresh = self.strangers.get(&pid).is_some_and(|seen| pass - seen < AGAIN);
            // One that is gone by now is nobody's.
            if let (false, Some(parent)) = (fresh, self.parent(pid)) {
                rest.push((pid, parent));
            }
        }
        // A child may have a lower id than its parent, so this goes on until nobody is found.
        loop {
            let before = rest.len();
            rest.retain(|(pid, parent)| self.whose(*pid, *parent).is_none());
            if rest.len() == before {
                break;
            }
        }
        self.strangers.extend(rest.into_iter().map(|(pid, _)| (pid, pass)));
        self.strangers.retain(|_, seen| pass - *seen < AGAIN);
    }

    fn parent(&self, pid: u32) -> Option<u32> {
        let text = self.root.read(format!("/proc/{pid}/stat")).ok()?;
        Some(task::stat(text.as_bytes())?.parent)
    }
}

/// Ids in the `cgroup.procs` of a group and of all groups inside it. A group that was removed, and
/// a threaded one, which has no list of processes, give none.
fn processes_below(root: &Root, directory: &Path, found: &mut Vec<u32>) {
    let text = root.read(directory.join("cgroup.procs")).unwrap_or_default();
    found.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
    let inside: Vec<PathBuf> = root
        .directories(directory)
        .unwrap_or_default()
        .into_iter()
        .map(|name| directory.join(name))
        .collect();
    for group in inside {
        processes_below(root, &group, found);
    }
}

#[cfg(test)]
mod tests {
    use assay_test_support::put;

    use super::*;

    fn process(tree: &Path, pid: u32, parent: u32) {
        let rest: Vec<String> = (5..=52).map(|field| field.to_string()).collect();
        put(
            tree,
            &format!("proc/{pid}/stat"),
            &format!("{pid} (p) S {parent} {}\n", rest.join(" ")),
        );
    }

    fn tree_of(pid: u32, itself: bool) -> ProcessTarget {
        ProcessTarget { name: "tree".to_owned(), of: Processes::Tree { pid, itself } }
    }

    #[test]
    fn a_tree_is_found_whatever_the_order_of_its_ids() {
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
        // One ends, one is forked.
        std::fs::remove_dir_all(tree.path().join("proc/500")).unwrap();
        process(tree.path(), 501, 20);
        assert_eq!(pids(&mut without), [20, 30, 501]);
    }

    #[test]
    fn an_id_of_a_stranger_that_became_ours_is_found_again() {
        let tree = tempfile::tempdir().unwrap();
        process(tree.path(), 100, 1);
        process(tree.path(), 200, 1);
        let mut members = ProcessTracker::new(&Root::at(tree.path()), &[tree_of(100, true)]);
        assert_eq!(members.by_proc(), [(100, 0)]);
        process(tree.path(), 200, 100);
        for _ in 0..AGAIN {
            members.by_proc();
        }
        assert_eq!(members.by_proc(), [(100, 0), (200, 0)]);
    }

    #[test]
    fn groups_are_read_with_those_inside_and_a_removed_group_has_nobody() {
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
