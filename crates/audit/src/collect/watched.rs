//! The files of settings of all groups and of the host, kept open, with what they said.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use assay_host::Owners;
use assay_host::facts::owner::Claimant;
use assay_host::knob::WEIGHT_AS_NICE;
use assay_sys::kernel::{Error, FileId, RereadFile, Root, open_files};
use rustix::io::Errno;

use super::groups;
use super::reading_order::{Next, ReadingOrder};
use crate::snapshot::{Hierarchy, MAX_GROUPS};
use crate::{Change, WATCHED, host_settings};

/// A group: the number of its hierarchy, and its path there.
pub(super) type Place = (usize, String);

/// In so many rounds each file is read again, whatever is reported.
const ROUNDS: usize = 8;

/// In so many rounds the names of each group's files are listed again, whatever else tells that they changed.
pub(super) const LISTING_ROUNDS: usize = 64;

/// Descriptors that are left for reading what is not kept open, and for audits.
const RESERVE: u64 = 64;

/// All that is watched.
pub(super) struct Watched<'r> {
    root: &'r Root,
    hierarchies: Vec<Hierarchy>,
    groups: BTreeMap<Place, Files>,
    by_file: HashMap<FileId, (Place, &'static str)>,
    /// How many of the groups somebody else than the host has named.
    claimed: usize,
    most_claimed: usize,
    host: Vec<Open<String>>,
    buffer: Vec<u8>,
    /// Descriptors that are not taken.
    reserve: u64,
    /// Groups that have come since it was made.
    pub(super) came: usize,
    /// Groups that are gone.
    pub(super) went: usize,
    /// Whose groups were left out, since there are too many.
    full: Option<String>,
    /// Whether files or groups were left out, since too many files are open.
    lacks_descriptors: bool,
}

/// The files of a group.
struct Files {
    /// Names of those that exist, also of those that cannot be read.
    present: Vec<&'static str>,
    open: Vec<Open<&'static str>>,
    /// Those of its files in [`Watched::by_file`].
    ids: Vec<FileId>,
    /// Of its directory: they change with the groups below.
    links: u64,
    /// Groups directly below whose names are not UTF-8.
    unnamed: usize,
    /// Whether somebody else than the host has named the group.
    is_claimed: bool,
}

/// Most groups that users and containers have named: whatever they make, those of the host are watched.
const MOST_CLAIMED: usize = MAX_GROUPS / 2;

struct Open<N> {
    name: N,
    file: RereadFile,
    text: Vec<u8>,
}

impl<'r> Watched<'r> {
    pub(super) fn new(root: &'r Root) -> Self {
        Self::with(root, RESERVE, MOST_CLAIMED)
    }

    fn with(root: &'r Root, reserve: u64, most_claimed: usize) -> Self {
        let mut watched = Self {
            root,
            hierarchies: groups::hierarchies(root),
            groups: BTreeMap::new(),
            by_file: HashMap::new(),
            claimed: 0,
            most_claimed,
            host: Vec::new(),
            buffer: Vec::new(),
            reserve,
            came: 0,
            went: 0,
            full: None,
            lacks_descriptors: false,
        };
        for at in 0..watched.hierarchies.len() {
            watched.add((at, "/".to_owned()), None);
        }
        watched.came = 0;
        let disks = root.list("/sys/block").unwrap_or_default();
        let schedulers = disks.iter().map(|name| format!("/sys/block/{name}/queue/scheduler"));
        for path in host_settings().map(str::to_owned).chain(schedulers) {
            let file = PathBuf::from(&path);
            match open(root, reserve, &mut watched.buffer, &file, path) {
                Ok(one) => watched.host.push(one),
                Err(error) => watched.note(&error),
            }
        }
        watched
    }

    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// What is not watched, in words.
    pub(super) fn left_out(&self) -> Option<String> {
        let full = self.full.as_ref();
        let full = full.map(|whose| {
            let claimed = self.most_claimed;
            format!("groups beyond {MAX_GROUPS}, or {claimed} of users and containers: {whose}")
        });
        let unopened = self
            .lacks_descriptors
            .then(|| "files for which no descriptor was left (`ulimit -n` allows more)".to_owned());
        let unnamed: usize = self.groups.values().map(|files| files.unnamed).sum();
        groups::joined([full, unopened, groups::without_names(unnamed)])
    }

    /// Notes an error of opening. Most mean that something is gone, or is not for this user.
    fn note(&mut self, error: &Error) {
        self.lacks_descriptors |= error.is(Errno::MFILE) || error.is(Errno::NFILE);
    }

