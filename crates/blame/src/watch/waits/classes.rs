//! The numbers by which the programs tell groups apart.

use std::collections::HashSet;

use assay_bpf::group_id;
use assay_sys::kernel::Root;

use super::WatchError;
use super::hierarchy::CpuHierarchy;
use crate::watch::group_tree::{far_below, is_within};
use crate::{FIRST_GROUP, GROUPS, Names, OWN, Shape, Target};

/// Groups that wait are told apart by these numbers: one for each watched group, and one for each group below it
/// that has a quota in its path, since each is throttled by itself. They are bits of a word.
const SLOTS: usize = 64;

/// The numbers of groups, as the programs read them.
#[derive(Debug)]
pub(super) struct Classes {
    /// Slot and class of each group by its id.
    pub(super) numbers: Vec<(u64, u32)>,
    /// The names of the classes.
    pub(super) names: Names,
    /// What is watched.
    pub(super) targets: Vec<Target>,
    /// Slots with a quota in their path, as a bit mask.
    pub(super) limited: u64,
    /// The room that the programs need.
    pub(super) shape: Shape,
}

/// The numbers of a group: `SLOT` and `CLASS` in `programs/blame/memory.h`. Slots count from 1 on there.
const fn place(slot: Option<usize>, class: u32) -> u32 {
    let slot = match slot {
        Some(slot) => slot as u32 + 1,
        None => 0,
    };
    slot << 12 | class
}

impl Classes {
    /// The place of a watched process.
    pub(super) const PROCESS: u32 = place(Some(0), OWN);

    /// Numbers the groups of this moment for watched groups. Groups that are made later, or for which there is no
    /// room, count with the group above them.
    pub(super) fn of_groups(
        root: &Root,
        hierarchy: &CpuHierarchy,
        watched: &[String],
    ) -> Result<Self, WatchError> {
        let all = hierarchy.groups(root);
        let (slots, mut numbers) = Slots::of(root, hierarchy, &all, watched);
        if slots.owners.len() > SLOTS {
            return Err(WatchError::Host(format!(
                "{} watched groups, with those below that have a quota in their path, are more than {SLOTS}\n  \
                 hint: name fewer of them, or groups below",
                slots.owners.len()
            )));
        }
        let others = all.iter().filter(|path| owner(watched, path).is_none());
        let mut classes = Self {
            numbers: Vec::new(),
            names: Names(watched.to_vec()),
            targets: targets(watched, &slots.owners),
            limited: slots.limited,
            shape: Shape { cpus: hierarchy.cpus, slots: slots.owners.len().max(1) },
        };
        numbers.extend(classes.name_others(others));
        numbers.extend(far_below(&all, &numbers));
        classes.find_ids(root, hierarchy, &numbers);
        Ok(classes)
    }

    /// These groups without those that take the most slots, if there are not enough for all: the quotas that a user gives to
    /// groups of his own take none of others.
    pub(super) fn fitting(
        root: &Root,
        hierarchy: &CpuHierarchy,
        mut watched: Vec<String>,
    ) -> Vec<String> {
        let all = hierarchy.groups(root);
        loop {
            let (slots, _) = Slots::of(root, hierarchy, &all, &watched);
            let mut room = SLOTS;
            let mut counts: Vec<(usize, usize)> = (0..watched.len())
                .map(|owner| (slots.owners.iter().filter(|of| **of == owner).count(), owner))
                .collect();
            counts.sort_unstable();
            counts.retain(|(count, _)| {
                let fits = *count <= room;
                room = if fits { room - count } else { 0 };
                fits
            });
            if counts.len() == watched.len() {
                return watched;
            }
            // What is below one of the others now counts there.
            let kept: HashSet<usize> = counts.into_iter().map(|(_, owner)| owner).collect();
            let mut owner = 0..;
            watched.retain(|_| owner.next().is_some_and(|owner| kept.contains(&owner)));
        }
    }

    /// The same for a process, which may have a quota in the path of its group.
    pub(super) fn of_process(
        root: &Root,
        hierarchy: &CpuHierarchy,
        name: String,
        is_limited: bool,
    ) -> Self {
        let mut classes = Self {
            numbers: Vec::new(),
            names: Names::default(),
            targets: vec![Target { name, slots: vec![0], classes: vec![OWN] }],
            limited: u64::from(is_limited),
            shape: Shape { cpus: hierarchy.cpus, slots: 1 },
        };
        let all = hierarchy.groups(root);
        let mut numbers = classes.name_others(all.iter());
        numbers.extend(far_below(&all, &numbers));
        classes.find_ids(root, hierarchy, &numbers);
        classes
    }

