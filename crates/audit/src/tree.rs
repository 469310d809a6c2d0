//! The groups of one hierarchy as a tree.

use std::collections::HashMap;

use assay_host::facts::Available;
use assay_host::knob::{bandwidth, device_lines, limit};

use crate::finding::Reading;
use crate::snapshot::{Group, Hierarchy, parent};

/// One hierarchy with the relations between its groups.
pub(crate) struct Tree<'s> {
    pub(crate) hierarchy: &'s Hierarchy,
    places: HashMap<&'s str, usize>,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    /// Threads in each group and those below; `None` if some of them are unknown.
    threads_below: Vec<Option<u64>>,
    /// Children with threads in them or below.
    populated: Vec<usize>,
}

impl<'s> Tree<'s> {
    pub(crate) fn new(hierarchy: &'s Hierarchy) -> Self {
        let groups = &hierarchy.groups;
        let places: HashMap<&str, usize> =
            groups.iter().enumerate().map(|(at, group)| (group.path.as_str(), at)).collect();
        let parents: Vec<Option<usize>> = groups
            .iter()
            .map(|group| parent(&group.path).and_then(|path| places.get(path).copied()))
            .collect();
        let mut children = vec![Vec::new(); groups.len()];
        let mut threads_below: Vec<Option<u64>> =
            groups.iter().map(|group| group.threads.value().copied()).collect();
        for (at, above) in parents.iter().enumerate() {
            if let Some(above) = above {
                children[*above].push(at);
            }
        }
        // Parents precede children, so that a group is complete when it is added to its parent.
        for at in (0..groups.len()).rev() {
            if let Some(above) = parents[at] {
                let sum = threads_below[above].zip(threads_below[at]);
                threads_below[above] = sum.map(|(own, below)| own.saturating_add(below));
            }
        }
        let is_populated = |at: &&usize| threads_below[**at] != Some(0);
        let populated = children.iter().map(|all| all.iter().filter(is_populated).count());
        let populated = populated.collect();
        Self { hierarchy, places, parents, children, threads_below, populated }
    }

    /// The group with this path.
    pub(crate) fn node(&self, path: &str) -> Option<Node<'_>> {
        self.places.get(path).map(|at| Node { tree: self, at: *at })
    }

    /// All groups, parents before children.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..self.hierarchy.groups.len()).map(|at| Node { tree: self, at })
    }

    /// Whether this hierarchy serves a controller.
    pub(crate) fn serves(&self, controller: &str) -> bool {
        self.hierarchy.controllers.iter().any(|name| name == controller)
    }

    /// Whether it is mounted with an option.
    pub(crate) fn has_option(&self, name: &str) -> bool {
        self.hierarchy.options.iter().any(|option| option == name)
    }

    /// The top of the mount.
    pub(crate) fn top(&self) -> Option<Node<'_>> {
        self.nodes().next()
    }
}

/// One group of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Node<'t> {
    pub(crate) tree: &'t Tree<'t>,
    at: usize,
}