    /// The group and the name of a file, if it is watched.
    pub(super) fn place(&self, file: FileId) -> Option<&(Place, &'static str)> {
        self.by_file.get(&file)
    }

    fn directory(&self, (hierarchy, path): &Place) -> Option<PathBuf> {
        Some(self.hierarchies.get(*hierarchy)?.mount.join(path.trim_start_matches('/')))
    }

    /// Adds a group, with who has named it if not the host, and those below it, in the order of a snapshot.
    fn add(&mut self, (hierarchy, path): Place, by: Option<Claimant>) {
        let Some(mount) = self.hierarchies.get(hierarchy).map(|one| one.mount.clone()) else {
            return;
        };
        let owners = Owners::new(self.root);
        let mut order = ReadingOrder::at(&path, by);
        while self.groups.len() < MAX_GROUPS {
            let next = match self.claimed < self.most_claimed {
                true => order.next(),
                false => order.next_of_host(),
            };
            let Some(Next { path, by, .. }) = next else { break };
            let place = (hierarchy, path);
            if self.groups.contains_key(&place) {
                continue;
            }
            let Some((mut files, below)) = self.opened(&place) else { continue };
            files.is_claimed = by.is_some();
            self.claimed += usize::from(files.is_claimed);
            if !below.is_empty() {
                let by = by.or_else(|| owners.claimant_below(&mount, &place.1));
                order.add(by, &place.1, below, false);
            }
            self.groups.insert(place, files);
            self.came += 1;
        }
        self.full = groups::whose(order, &owners).or(self.full.take());
    }

    /// The files of a group, opened, and the names of the groups below it.
    fn opened(&mut self, place: &Place) -> Option<(Files, Vec<String>)> {
        let directory = self.directory(place)?;
        let links = self.root.links(&directory).ok()?;
        let entries = self.root.entries(&directory).inspect_err(|error| self.note(error)).ok()?;
        let present = present(&entries.others);
        let (mut files, mut ids) = (Vec::new(), Vec::new());
        let alias = Some(WEIGHT_AS_NICE).filter(|name| has(&entries.others, name));
        for name in present.iter().copied().chain(alias) {
            let path = directory.join(name);
            if let Ok(id) = self.root.file_id(&path) {
                self.by_file.insert(id, (place.clone(), name));
                ids.push(id);
            }
            if name == WEIGHT_AS_NICE {
                continue;
            }
            match open(self.root, self.reserve, &mut self.buffer, &path, name) {
                Ok(one) => files.push(one),
                Err(error) => self.note(&error),
            }
        }
        let unnamed = entries.unnamed;
        let files = Files { present, open: files, ids, links, unnamed, is_claimed: false };
        Some((files, entries.directories))
    }

    /// Looks for groups that came or went, and reads files again: all, or those of one part of the groups, so that each
    /// has its turn once in [`ROUNDS`] rounds. Ends early once `is_over` says so.
    pub(super) fn look(
        &mut self,
        round: usize,
        at_all: bool,
        is_over: &dyn Fn() -> bool,
    ) -> Vec<(Place, Change)> {
        let mut changes = Vec::new();
        let mut parents: Vec<Place> = Vec::new();
        let places: Vec<Place> = self.groups.keys().cloned().collect();
        for (at, place) in places.into_iter().enumerate() {
            if is_over() {
                return changes;
            }
            let is_turn = |rounds: usize| at % rounds == round % rounds;
            let Some(directory) = self.directory(&place) else { continue };
            let Ok(links) = self.root.links(&directory) else {
                self.remove(&place);
                // Another one may have come instead, which leaves the number of links as it was.
                parents.extend(parent(&place));
                continue;
            };
            let known =
                self.groups.get_mut(&place).map(|files| std::mem::replace(&mut files.links, links));
            if is_turn(LISTING_ROUNDS) || known != Some(links) {
                changes.extend(self.list(&place));
            }
            if is_turn(ROUNDS) || at_all {
                changes.extend(self.read(&place));
            }
        }
        for place in parents {
            changes.extend(self.list(&place));
        }
        changes.extend(self.read_host());
        changes
    }

    fn remove(&mut self, place: &Place) {
        if let Some(files) = self.groups.remove(place) {
            self.forget(place, &files);
            self.claimed -= usize::from(files.is_claimed);
            self.went += 1;
        }
    }

