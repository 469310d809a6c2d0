//! The groups of the controller `io`, and the numbers by which the programs tell them apart.

use std::collections::HashMap;

use assay_bpf::{Programs, group_id};
use assay_host::facts::CgroupLayout;
use assay_sys::kernel::{Error, Root};

use crate::DiskNames;
use crate::watch::group_tree::GroupTree;
use crate::watch::watch_error::WatchError;

/// Groups that the programs have room for (`groups` and `CLASSES` in `programs/disk.bpf.c`).
const ROOM: usize = 1024;
const CLASSES: usize = 512;

/// The hierarchy of the controller `io`, or `blkio` on v1.
#[derive(Debug, Clone)]
pub struct IoHierarchy {
    tree: GroupTree,
}

impl IoHierarchy {
    /// Where this host has it.
    ///
    /// # Errors
    /// It has none.
    pub fn new(layout: &CgroupLayout) -> Result<Self, WatchError> {
        Ok(Self { tree: GroupTree::new(layout, "io")? })
    }

    /// A group's path below the mount, from the path of its directory or one without the slash.
    #[must_use]
    pub fn path(&self, given: &str) -> String {
        self.tree.path(given)
    }

    /// The directory of a group.
    #[must_use]
    pub fn directory(&self, path: &str) -> std::path::PathBuf {
        self.tree.directory(path)
    }

    /// Whether it is cgroup2.
    pub(crate) const fn is_v2(&self) -> bool {
        self.tree.is_v2
    }

    /// Refuses what cannot be watched as a group.
    fn check_group(&self, root: &Root, path: &str) -> Result<(), WatchError> {
        self.tree.check_group(root, path, "io")?;
        if self.tree.is_v2 && !root.exists(self.directory(path).join("io.stat")) {
            return Err(WatchError::Host(format!(
                "`{path}` has no controller `io`, so that its requests count in a group above\n  hint: name that group"
            )));
        }
        Ok(())
    }
}

/// The numbers of groups, as the programs read them.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Class of each group by its id.
    numbers: Vec<(u64, u32)>,
    /// The paths of the classes.
    pub(super) names: DiskNames,
}

impl Groups {
    /// Numbers the groups of this moment. Groups that are made later, or for which there is no number left, count
    /// with the group above them; groups below a watched one count with it.
    pub(super) fn read(
        root: &Root,
        hierarchy: &IoHierarchy,
        watched: &[String],
    ) -> Result<Self, WatchError> {
        let watched: Vec<String> = watched.iter().map(|path| hierarchy.path(path)).collect();
        watched.iter().try_for_each(|path| hierarchy.check_group(root, path))?;
        let names = DiskNames { paths: watched.clone(), watched: watched.len() };
        let mut groups = Self { numbers: Vec::new(), names };
        // The nearest watched group of each; what is above a group precedes it.
        let mut nearest: HashMap<String, usize> = HashMap::new();
        for path in hierarchy.tree.groups(root) {
            let above = path.rsplit_once('/').map_or("", |(above, _)| above);
            let own = watched.iter().position(|group| *group == path);
            let own = own.or_else(|| nearest.get(above).copied());
            nearest.extend(own.map(|own| (path.clone(), own)));
            let class = groups.class(own, &path);
            // It may be gone by now.
            let id = group_id(root, &hierarchy.tree.directory(&path)).ok();
            groups.numbers.extend(id.zip(class));
        }
        // Where there is no room for all, others count with the group above them.
        let watched = watched.len() as u32;
        groups.numbers.sort_by_key(|(_, class)| *class > watched);
        groups.numbers.truncate(ROOM);
        Ok(groups)
    }

    /// The class of the nearest watched group, or one of its own.
    fn class(&mut self, nearest: Option<usize>, path: &str) -> Option<u32> {
        let index = nearest.unwrap_or(self.names.paths.len());
        if index + 1 >= CLASSES {
            return None;
        }
        if nearest.is_none() {
            self.names.paths.push(path.to_owned());
        }
        Some(index as u32 + 1)
    }

    /// Fills the map `groups` of the programs.
    pub(super) fn write(&self, programs: &Programs) -> Result<(), Error> {
        let map = programs.map("groups")?;
        let set = |(id, class): &(u64, u32)| map.set(&id.to_ne_bytes(), &class.to_ne_bytes());
        self.numbers.iter().try_for_each(set)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree(groups: &[&str]) -> (tempfile::TempDir, IoHierarchy) {
        let top = tempfile::tempdir().unwrap();
        for group in groups {
            fs::create_dir_all(top.path().join("blkio").join(group)).unwrap();
        }
        let tree = GroupTree { mount: "/blkio".into(), is_v2: false };
        (top, IoHierarchy { tree })
    }

    #[test]
    fn groups_below_a_watched_one_belong_to_the_nearest_and_others_have_numbers() {
        let (top, hierarchy) = tree(&["a/inner/deep", "a/x", "ab", "b"]);
        let watched = ["/a/inner".to_owned(), "a".to_owned()];
        let groups = Groups::read(&Root::at(top.path()), &hierarchy, &watched).unwrap();
        assert_eq!(groups.names.paths, ["/a/inner", "/a", "/ab", "/b"]);
        assert_eq!(groups.names.watched, 2);
        let classes: Vec<u32> = groups.numbers.iter().map(|(_, class)| *class).collect();
        // By level, watched ones first: a, a/inner, a/x, a/inner/deep; ab, b.
        assert_eq!(classes, [2, 1, 2, 1, 3, 4]);
    }

    #[test]
    fn what_cannot_be_watched_is_refused() {
        let (top, hierarchy) = tree(&["a"]);
        let root = Root::at(top.path());
        let refused = |hierarchy: &IoHierarchy, path: &str| {
            Groups::read(&root, hierarchy, &[path.to_owned()]).unwrap_err().to_string()
        };
        assert!(refused(&hierarchy, "/no").contains("no group `/no`"));
        assert!(refused(&hierarchy, "/").contains("name one of them"));
        let v2 = IoHierarchy { tree: GroupTree { is_v2: true, ..hierarchy.tree } };
        assert!(refused(&v2, "/a").contains("no controller `io`"));
    }
}