impl<'t> Node<'t> {
    pub(crate) fn group(self) -> &'t Group {
        &self.tree.hierarchy.groups[self.at]
    }

    pub(crate) fn path(self) -> &'t str {
        &self.group().path
    }

    /// Where the group stands in its hierarchy, for tables beside it.
    pub(crate) const fn index(self) -> usize {
        self.at
    }

    pub(crate) fn is_top(self) -> bool {
        self.tree.parents[self.at].is_none()
    }

    /// Whether it is the top of the hierarchy, which has no settings. In a container the top of the mount is a group.
    pub(crate) fn is_root(self) -> bool {
        self.is_top() && self.tree.hierarchy.is_whole
    }

    pub(crate) fn parent(self) -> Option<Self> {
        self.tree.parents[self.at].map(|at| Self { at, ..self })
    }

    pub(crate) fn children(self) -> impl Iterator<Item = Self> {
        self.tree.children[self.at].iter().map(move |at| Self { at: *at, ..self })
    }

    /// The only group below, if all processes are there.
    pub(crate) fn only_child(self) -> Option<Self> {
        let mut children = self.children();
        let only = children.next().filter(|_| children.next().is_none())?;
        (self.threads() == Some(0)).then_some(only)
    }

    /// The other children of its parent.
    pub(crate) fn siblings(self) -> impl Iterator<Item = Self> {
        let all = self.parent().map(|above| above.children().filter(move |one| one.at != self.at));
        all.into_iter().flatten()
    }

    /// Whether any thread is in a sibling or below one.
    pub(crate) fn has_populated_sibling(self) -> bool {
        let own = usize::from(self.is_populated());
        self.parent().is_some_and(|above| self.tree.populated[above.at] > own)
    }

    /// Whether the memory of groups below is charged to it too. On v1 up to Linux 5.10 that may be off.
    pub(crate) fn has_hierarchy(self) -> bool {
        self.text("memory.use_hierarchy") != Some("0")
    }

    /// The groups above, nearest first, without the root, which has no settings of its own.
    pub(crate) fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |node| node.parent()).filter(|node| !node.is_root())
    }

    /// The text of a file, if it exists and could be read.
    pub(crate) fn text(self, file: &str) -> Option<&'t str> {
        self.group().files.get(file)?.value().map(|text| text.trim_end())
    }

    /// Whether the file exists but could not be read.
    pub(crate) fn unreadable(self, file: &str) -> Option<&'t str> {
        self.group().files.get(file).and_then(Available::reason)
    }

    /// The number in a file.
    pub(crate) fn number(self, file: &str) -> Option<u64> {
        self.text(file)?.trim().parse().ok()
    }

    /// The number behind a key in a file of lines `key number`.
    pub(crate) fn keyed(self, file: &str, key: &str) -> Option<u64> {
        let mut lines = self.text(file)?.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
    }

    /// The limit in a file; none where it says that there is no limit.
    pub(crate) fn limit(self, file: &str) -> Option<u64> {
        limit(self.text(file)?)?.amount()
    }

    /// The lines of a file that begin with a device, with the device.
    pub(crate) fn device_lines(self, file: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
        self.text(file).into_iter().flat_map(device_lines)
    }

    /// Whether `cgroup.controllers`, or another list of words, names one.
    pub(crate) fn lists(self, file: &str, word: &str) -> Option<bool> {
        Some(self.text(file)?.split_whitespace().any(|own| own == word))
    }

    /// The CPUs that its quota allows at once, with the file of the quota.
    pub(crate) fn quota(self) -> Option<(&'static str, f64)> {
        let (file, quota, period) = match self.text("cpu.max") {
            Some(text) => {
                let (quota, period) = bandwidth(text)?;
                ("cpu.max", quota?, period)
            }
            None => {
                let period = self.number("cpu.cfs_period_us").filter(|period| *period > 0)?;
                ("cpu.cfs_quota_us", self.limit("cpu.cfs_quota_us")?, period)
            }
        };
        Some((file, quota as f64 / period as f64))
    }

    /// The number of CPUs on which it may run, if it says so itself.
    pub(crate) fn allowed_cpus(self) -> Option<(u64, Reading)> {
        let files = ["cpuset.cpus.effective", "cpuset.effective_cpus"].into_iter();
        files.filter_map(|file| Some((cpu_count(self.text(file)?)?, self.reading(file)))).next()
    }

    /// The group and those above, nearest first, without the root.
    pub(crate) fn with_ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::once(self).chain(self.ancestors())
    }

    /// Threads in the group itself.
    pub(crate) fn threads(self) -> Option<u64> {
        self.group().threads.value().copied()
    }

    /// Threads in it and below; `None` if unknown.
    pub(crate) fn threads_below(self) -> Option<u64> {
        self.tree.threads_below[self.at]
    }

    /// Whether any thread is in it or below; what is unknown counts as populated.
    pub(crate) fn is_populated(self) -> bool {
        self.threads_below() != Some(0)
    }

    /// Whether any thread is known to be in it or below.
    pub(crate) fn has_threads(self) -> bool {
        self.threads_below().is_some_and(|all| all > 0)
    }

    /// The path of the list of its threads.
    pub(crate) fn thread_list(self) -> String {
        self.file(if self.tree.hierarchy.is_v2 { "cgroup.threads" } else { "tasks" })
    }

    /// The path of its directory on the host.
    pub(crate) fn directory(self) -> String {
        format!("{}{}", self.tree.hierarchy.mount.display(), self.path())
    }

    /// The path of a file on the host.
    fn file(self, name: &str) -> String {
        let below = self.path().trim_end_matches('/');
        format!("{}{below}/{name}", self.tree.hierarchy.mount.display())
    }

    /// A file with its text, for a finding to rest on.
    pub(crate) fn reading(self, file: &str) -> Reading {
        let value = self.text(file).map_or_else(|| "no such file".to_owned(), str::to_owned);
        Reading { file: self.file(file), value }
    }
}

/// The first and last CPUs of the parts of a list such as `0-3,8`.
pub(crate) fn cpu_ranges(list: &str) -> Option<Vec<(u64, u64)>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    list.trim().split(',').map(range).collect()
}

/// The number of CPUs in such a list.
pub(crate) fn cpu_count(list: &str) -> Option<u64> {
    let length = |(first, last): (u64, u64)| last.checked_sub(first)?.checked_add(1);
    let mut lengths = cpu_ranges(list)?.into_iter().map(length);
    lengths.try_fold(0_u64, |sum, length| sum.checked_add(length?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(["0-3,8", "", "3-1", "x"].map(cpu_count), [Some(5), None, None, None]);
    }
}
