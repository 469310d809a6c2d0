//! The numbers by which the programs tell groups apart.

use std::path::{Path, PathBuf};

use assay_blame::{FIRST_GROUP, GROUPS, Names, OWN};
use assay_bpf::group_iterator;
use assay_facts::{CgroupLayout, Hierarchy as Mounted};
use assay_kernel::Root;

use crate::error::Error;

/// Groups with a quota are told apart by these numbers, since each is throttled by itself.
const SLOTS: u32 = 16;

/// Groups that the programs have room for (`groups` in `programs/blame.bpf.c`).
const ROOM: usize = 1024;

/// The hierarchy of the controller `cpu`.
#[derive(Debug)]
pub(crate) struct Hierarchy {
    mount: PathBuf,
    is_v2: bool,
}

impl Hierarchy {
    /// Finds it, or says why there is none.
    pub(crate) fn new(layout: &CgroupLayout) -> Result<Self, String> {
        match layout.controllers.get("cpu").map(|controller| &controller.hierarchy) {
            Some(Mounted::V1(mount)) => Ok(Self { mount: mount.clone(), is_v2: false }),
            Some(Mounted::V2(mount)) => Ok(Self { mount: mount.clone(), is_v2: true }),
            Some(Mounted::Absent(reason)) => {
                Err(format!("no groups of the controller `cpu`: {reason}"))
            }
            None => {
                Err("no groups of the controller `cpu`: this kernel does not list it".to_owned())
            }
        }
    }

    /// A group's path below the mount, from the path of its directory or one without the slash.
    pub(crate) fn path(&self, given: &str) -> String {
        let below = Path::new(given).strip_prefix(&self.mount).unwrap_or(Path::new(given));
        format!("/{}", below.display().to_string().trim_matches('/'))
    }

    /// Whether these are the controllers of its line in /proc/PID/cgroup.
    pub(crate) fn has(&self, controllers: &[String]) -> bool {
        if self.is_v2 {
            controllers.is_empty()
        } else {
            controllers.iter().any(|name| name == "cpu")
        }
    }

    /// Refuses what cannot be watched as a group.
    pub(crate) fn check_group(&self, root: &Root, path: &str) -> Result<(), Error> {
        if path == "/" {
            return Err(Error::usage("all groups are below `/`\n  hint: name one of them"));
        }
        if !root.is_directory(self.directory(path)) {
            let mount = self.mount.display();
            return Err(Error::usage(format!(
                "there is no group `{path}` in {mount}\n  hint: assay groups --controller cpu"
            )));
        }
        if self.is_v2 && !root.exists(self.directory(path).join("cpu.max")) {
            return Err(Error::host(format!(
                "`{path}` has no controller `cpu`, so that the kernel schedules its threads in a group above\n  \
                 hint: name that group, or a process with --pid"
            )));
        }
        Ok(())
    }

    /// Whether the group, or one above it, has a quota.
    pub(crate) fn is_limited(&self, root: &Root, path: &str) -> bool {
        let above = Path::new(path).ancestors().filter_map(Path::to_str);
        above.into_iter().any(|group| self.has_quota(root, group))
    }

    fn has_quota(&self, root: &Root, path: &str) -> bool {
        let file = if self.is_v2 { "cpu.max" } else { "cpu.cfs_quota_us" };
        let text = root.read_trimmed(self.directory(path).join(file)).unwrap_or_default();
        !(text.is_empty() || text.starts_with("max") || text == "-1")
    }

    fn directory(&self, path: &str) -> PathBuf {
        self.mount.join(path.trim_start_matches('/'))
    }

    /// All groups but the root, those of a level before those below.
    fn groups(&self, root: &Root) -> Vec<String> {
        let mut paths = vec![String::new()];
        let mut next = 0;
        while let Some(path) = paths.get(next).cloned() {
            next += 1;
            // A group that has just been removed has no listing.
            let mut below = root.directories(self.directory(&path)).unwrap_or_default();
            below.sort();
            paths.extend(below.iter().map(|name| format!("{path}/{name}")));
        }
        paths.split_off(1)
    }
}

/// The numbers of groups, as the programs read them.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// Class and slot of each group by its id.
    pub(crate) numbers: Vec<(u64, u32)>,
    /// The names of the classes.
    pub(crate) names: Names,
    /// Slots with a quota in their path, as a bit mask.
    pub(crate) limited: u32,
    /// Slots in use.
    pub(crate) slots: u32,
}

impl Classes {
    /// Numbers the groups of this moment. Groups that are made later, or for which there is no number left,
    /// count with the group above them.
    pub(crate) fn read(
        root: &Root,
        hierarchy: &Hierarchy,
        watched: Option<&str>,
    ) -> Result<Self, Error> {
        let mut classes = Self { slots: 1, ..Self::default() };
        for path in hierarchy.groups(root) {
            let is_own = watched.is_some_and(|own| Path::new(&path).starts_with(own));
            let class = match is_own {
                true => Some(classes.own(root, hierarchy, &path)?),
                false => classes.other(&path),
            };
            // It may be gone by now.
            let id = group_iterator::id(root, &hierarchy.directory(&path)).ok();
            if classes.numbers.len() < ROOM {
                classes.numbers.extend(id.zip(class));
            }
        }
        Ok(classes)
    }

