//! Operations on files and directories as such: open, make, close, delete, look at, sync, list.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::{self, Advice, AtFlags, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::super::files::picks::{Fate, Wanted};
use super::super::files::prepare::Ready;
use super::super::workload::Operation;
use super::slots::SLOTS;
use super::worker::{Flow, Stop, Worker};

/// Modes of filebench.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
/// `sizeof(struct dirent) - 1` of the C library on 64-bit Linux: what filebench adds to the length
/// of each name.
const ENTRY_BYTES: u64 = 279;
/// One getdents64(2) brings this much.
const LISTING: usize = 32 << 10;

impl Worker<'_> {
    pub(super) fn open_file(&mut self, operation: &Operation) -> Flow {
        let slot = self.slots.number(operation);
        self.open_in(operation, slot)
    }

    /// Opens the next existing file into a slot. Reads and writes do so too where theirs is empty,
    /// and are counted once more for it, as in filebench.
    pub(super) fn open_in(&mut self, operation: &Operation, slot: usize) -> Flow {
        let set = self.own_set(operation)?;
        if self.slots.at(slot).file.is_some() {
            let what = format!("attempted to open without closing on fd {slot}");
            return Err(self.wrong(operation, &what, "close it before, or use another fd"));
        }
        let ready = self.set(set);
        let wanted = match &operation.indexed {
            Some(index) => Wanted::ExistingAt(index.get() as usize % ready.files.len().max(1)),
            None if operation.opennext => Wanted::ExistingWithOwnRotor(self.place.number),
            None => Wanted::Existing,
        };
        let Some(at) = ready.file_picks.take(wanted) else { return Err(self.no_file(operation)) };
        let began = self.began();
        let opened = open(ready, operation, at, OFlags::empty());
        self.count(operation, began, 0);
        self.opened(operation, slot, (set, at), opened, Fate::Unchanged)
    }

    fn opened(
        &mut self,
        operation: &Operation,
        slot: usize,
        (set, at): (usize, usize),
        opened: Result<OwnedFd, Errno>,
        fate: Fate,
    ) -> Flow {
        let picks = &self.set(set).file_picks;
        match opened {
            Ok(file) => {
                picks.give_back(at, fate, 1);
                let slot = self.slots.at(slot);
                slot.file = Some(file);
                slot.entry = Some((set, at));
                Ok(())
            }
            Err(errno) => {
                picks.give_back(at, Fate::Unchanged, 0);
                Err(self.refused(operation, "open", &self.path((set, at)), errno))
            }
        }
    }

    pub(super) fn create_file(&mut self, operation: &Operation) -> Flow {
        let slot = self.slots.number(operation);
        let set = self.own_set(operation)?;
        if self.slots.at(slot).file.is_some() {
            let what = format!("attempted to create without closing on fd {slot}");
            return Err(self.wrong(operation, &what, "close it before, or use another fd"));
        }
        let ready = self.set(set);
        let wanted = match &operation.indexed {
            Some(index) => Wanted::MissingAt(index.get() as usize % ready.files.len().max(1)),
            None => Wanted::Missing,
        };
        let Some(at) = ready.file_picks.take(wanted) else { return Err(self.no_file(operation)) };
        let began = self.began();
        let opened = match open(ready, operation, at, OFlags::CREATE) {
            // Only in a tree that was taken as it is can a directory be missing.
            Err(Errno::NOENT) => make_parents(ready, ready.files.get(at))
                .and_then(|()| open(ready, operation, at, OFlags::CREATE)),
            other => other,
        };
        self.count(operation, began, 0);
        self.opened(operation, slot, (set, at), opened, Fate::Exists)
    }

    pub(super) fn close_file(&mut self, operation: &Operation) -> Flow {
        let number = self.slots.number(operation);
        let slot = self.slots.at(number);
        let entry = slot.entry;
        let Some(file) = slot.file.take() else {
            let what = format!("attempted to close an already closed fd {number}");
            return Err(self.wrong(operation, &what, "open it before, or use another fd"));
        };
        let picks = entry.map(|(set, at)| (&self.set(set).file_picks, at));
        if let Some((picks, at)) = picks {
            picks.take_this(at);
        }
        let began = self.began();
        drop(file);
        self.count(operation, began, 0);
        if let Some((picks, at)) = picks {
            picks.give_back(at, Fate::Unchanged, -1);
        }
        Ok(())
    }

    pub(super) fn delete_file(&mut self, operation: &Operation) -> Flow {
        let number = self.slots.number(operation);
        let slot = self.slots.at(number);
        let open_here = number > 0 && slot.file.is_some();
        let given = if number > 0 { slot.entry.take() } else { None };
        let (set, at) = match given {
            Some((set, at)) => {
                self.set(set).file_picks.take_this(at);
                (set, at)
            }
            None => {
                let set = self.own_set(operation)?;
                let ready = self.set(set);
                let wanted = match &operation.indexed {
                    Some(index) => {
                        Wanted::ExistingAt(index.get() as usize % ready.files.len().max(1))
                    }
                    None => Wanted::Existing,
                };
                let at = ready.file_picks.take(wanted);
                (set, at.ok_or_else(|| self.no_file(operation))?)
            }
        };
        let ready = self.set(set);
        // A file that somebody else has open stays, and nothing is counted.
        if ready.file_picks.opens(at) > u32::from(open_here && given.is_some()) {
            ready.file_picks.give_back(at, Fate::Unchanged, 0);
            return Ok(());
        }
        let began = self.began();
        let gone = fs::unlinkat(&ready.top, ready.files.get(at), AtFlags::empty());
        self.count(operation, began, 0);
        ready.file_picks.give_back(at, Fate::Gone, 0);
        gone.map_err(|errno| self.refused(operation, "delete", &self.path((set, at)), errno))
    }

    pub(super) fn stat_file(&mut self, operation: &Operation) -> Flow {
        let number = self.slots.number(operation);
        let slot = self.slots.at(number);
        if let (true, Some(file)) = (number > 0, slot.file.take()) {
            let began = self.began();
            let looked = fs::fstat(&file);
            self.count(operation, began, 0);
            self.slots.at(number).file = Some(file);
            let path = || self.set(operation.set.unwrap_or(0)).root.clone();
            return looked.map(|_| ()).map_err(|e| self.refused(operation, "look at", &path(), e));
        }
        let set = self.own_set(operation)?;
        let ready = self.set(set);
        let wanted = match &operation.indexed {
            Some(index) => Wanted::ExistingAt(index.get() as usize % ready.files.len().max(1)),
            None => Wanted::Existing,
        };
        let Some(at) = ready.file_picks.take(wanted) else { return Err(self.no_file(operation)) };
        let began = self.began();
        let looked = fs::statat(&ready.top, ready.files.get(at), AtFlags::empty());
        self.count(operation, began, 0);
        ready.file_picks.give_back(at, Fate::Unchanged, 0);
        let path = || self.path((set, at));
        looked.map(|_| ()).map_err(|errno| self.refused(operation, "look at", &path(), errno))
    }

    pub(super) fn fsync(&mut self, operation: &Operation) -> Flow {
        let number = self.slots.number(operation);
        let slot = self.slots.at(number);
        let entry = slot.entry;
        let Some(file) = slot.file.take() else {
            let what = format!("attempted to fsync a closed fd {number}");
            return Err(self.wrong(operation, &what, "open it before, or use another fd"));
        };
        let began = self.began();
        let synced = fs::fsync(&file);
        self.count(operation, began, 0);
        self.slots.at(number).file = Some(file);
        synced.map_err(|errno| {
            let path = entry.map(|entry| self.path(entry)).unwrap_or_default();
            self.refused(operation, "fsync", &path, errno)
        })
    }

    pub(super) fn fsync_set(&mut self, operation: &Operation) -> Flow {
        let set = self.own_set(operation)?;
        for slot in self.slots.all() {
            let (Some(file), Some(entry)) = (&slot.file, slot.entry) else { continue };
            if entry.0 != set {
                continue;
            }
            let began = self.began();
            let synced = fs::fsync(file);
            self.count(operation, began, 0);
            synced.map_err(|e| self.refused(operation, "fsync", &self.path(entry), e))?;
        }
        Ok(())
    }

    pub(super) fn make_dir(&mut self, operation: &Operation) -> Flow {
        let set = self.own_set(operation)?;
        let ready = self.set(set);
        let wanted = leaf_wanted(operation, ready, Wanted::MissingAt, Wanted::Missing);
        let Some(at) = ready.leafdir_picks.take(wanted) else {
            return Err(self.no_file(operation));
        };
        let began = self.began();
        let made = fs::mkdirat(&ready.top, ready.leafdirs.get(at), DIRECTORY_MODE);
        self.count(operation, began, 0);
        ready.leafdir_picks.give_back(at, Fate::Exists, 0);
        let path = || ready.root.join(ready.leafdirs.text(at));
        made.map_err(|errno| self.refused(operation, "make", &path(), errno))
    }

    pub(super) fn remove_dir(&mut self, operation: &Operation) -> Flow {
        let set = self.own_set(operation)?;
        let ready = self.set(set);
        let wanted = leaf_wanted(operation, ready, Wanted::ExistingAt, Wanted::Existing);
        let Some(at) = ready.leafdir_picks.take(wanted) else {
            return Err(self.no_file(operation));
        };
        let began = self.began();
        let gone = fs::unlinkat(&ready.top, ready.leafdirs.get(at), AtFlags::REMOVEDIR);
        self.count(operation, began, 0);
        ready.leafdir_picks.give_back(at, Fate::Gone, 0);
        let path = || ready.root.join(ready.leafdirs.text(at));
        gone.map_err(|errno| self.refused(operation, "remove", &path(), errno))
    }

    pub(super) fn list_dir(&mut self, operation: &Operation) -> Flow {
        let set = self.own_set(operation)?;
        let ready = self.set(set);
        let Some(at) = ready.directory_picks.take(Wanted::Existing) else {
            return Err(self.no_file(operation));
        };
        let below = at.checked_sub(1);
        let path = below.map_or(c".", |below| ready.directories.get(below));
        let began = self.began();
        let listed = list(ready, path);
        self.count(operation, began, *listed.as_ref().unwrap_or(&0));
        ready.directory_picks.give_back(at, Fate::Unchanged, 0);
        listed.map(|_| ()).map_err(|errno| {
            let path = ready.root.join(path.to_string_lossy().as_ref());
            self.refused(operation, "list", &path, errno)
        })
    }

    /// The slot of an operation with a file in it, opened where there was none, and the size that
    /// random offsets stay below.
    pub(super) fn ready_slot(&mut self, operation: &Operation) -> Result<(usize, u64), Stop> {
        let number = self.slots.number(operation);
        if let (true, Some((set, _)), Some(own)) =
            (number > 0, self.slots.at(number).entry, operation.set)
            && set != own
        {
            let (found, own) = (&self.set(set).name, &self.set(own).name);
            let what = format!("names the file set {own}, but fd {number} has a file of {found}");
            return Err(self.wrong(operation, &what, "leave out filesetname, or use another fd"));
        }
        if self.slots.at(number).file.is_none() {
            self.open_in(operation, number)?;
        }
        let of_file = self.slots.at(number).entry.map(|(set, at)| self.set(set).nodes[at].size);
        let size = match operation.workingset {
            0 => of_file.unwrap_or(0),
            set => set,
        };
        debug_assert!(number < SLOTS, "numbers were checked");
        Ok((number, size))
    }
}