    /// Forgets which files a group had. A new file of another group may have the number of an old one by now.
    fn forget(&mut self, place: &Place, files: &Files) {
        for id in &files.ids {
            if self.by_file.get(id).is_some_and(|(of, _)| of == place) {
                self.by_file.remove(id);
            }
        }
    }

    /// Adds groups below that are new, and opens the files anew if there are others, as with a controller.
    fn list(&mut self, place: &Place) -> Vec<(Place, Change)> {
        let Some(directory) = self.directory(place) else { return Vec::new() };
        let entries = self.root.entries(directory).inspect_err(|error| self.note(error));
        let Ok(entries) = entries else { return Vec::new() };
        if let Some(files) = self.groups.get_mut(place) {
            files.unnamed = entries.unnamed;
        }
        let children = below(place, &entries.directories);
        let new: Vec<Place> = children.filter(|child| !self.groups.contains_key(child)).collect();
        if let Some(mount) = self.hierarchies.get(place.0).filter(|_| !new.is_empty()) {
            // The same one may have named all of them.
            let by = Owners::new(self.root).claimant_below(&mount.mount, &place.1);
            new.into_iter().for_each(|child| self.add(child, by.clone()));
        }
        let known = self.groups.get(place).map(|files| files.present.as_slice());
        match known == Some(present(&entries.others).as_slice()) {
            true => Vec::new(),
            false => self.renew(place),
        }
    }

    /// Opens the files of a group again: some came or went, or the group was removed and made again.
    fn renew(&mut self, place: &Place) -> Vec<(Place, Change)> {
        let texts = |files: &Files| -> BTreeMap<&'static str, String> {
            files.open.iter().map(|one| (one.name, shown(&one.text))).collect()
        };
        let Some(before) = self.groups.remove(place) else { return Vec::new() };
        self.forget(place, &before);
        let Some((mut files, _)) = self.opened(place) else {
            self.claimed -= usize::from(before.is_claimed);
            self.went += 1;
            return Vec::new();
        };
        files.is_claimed = before.is_claimed;
        let (before, after) = (texts(&before), texts(&files));
        self.groups.insert(place.clone(), files);
        let differing = WATCHED.iter().copied().filter(|name| before.get(name) != after.get(name));
        differing
            .map(|name| {
                self.change(place, name, before.get(name).cloned(), after.get(name).cloned())
            })
            .collect()
    }

    /// Reads the files of a group again.
    pub(super) fn read(&mut self, place: &Place) -> Vec<(Place, Change)> {
        let Some(files) = self.groups.get_mut(place) else { return Vec::new() };
        let mut changes = Vec::new();
        let mut is_stale = false;
        for one in &mut files.open {
            match one.file.read_record(&mut self.buffer) {
                Err(_) => is_stale = true,
                Ok(text) if text == one.text => {}
                Ok(text) => {
                    let from = std::mem::replace(&mut one.text, text.to_vec());
                    changes.push((one.name, Some(shown(&from)), Some(shown(&one.text))));
                }
            }
        }
        let hands_down = changes.iter().any(|(name, ..)| *name == "cgroup.subtree_control");
        let changes = changes.into_iter();
        let mut found: Vec<(Place, Change)> =
            changes.map(|(name, from, to)| self.change(place, name, from, to)).collect();
        // A file that cannot be read any more has gone with its controller or its group.
        if is_stale {
            found.extend(self.renew(place));
        }
        // The groups below have other files from now on.
        let children = if hands_down { self.children(place) } else { Vec::new() };
        for child in children {
            found.extend(self.list(&child));
        }
        found
    }

    /// The groups directly below one, without a look at those elsewhere: paths are sorted.
    fn children(&self, place: &Place) -> Vec<Place> {
        let base = format!("{}/", place.1.trim_end_matches('/'));
        let from = self.groups.range((place.0, base.clone())..).map(|(one, _)| one);
        let below = from.take_while(|one| one.0 == place.0 && one.1.starts_with(&base));
        below.filter(|one| parent(one).as_ref() == Some(place)).cloned().collect()
    }

    fn read_host(&mut self) -> Vec<(Place, Change)> {
        let mut changes = Vec::new();
        for one in &mut self.host {
            let Ok(text) = one.file.read_record(&mut self.buffer) else { continue };
            if text != one.text {
                let from = std::mem::replace(&mut one.text, text.to_vec());
                let (from, to) = (Some(shown(&from)), Some(shown(&one.text)));
                let file = one.name.clone();
                let nowhere = (usize::MAX, String::new());
                changes.push((nowhere, Change { group: None, owner: None, file, from, to }));
            }
        }
        changes
    }

    fn change(
        &self,
        place: &Place,
        name: &str,
        from: Option<String>,
        to: Option<String>,
    ) -> (Place, Change) {
        let file = self.directory(place).unwrap_or_default().join(name).display().to_string();
        // Containers come while it watches, so names are looked for each time.
        let owners = Owners::new(self.root);
        let mount = self.hierarchies.get(place.0).map(|one| one.mount.as_path());
        let owner = mount.and_then(|mount| owners.owner(mount, &place.1));
        let owner = owner.map(|owner| owners.named(owner));
        (place.clone(), Change { group: Some(place.1.clone()), owner, file, from, to })
    }
}