    fn other(&mut self, path: &str) -> Option<u32> {
        let index = self.names.0.len();
        if index >= GROUPS {
            return None;
        }
        self.names.0.push(path.to_owned());
        Some(FIRST_GROUP + index as u32)
    }

    /// A group with a quota has a slot of its own; all others share the first, unless the topmost has it.
    fn own(&mut self, root: &Root, hierarchy: &Hierarchy, path: &str) -> Result<u32, Error> {
        if !hierarchy.is_limited(root, path) {
            return Ok(OWN);
        }
        let slot = if self.limited == 0 && self.is_first() { 0 } else { self.slots };
        if slot >= SLOTS {
            return Err(Error::host(format!(
                "more than {SLOTS} groups with a quota in their path\n  hint: name a group below, as `{path}`"
            )));
        }
        self.limited |= 1 << slot;
        self.slots = slot + 1;
        Ok(slot << 16 | OWN)
    }

    /// Whether no group of the watched ones has a number yet.
    fn is_first(&self) -> bool {
        !self.numbers.iter().any(|(_, class)| class & 0xffff == OWN)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_facts::Layout;

    use super::*;

    /// A v1 hierarchy with these groups; `=` gives one a quota.
    fn tree(groups: &[&str]) -> (tempfile::TempDir, Hierarchy) {
        let top = tempfile::tempdir().unwrap();
        for group in groups {
            let (path, quota) = group.split_once('=').unwrap_or((group, "-1"));
            let directory = top.path().join("cpu").join(path);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("cpu.cfs_quota_us"), quota).unwrap();
        }
        (top, Hierarchy { mount: PathBuf::from("/cpu"), is_v2: false })
    }

    fn read(groups: &[&str], watched: Option<&str>) -> Classes {
        let (top, hierarchy) = tree(groups);
        Classes::read(&Root::at(top.path()), &hierarchy, watched).unwrap()
    }

    #[test]
    fn other_groups_are_numbered_by_level_and_own_ones_share_a_class() {
        let classes = read(&["b", "mine", "mine/inner", "b/c", "a"], Some("/mine"));
        assert_eq!(classes.names.0, ["/a", "/b", "/b/c"]);
        let numbers: Vec<u32> = classes.numbers.iter().map(|(_, class)| *class).collect();
        assert_eq!(numbers, [FIRST_GROUP, FIRST_GROUP + 1, OWN, FIRST_GROUP + 2, OWN]);
        assert_eq!((classes.limited, classes.slots), (0, 1));
    }

    #[test]
    fn a_group_whose_name_only_begins_alike_is_another_one() {
        let classes = read(&["mine", "mine2"], Some("/mine"));
        assert_eq!(classes.names.0, ["/mine2"]);
    }

    #[test]
    fn groups_with_a_quota_in_their_path_have_slots() {
        let classes = read(&["mine=50000", "mine/a", "mine/b"], Some("/mine"));
        let slots: Vec<u32> = classes.numbers.iter().map(|(_, class)| class >> 16).collect();
        assert_eq!((slots, classes.limited, classes.slots), (vec![0, 1, 2], 0b111, 3));
        let classes = read(&["mine", "mine/a", "mine/b=50000"], Some("/mine"));
        let slots: Vec<u32> = classes.numbers.iter().map(|(_, class)| class >> 16).collect();
        assert_eq!((slots, classes.limited, classes.slots), (vec![0, 0, 1], 0b10, 2));
    }

    #[test]
    fn more_quotas_than_slots_are_refused_with_a_remedy() {
        let names: Vec<String> = (0..20).map(|number| format!("mine/g{number}=1000")).collect();
        let groups: Vec<&str> = names.iter().map(String::as_str).chain(["mine"]).collect();
        let (top, hierarchy) = tree(&groups);
        let error = Classes::read(&Root::at(top.path()), &hierarchy, Some("/mine")).unwrap_err();
        assert!(
            error.to_string().contains("more than 16") && error.to_string().contains("hint"),
            "{error}"
        );
    }

    #[test]
    fn groups_are_named_below_the_mount_or_by_their_directory() {
        let (top, hierarchy) = tree(&["mine"]);
        let root = Root::at(top.path());
        for given in ["mine", "/mine", "/cpu/mine", "/mine/"] {
            assert_eq!(hierarchy.path(given), "/mine", "{given}");
        }
        hierarchy.check_group(&root, "/mine").unwrap();
        assert!(
            hierarchy.check_group(&root, "/no").unwrap_err().to_string().contains("no group `/no`")
        );
        assert!(hierarchy.check_group(&root, "/").is_err());
    }

    #[test]
    fn a_group_of_v2_without_the_controller_is_refused() {
        let (top, _) = tree(&["mine"]);
        let hierarchy = Hierarchy { mount: PathBuf::from("/cpu"), is_v2: true };
        let error = hierarchy.check_group(&Root::at(top.path()), "/mine").unwrap_err();
        assert!(error.to_string().contains("--pid"), "{error}");
    }

    #[test]
    fn a_host_without_the_controller_says_why() {
        let layout = CgroupLayout {
            layout: Layout::None,
            v2_mount: None,
            controllers: std::collections::BTreeMap::new(),
            bases: std::collections::BTreeMap::new(),
        };
        assert!(Hierarchy::new(&layout).unwrap_err().contains("does not list it"));
    }
}