    /// Gives groups that are not watched the next numbers, as long as there is room.
    fn name_others<'p>(
        &mut self,
        paths: impl Iterator<Item = &'p String>,
    ) -> Vec<(&'p String, u32)> {
        let named = self.names.0.len();
        let numbered = paths.take(GROUPS.saturating_sub(named)).zip(FIRST_GROUP + named as u32..);
        let numbers: Vec<_> = numbered.map(|(path, class)| (path, place(None, class))).collect();
        self.names.0.extend(numbers.iter().map(|(path, _)| (*path).clone()));
        numbers
    }

    fn find_ids(&mut self, root: &Root, hierarchy: &CpuHierarchy, numbers: &[(&String, u32)]) {
        // A group may be gone by now.
        let id = |path: &str| group_id(root, &hierarchy.directory(path)).ok();
        self.numbers =
            numbers.iter().filter_map(|(path, number)| Some((id(path)?, *number))).collect();
    }
}

/// The slots of watched groups.
struct Slots {
    /// Of each watched group: that of groups without a quota in their path.
    of: Vec<Option<usize>>,
    /// The watched group of each slot.
    owners: Vec<usize>,
    limited: u64,
}

impl Slots {
    /// The slots of watched groups and of those below them, with the number of each.
    fn of<'p>(
        root: &Root,
        hierarchy: &CpuHierarchy,
        all: &'p [String],
        watched: &[String],
    ) -> (Self, Vec<(&'p String, u32)>) {
        let mut slots = Self { of: vec![None; watched.len()], owners: Vec::new(), limited: 0 };
        let mut numbers = Vec::new();
        let mut limited: HashSet<&str> = HashSet::new();
        for path in all {
            if let Some(owner) = owner(watched, path) {
                // Below a watched group the one above has been looked at.
                let is_limited = if watched.contains(path) {
                    hierarchy.is_limited(root, path)
                } else {
                    limited.contains(above(path)) || hierarchy.has_quota(root, path)
                };
                limited.extend(is_limited.then_some(path.as_str()));
                let slot = slots.take(owner, is_limited);
                numbers.push((path, place(Some(slot), FIRST_GROUP + owner as u32)));
            }
        }
        (slots, numbers)
    }

    fn take(&mut self, owner: usize, is_limited: bool) -> usize {
        if let Some(slot) = self.of[owner].filter(|_| !is_limited) {
            return slot;
        }
        let slot = self.owners.len();
        self.owners.push(owner);
        if is_limited {
            self.limited |= 1_u64.checked_shl(slot as u32).unwrap_or(0);
        } else {
            self.of[owner] = Some(slot);
        }
        slot
    }
}

/// The watched group to which a group belongs: the lowest above it.
fn owner(watched: &[String], path: &str) -> Option<usize> {
    let mut above: Vec<_> =
        (0..watched.len()).filter(|own| is_within(path, &watched[*own])).collect();
    above.sort_by_key(|own| watched[*own].len());
    above.pop()
}

/// The path of the group above, which is empty for the topmost groups.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