fn open<N>(
    root: &Root,
    reserve: u64,
    buffer: &mut Vec<u8>,
    path: &Path,
    name: N,
) -> Result<Open<N>, Error> {
    let file = root.open_reread(path)?;
    if open_files::is_among_last(&file, reserve) {
        return Err(Error::new("open", path, &Errno::MFILE.into()));
    }
    let text = file.read_record(buffer).map_err(|cause| Error::new("read", path, &cause))?;
    Ok(Open { name, text: text.to_vec(), file })
}

fn present(names: &[String]) -> Vec<&'static str> {
    WATCHED.iter().copied().filter(|name| has(names, name)).collect()
}

fn has(names: &[String], name: &str) -> bool {
    names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
}

fn parent((hierarchy, path): &Place) -> Option<Place> {
    let (above, _) = path.rsplit_once('/').filter(|_| path != "/")?;
    Some((*hierarchy, if above.is_empty() { "/".to_owned() } else { above.to_owned() }))
}

fn below<'p>(place: &'p Place, names: &'p [String]) -> impl Iterator<Item = Place> + 'p {
    let base = place.1.trim_end_matches('/');
    names.iter().map(move |name| (place.0, format!("{base}/{name}")))
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn write(tree: &Path, path: &str, text: &str) {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn host() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let mounts = "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        write(tree.path(), "proc/self/mountinfo", mounts);
        write(tree.path(), "proc/self/cgroup", "0::/\n");
        write(tree.path(), "sys/fs/cgroup/cgroup.controllers", "cpu\n");
        write(tree.path(), "sys/fs/cgroup/a.service/cpu.weight", "100\n");
        write(tree.path(), "proc/sys/vm/swappiness", "60\n");
        tree
    }

    #[test]
    fn groups_that_a_user_makes_hide_none_of_the_host() {
        let tree = host();
        let root = Root::at(tree.path());
        let group = |name: &str| {
            write(tree.path(), &format!("sys/fs/cgroup/{name}/cpu.weight"), "100\n");
        };
        (0..9).for_each(|number| group(&format!("a-user/g{number}")));
        let user = tree.path().join("sys/fs/cgroup/a-user");
        fs::set_permissions(user, fs::Permissions::from_mode(0o777)).unwrap();
        let mut watched = Watched::with(&root, 0, 4);
        assert_eq!(watched.groups(), 3 + 4, "the host's, and four of the user");
        let left_out = watched.left_out().unwrap();
        assert!(left_out.contains("4 of users and containers: at least 5 of"), "{left_out}");
        group("a-user/g9");
        group("b.service");
        watched.look(0, true, &|| false);
        assert_eq!(watched.groups(), 4 + 4);
        assert!(watched.groups.contains_key(&(0, "/b.service".to_owned())));
        fs::remove_dir_all(tree.path().join("sys/fs/cgroup/a-user/g0")).unwrap();
        watched.look(0, true, &|| false);
        assert_eq!(watched.groups(), 4 + 4, "another one has its place");
    }

    #[test]
    fn descriptors_are_left_for_audits() {
        let tree = host();
        let root = Root::at(tree.path());
        let opened = |watched: &Watched<'_>| {
            watched.host.len()
                + watched.groups.values().map(|files| files.open.len()).sum::<usize>()
        };
        let all = Watched::with(&root, 0, MOST_CLAIMED);
        assert_eq!((all.groups(), opened(&all), all.left_out()), (2, 2, None));
        let none = Watched::with(&root, u64::MAX, MOST_CLAIMED);
        assert_eq!((none.groups(), opened(&none)), (2, 0));
        assert!(none.left_out().is_some_and(|why| why.contains("no descriptor was left")));
    }
}
