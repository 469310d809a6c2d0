//! Who had dirty pages: on cgroup v1 the kernel charges their writeback to the root group of `blkio`, and not to the writer's
//! (cgroup-v1/blkio-controller.rst, "Writeback").

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assay_host::facts::CgroupLayout;
use assay_sys::kernel::Root;

use crate::watch::group_tree::GroupTree;
use crate::{Dirtied, ROOT_GROUP};

/// Between two looks, each of which reads a file of every group.
const EVERY: Duration = Duration::from_secs(1);

/// Fewer bytes are left out: a group that writes a log has some.
const LEAST: u64 = 1 << 20;

/// Bytes of `memory.stat`.
const MAX_STAT: u64 = 64 << 10;

/// The most that each group was seen with.
pub(super) struct Dirty {
    /// None where no groups of v1 tell.
    tree: Option<GroupTree>,
    most: BTreeMap<String, u64>,
    looked: Instant,
}

impl Dirty {
    pub(super) fn start(root: &Root, layout: &CgroupLayout) -> Self {
        let tree = GroupTree::new(layout, "memory").ok().filter(|tree| !tree.is_v2);
        let mut dirty = Self { tree, most: BTreeMap::new(), looked: Instant::now() };
        dirty.look(root);
        dirty
    }

    /// Looks if the last look is long ago.
    pub(super) fn look_again(&mut self, root: &Root) {
        if self.looked.elapsed() >= EVERY {
            self.look(root);
        }
    }

    pub(super) fn look(&mut self, root: &Root) {
        self.looked = Instant::now();
        let Some(tree) = &self.tree else { return };
        for path in tree.groups(root).into_iter().chain([ROOT_GROUP.to_owned()]) {
            let file = tree.directory(&path).join("memory.stat");
            // The group may be gone.
            let bytes = root.read_at_most(file, MAX_STAT).map_or(0, |text| unwritten(&text));
            if bytes >= LEAST {
                let most = self.most.entry(path).or_default();
                *most = bytes.max(*most);
            }
        }
    }

    /// The groups, those with the most first.
    pub(super) fn dirtied(self) -> Vec<Dirtied> {
        let most = self.most.into_iter();
        let mut all: Vec<Dirtied> = most.map(|(group, bytes)| Dirtied { group, bytes }).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.bytes));
        all
    }
}

/// Pages that are dirty or under writeback, of a group without those below it, in bytes.
fn unwritten(stat: &str) -> u64 {
    let value = |line: &str| {
        let (key, value) = line.split_once(' ')?;
        ["dirty", "writeback"].contains(&key).then(|| value.trim().parse().ok())?
    };
    stat.lines().filter_map(value).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use assay_test_support::{hosts, put};

    use super::*;

    #[test]
    fn the_groups_with_dirty_pages_are_those_that_wrote() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let stat = |group: &str, dirty: u64, writeback: u64| {
            let text = format!(
                "cache 1\ndirty {dirty}\nwriteback {writeback}\ntotal_dirty 99999999\ntotal_writeback 9\n"
            );
            put(top.path(), &format!("cg/memory/{group}/memory.stat"), &text);
        };
        stat("", 0, 0);
        stat("quiet", 4096, 0);
        stat("logs", 2 << 20, 0);
        stat("backup", 3 << 20, 2 << 20);
        let mut dirty = Dirty::start(&root, &hosts::host(false).cgroup);
        stat("backup", 0, 0);
        stat("logs", 0, 3 << 20);
        dirty.look(&root);
        let names: Vec<_> = dirty.dirtied().into_iter().map(|one| (one.group, one.bytes)).collect();
        assert_eq!(names, [("/backup".to_owned(), 5 << 20), ("/logs".to_owned(), 3 << 20)]);
        assert!(Dirty::start(&root, &hosts::host(true).cgroup).dirtied().is_empty());
    }
}
