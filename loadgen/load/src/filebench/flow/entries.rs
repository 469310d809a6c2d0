//! Operations on files and directories: open, create, close, delete, stat, fsync, list.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::{self, Advice, AtFlags, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::super::files::picks::{EntryChange, Selector};
use super::super::files::prepare::Ready;
use super::super::workload::Operation;
use super::slots::SLOTS;
use super::worker::{Flow, Stop, Worker};

/// Modes as in filebench.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
/// `sizeof(struct dirent) - 1` of the C library on 64-bit Linux: filebench adds it to the length of
/// each name.
const ENTRY_BYTES: u64 = 279;
/// Buffer size of one getdents64(2) call.
const LISTING: usize = 32 << 10;

impl Worker<'_> {
    pub(super) fn open_file(&mut self, operation: &Operation) -> Flow {
        let slot = self.slots.number(operation);
        self.open_in(operation, slot)
    }

    /// Opens the next existing file into a slot. Reads and writes use it too if their slot is
    /// empty, and are then counted once more, as in filebench.
    pub(super) fn open_in(&mut self, operation: &Operation, slot: usize) -> Flow {
        let set = self.own_set(operation)?;
        if self.slots.at(slot).file.is_some() {
            let what = format!("attempted to open without closing on fd {slot}");
            return Err(self.wrong(operation, &what, "close it before, or use another fd"));
        }
        let ready = self.set(set);
        let selector = match &operation.indexed {
            Some(index) => Selector::ExistingAt(index.get() as usize % ready.files.len().max(1)),
            None if operation.opennext => Selector::ExistingWithOwnRotor(self.identity.number),
            None => Selector::Existing,
        };
        let Some(at) = ready.file_pool.acquire(selector) else {
            return Err(self.no_file(operation));
        };
        let began = self.began();
        let opened = open(ready, operation, at, OFlags::empty());
        self.count(operation, began, 0);
        self.opened(operation, slot, (set, at), opened, EntryChange::Unchanged)
    }

    fn opened(
        &mut self,
        operation: &Operation,
        slot: usize,
        (set, at): (usize, usize),
        opened: Result<OwnedFd, Errno>,
        fate: EntryChange,
    ) -> Flow {
        let picks = &self.set(set).file_pool;
        match opened {
            Ok(file) => {
                picks.release(at, fate, 1);
                let slot = self.slots.at(slot);
                slot.file = Some(file);
                slot.entry = Some((set, at));
                Ok(())
            }
            Err(errno) => {
                picks.release(at, EntryChange::Unchanged, 0);
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
        let selector = match &operation.indexed {
            Some(index) => Selector::MissingAt(index.get() as usize % ready.files.len().max(1)),
            None => Selector::Missing,
        };
        let Some(at) = ready.file_pool.acquire(selector) else {
            return Err(self.no_file(operation));
        };
        let began = self.began();
        let opened = match open(ready, operation, at, OFlags::CREATE) {
            // A directory can be missing only in a reused tree.
            Err(Errno::NOENT) => make_parents(ready, ready.files.get(at))
                .and_then(|()| open(ready, operation, at, OFlags::CREATE)),
            other => other,
        };
        self.count(operation, began, 0);
        self.opened(operation, slot, (set, at), opened, EntryChange::Exists)
    }

    pub(super) fn close_file(&mut self, operation: &Operation) -> Flow {
        let number = self.slots.number(operation);
        let slot = self.slots.at(number);
        let entry = slot.entry;
        let Some(file) = slot.file.take() else {
            let what = format!("attempted to close an already closed fd {number}");
            return Err(self.wrong(operation, &what, "open it before, or use another fd"));
        };
        let picks = entry.map(|(set, at)| (&self.set(set).file_pool, at));
        if let Some((picks, at)) = picks {
            picks.acquire_entry(at);
        }
        let began = self.began();
        drop(file);
        self.count(operation, began, 0);
        if let Some((picks, at)) = picks {
            picks.release(at, EntryChange::Unchanged, -1);
        }
        Ok(())
    }

    pub(super) fn delete_file(&mut self, operation: &Operation) -> Flow {
        let number = self.slots.number(operation);
        let slot = self.slots.at(number);
        let open_here = number > 0 && slot.file.is_some();
        let open_entry = if number > 0 { slot.entry.take() } else { None };
        let (set, at) = match open_entry {
            Some((set, at)) => {
                self.set(set).file_pool.acquire_entry(at);
                (set, at)
            }
            None => {
                let set = self.own_set(operation)?;
                let ready = self.set(set);
                let selector = match &operation.indexed {
                    Some(index) => {
                        Selector::ExistingAt(index.get() as usize % ready.files.len().max(1))
                    }
                    None => Selector::Existing,
                };
                let at = ready.file_pool.acquire(selector);
                (set, at.ok_or_else(|| self.no_file(operation))?)
            }
        };
        let ready = self.set(set);
        // A file that another thread has open is kept, and nothing is counted.
        if ready.file_pool.opens(at) > u32::from(open_here && open_entry.is_some()) {
            ready.file_pool.release(at, EntryChange::Unchanged, 0);
            return Ok(());
        }
        let began = self.began();
        let removed = fs::unlinkat(&ready.top, ready.files.get(at), AtFlags::empty());
        self.count(operation, began, 0);
        ready.file_pool.release(at, EntryChange::Deleted, 0);
        removed.map_err(|errno| self.refused(operation, "delete", &self.path((set, at)), errno))
    }

    pub(super) fn stat_file(&mut self, operation: &Operation) -> Flow {
        let number = self.slots.number(operation);
        let slot = self.slots.at(number);
        if let (true, Some(file)) = (number > 0, slot.file.take()) {
            let began = self.began();
            let status = fs::fstat(&file);
            self.count(operation, began, 0);
            self.slots.at(number).file = Some(file);
            let path = || self.set(operation.set.unwrap_or(0)).root.clone();
            return status.map(|_| ()).map_err(|e| self.refused(operation, "stat", &path(), e));
        }
        let set = self.own_set(operation)?;
        let ready = self.set(set);
        let selector = match &operation.indexed {
            Some(index) => Selector::ExistingAt(index.get() as usize % ready.files.len().max(1)),
            None => Selector::Existing,
        };
        let Some(at) = ready.file_pool.acquire(selector) else {
            return Err(self.no_file(operation));
        };
        let began = self.began();
        let status = fs::statat(&ready.top, ready.files.get(at), AtFlags::empty());
        self.count(operation, began, 0);
        ready.file_pool.release(at, EntryChange::Unchanged, 0);
        let path = || self.path((set, at));
        status.map(|_| ()).map_err(|errno| self.refused(operation, "stat", &path(), errno))
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
        let selector = leafdir_selector(operation, ready, Selector::MissingAt, Selector::Missing);
        let Some(at) = ready.leafdir_pool.acquire(selector) else {
            return Err(self.no_file(operation));
        };
        let began = self.began();
        let created = fs::mkdirat(&ready.top, ready.leafdirs.get(at), DIRECTORY_MODE);
        self.count(operation, began, 0);
        ready.leafdir_pool.release(at, EntryChange::Exists, 0);
        let path = || ready.root.join(ready.leafdirs.text(at));
        created.map_err(|errno| self.refused(operation, "create", &path(), errno))
    }

    pub(super) fn remove_dir(&mut self, operation: &Operation) -> Flow {
        let set = self.own_set(operation)?;
        let ready = self.set(set);
        let selector = leafdir_selector(operation, ready, Selector::ExistingAt, Selector::Existing);
        let Some(at) = ready.leafdir_pool.acquire(selector) else {
            return Err(self.no_file(operation));
        };
        let began = self.began();
        let removed = fs::unlinkat(&ready.top, ready.leafdirs.get(at), AtFlags::REMOVEDIR);
        self.count(operation, began, 0);
        ready.leafdir_pool.release(at, EntryChange::Deleted, 0);
        let path = || ready.root.join(ready.leafdirs.text(at));
        removed.map_err(|errno| self.refused(operation, "remove", &path(), errno))
    }

    pub(super) fn list_dir(&mut self, operation: &Operation) -> Flow {
        let set = self.own_set(operation)?;
        let ready = self.set(set);
        let Some(at) = ready.directory_pool.acquire(Selector::Existing) else {
            return Err(self.no_file(operation));
        };
        let below = at.checked_sub(1);
        let path = below.map_or(c".", |below| ready.directories.get(below));
        let began = self.began();
        let format_mistakes = list(ready, path);
        self.count(operation, began, *format_mistakes.as_ref().unwrap_or(&0));
        ready.directory_pool.release(at, EntryChange::Unchanged, 0);
        format_mistakes.map(|_| ()).map_err(|errno| {
            let path = ready.root.join(path.to_string_lossy().as_ref());
            self.refused(operation, "list", &path, errno)
        })
    }

    /// The slot of an operation with an open file, opened if necessary, and the size that limits
    /// random offsets.
    pub(super) fn ready_slot(&mut self, operation: &Operation) -> Result<(usize, u64), Stop> {
        let number = self.slots.number(operation);
        if let (true, Some((set, _)), Some(own)) =
            (number > 0, self.slots.at(number).entry, operation.set)
            && set != own
        {
            let (open_set, own) = (&self.set(set).name, &self.set(own).name);
            let what =
                format!("names the file set {own}, but fd {number} has a file of {open_set}");
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
        debug_assert!(number < SLOTS, "fd numbers are validated by the resolver");
        Ok((number, size))
    }
}

/// filebench uses half of the leaf directories as the unit of `indexed`.
fn leafdir_selector(
    operation: &Operation,
    ready: &Ready,
    at: fn(usize) -> Selector,
    in_turn: Selector,
) -> Selector {
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

/// Bytes of a directory as counted by filebench.
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
