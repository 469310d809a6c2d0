//! The groups of one controller: where they are mounted, and which of them can be watched.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assay_host::facts::owner::{Ranks, claimant};
use assay_host::facts::{CgroupLayout, Hierarchy};
use assay_sys::kernel::Root;

use crate::watch::watch_error::WatchError;

/// The hierarchy of a controller.
#[derive(Debug, Clone)]
pub(crate) struct GroupTree {
    pub(crate) mount: PathBuf,
    pub(crate) is_v2: bool,
}

impl GroupTree {
    /// Where this host has the groups of a controller.
    pub(crate) fn new(layout: &CgroupLayout, controller: &str) -> Result<Self, WatchError> {
        let none = |reason: &str| {
            WatchError::Host(format!("no groups of the controller `{controller}`: {reason}"))
        };
        match layout.controllers.get(controller).map(|controller| &controller.hierarchy) {
            Some(Hierarchy::V1(mount)) => Ok(Self { mount: mount.clone(), is_v2: false }),
            Some(Hierarchy::V2(mount)) => Ok(Self { mount: mount.clone(), is_v2: true }),
            Some(Hierarchy::Absent(reason)) => Err(none(reason)),
            None => Err(none("this kernel does not list it")),
        }
    }

    /// A group's path below the mount, from the path of its directory or one without the slash.
    pub(crate) fn path(&self, given: &str) -> String {
        let below = Path::new(given).strip_prefix(&self.mount).unwrap_or(Path::new(given));
        // By components, so that groups are found by their paths as text: `a//b` is `/a/b`.
        let below: PathBuf = below.components().collect();
        format!("/{}", below.display().to_string().trim_matches('/'))
    }

    /// The directory of a group.
    pub(crate) fn directory(&self, path: &str) -> PathBuf {
        self.mount.join(path.trim_start_matches('/'))
    }

    /// Refuses what cannot be watched as a group of this controller.
    pub(crate) fn check_group(
        &self,
        root: &Root,
        path: &str,
        controller: &str,
    ) -> Result<(), WatchError> {
        if path == "/" {
            let reason = "all groups are below `/`\n  hint: name one of them";
            return Err(WatchError::Target(reason.to_owned()));
        }
        if !root.is_directory(self.directory(path)) {
            let mount = self.mount.display();
            return Err(WatchError::Target(format!(
                "there is no group `{path}` in {mount}\n  hint: assay top --controller {controller}"
            )));
        }
        Ok(())
    }

    /// All groups but the root, those of a level before those below, after those of the host one of each container and user in
    /// turn: not all may have room, and so none takes that of others. What is above a group precedes it.
    pub(crate) fn groups(&self, root: &Root) -> Vec<String> {
        let mut paths = vec![String::new()];
        let mut next = 0;
        while let Some(path) = paths.get(next).cloned() {
            next += 1;
            // A group that has just been removed has no listing.
            let mut below = root.directories(self.directory(&path)).unwrap_or_default();
            below.sort();
            paths.extend(below.iter().map(|name| format!("{path}/{name}")));
        }
        let mut ranks = Ranks::default();
        let mut ranked: Vec<(usize, String)> = paths
            .into_iter()
            .skip(1)
            .map(|path| (ranks.next(claimant(&path, None)), path))
            .collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, path)| path).collect()
    }
}

/// Programs look for a number in twice as many levels above a group (`LEVELS` in `programs/known_groups.h`): groups may have been
/// made below since.
const REACH: usize = 12;

/// Groups without a number of their own that get that of the nearest group above with one, since programs would find none: nobody
/// hides in a deep tree. `all` has what is above a group before it.
pub(crate) fn far_below<'p>(
    all: &'p [String],
    numbers: &[(&'p String, u32)],
) -> Vec<(&'p String, u32)> {
    let mut known: HashMap<&str, u32> =
        numbers.iter().map(|(path, number)| (path.as_str(), *number)).collect();
    let mut found = Vec::new();
    for path in all {
        let above = path.rsplit_once('/').and_then(|(above, _)| known.get(above).copied());
        if let Some(number) = above.filter(|_| !known.contains_key(path.as_str())) {
            known.insert(path, number);
            if path.matches('/').count() % REACH == 0 {
                found.push((path, number));
            }
        }
    }
    found
}

/// Whether a path is that of a group or of one below it.
pub(crate) fn is_within(path: &str, group: &str) -> bool {
    Path::new(path).starts_with(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_lowest_of_a_deep_tree_a_number_is_within_the_reach_of_the_programs() {
        let all: Vec<String> = (1..=100).map(|levels| "/d".repeat(levels)).collect();
        let numbers: Vec<(&String, u32)> = all.iter().take(30).zip(1..).collect();
        let far = far_below(&all, &numbers);
        let shown: Vec<_> = far.iter().map(|(path, number)| (path.len() / 2, *number)).collect();
        assert_eq!(shown, [(36, 30), (48, 30), (60, 30), (72, 30), (84, 30), (96, 30)]);
    }
}