/// filebench takes half of the leaf directories as the unit of `indexed`.
fn leaf_wanted(
    operation: &Operation,
    ready: &Ready,
    at: fn(usize) -> Wanted,
    in_turn: Wanted,
) -> Wanted {
    let count = ready.leafdirs.len().max(1);
    let scaled = |index: u64| at((index as usize).wrapping_mul(count / 2) % count);
    operation.indexed.as_ref().map_or(in_turn, |index| scaled(index.get()))
}

fn open(ready: &Ready, operation: &Operation, at: usize, more: OFlags) -> Result<OwnedFd, Errno> {
    let access = match (ready.readonly, ready.writeonly) {
        (true, _) => OFlags::RDONLY,
        (_, true) => OFlags::WRONLY,
        _ => OFlags::RDWR,
    };
    let mut flags = access | more | OFlags::CLOEXEC;
    if operation.dsync {
        flags |= OFlags::SYNC;
    }
    if operation.directio {
        flags |= OFlags::DIRECT;
    }
    let file = fs::openat(&ready.top, ready.files.get(at), flags, FILE_MODE)?;
    if operation.noreadahead {
        fs::fadvise(&file, 0, None, Advice::Random)?;
    }
    Ok(file)
}

fn make_parents(ready: &Ready, path: &CStr) -> Result<(), Errno> {
    let bytes = path.to_bytes();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        match fs::mkdirat(&ready.top, &bytes[..at], DIRECTORY_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Bytes of a directory as filebench counts them.
fn list(ready: &Ready, path: &CStr) -> Result<u64, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = fs::openat(&ready.top, path, flags, Mode::empty())?;
    let mut room = [const { MaybeUninit::uninit() }; LISTING];
    let mut entries = RawDir::new(&directory, &mut room);
    let mut bytes = 0;
    while let Some(entry) = entries.next() {
        bytes += entry?.file_name().to_bytes().len() as u64 + ENTRY_BYTES;
    }
    Ok(bytes)
}