/// A watched group has the slots and classes of all watched groups within it.
fn targets(watched: &[String], owners: &[usize]) -> Vec<Target> {
    let target = |group: &String| {
        let is_own = |owner: usize| is_within(&watched[owner], group);
        let slots = (0..owners.len()).filter(|slot| is_own(owners[*slot])).collect();
        let own = (0..watched.len()).filter(|owner| is_own(*owner));
        let classes = own.map(|owner| FIRST_GROUP + owner as u32).collect();
        Target { name: group.clone(), slots, classes }
    };
    watched.iter().map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::super::hierarchy::tests::{QUOTAS, tree};
    use super::*;

    fn read(groups: &[&str], watched: &[&str]) -> Result<Classes, WatchError> {
        let (top, hierarchy) = tree(groups);
        let watched: Vec<String> = watched.iter().map(|path| (*path).to_owned()).collect();
        Classes::of_groups(&Root::at(top.path()), &hierarchy, &watched)
    }

    /// The slots, from 1 on, and classes, from the first group on, of the groups in their order.
    fn places(classes: &Classes) -> Vec<(u32, u32)> {
        let numbers = classes.numbers.iter();
        numbers.map(|(_, place)| (place >> 12, (place & 0xfff) - FIRST_GROUP)).collect()
    }

    #[test]
    fn groups_below_a_watched_one_share_its_numbers_and_others_follow_by_level() {
        let classes = read(&["b", "mine", "mine/inner", "b/c", "a"], &["/mine"]).unwrap();
        assert_eq!(classes.names.0, ["/mine", "/a", "/b", "/b/c"]);
        assert_eq!(places(&classes), [(1, 0), (1, 0), (0, 1), (0, 2), (0, 3)]);
        assert_eq!(classes.limited, 0);
        assert_eq!(classes.shape, Shape { cpus: 2, slots: 1 });
    }

    #[test]
    fn a_group_whose_name_only_begins_alike_is_another_one() {
        let classes = read(&["mine", "mine2"], &["/mine"]).unwrap();
        assert_eq!(classes.names.0, ["/mine", "/mine2"]);
        assert_eq!(places(&classes), [(1, 0), (0, 1)]);
    }

    #[test]
    fn a_watched_group_within_another_is_part_of_it() {
        let classes = read(&["a", "a/b", "a/b/c", "d"], &["/a", "/a/b", "/d"]).unwrap();
        assert_eq!(places(&classes), [(1, 0), (2, 2), (3, 1), (3, 1)]);
        let [a, b, d] = &classes.targets[..] else { panic!("{classes:?}") };
        let group = |index: u32| FIRST_GROUP + index;
        assert_eq!((&a.slots, &a.classes), (&vec![0, 2], &vec![group(0), group(1)]));
        assert_eq!((&b.slots, &b.classes), (&vec![2], &vec![group(1)]));
        assert_eq!((&d.slots, &d.classes), (&vec![1], &vec![group(2)]));
    }

    #[test]
    fn groups_with_a_quota_in_their_path_have_slots() {
        let classes = read(&["mine=50000", "mine/a", "mine/b"], &["/mine"]).unwrap();
        assert_eq!((places(&classes), classes.limited), (vec![(1, 0), (2, 0), (3, 0)], 0b111));
        let classes = read(&["mine", "mine/a", "mine/b=50000"], &["/mine"]).unwrap();
        assert_eq!((places(&classes), classes.limited), (vec![(1, 0), (1, 0), (2, 0)], 0b10));
        assert_eq!(classes.targets[0].slots, [0, 1]);
    }

    #[test]
    fn however_deep_groups_are_the_quota_of_each_is_read_once() {
        let deep = format!("mine{}", "/d".repeat(200));
        let before = QUOTAS.get();
        let classes = read(&["mine", &deep], &["/mine"]).unwrap();
        // Of the watched group also that of what is above it.
        assert_eq!((classes.numbers.len(), QUOTAS.get() - before), (201, 202));
    }

    #[test]
    fn more_groups_than_slots_are_refused_with_a_remedy() {
        let names: Vec<String> = (0..80).map(|number| format!("mine/g{number}=1000")).collect();
        let groups: Vec<&str> = names.iter().map(String::as_str).chain(["mine"]).collect();
        let error = read(&groups, &["/mine"]).unwrap_err();
        assert!(
            error.to_string().contains("more than 64") && error.to_string().contains("hint"),
            "{error}"
        );
    }

    #[test]
    fn quotas_below_one_group_take_no_slots_of_others() {
        let names: Vec<String> = (0..80).map(|number| format!("user/g{number}=1000")).collect();
        let names = names.iter().map(String::as_str);
        let (top, hierarchy) =
            tree(&names.chain(["a", "user", "b=500", "b/c"]).collect::<Vec<_>>());
        let root = Root::at(top.path());
        let watched = ["/a", "/user", "/b"].map(str::to_owned);
        assert!(Classes::of_groups(&root, &hierarchy, &watched).is_err());
        let fitting = Classes::fitting(&root, &hierarchy, watched.to_vec());
        assert_eq!(fitting, ["/a", "/b"]);
        assert_eq!(Classes::of_groups(&root, &hierarchy, &fitting).unwrap().shape.slots, 3);
    }

    #[test]
    fn groups_of_a_container_take_no_numbers_of_others() {
        let (many, other) = ("0".repeat(64), "1".repeat(64));
        let names: Vec<String> = (0..600).map(|at| format!("docker/{many}/g{at}")).collect();
        let few = ["mine".to_owned(), "a/b/c/d/e".to_owned(), format!("docker/{other}/g/h")];
        let groups: Vec<&str> = names.iter().chain(&few).map(String::as_str).collect();
        let classes = read(&groups, &["/mine"]).unwrap();
        let has = |path: &String| classes.names.0.contains(&format!("/{path}"));
        assert!(few.iter().all(has) && has(&names[0]) && !names.iter().all(has));
    }

    #[test]
    fn groups_for_which_there_is_no_number_are_left_out() {
        let names: Vec<String> = (0..600).map(|number| format!("g{number}")).collect();
        let groups: Vec<&str> = names.iter().map(String::as_str).chain(["mine"]).collect();
        let classes = read(&groups, &["/mine"]).unwrap();
        assert_eq!((classes.names.0.len(), classes.numbers.len()), (GROUPS, GROUPS));
    }
}
