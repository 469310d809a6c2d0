//! The folders in which runtimes keep their files. Only what root, or this user, has put there is read.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::rc::Rc;

use assay_sys::files::{Dir, Error};
use assay_sys::kernel::Root;
use serde::de::DeserializeOwned;

/// Of so many files it is said that they were not read.
const MOST: usize = 16;

/// Folders below a root, each opened once.
pub(super) struct Folders<'r> {
    root: &'r Root,
    /// None where others may write.
    known: RefCell<HashMap<String, Option<Rc<Dir>>>>,
    left_out: RefCell<BTreeSet<String>>,
    /// Files and folders that were opened.
    #[cfg(test)]
    pub(super) opened: std::cell::Cell<usize>,
}

impl<'r> Folders<'r> {
    pub(super) fn new(root: &'r Root) -> Self {
        Self {
            root,
            known: RefCell::default(),
            left_out: RefCell::default(),
            #[cfg(test)]
            opened: std::cell::Cell::new(0),
        }
    }

    pub(super) fn left_out(&self) -> Vec<String> {
        self.left_out.borrow().iter().cloned().collect()
    }

    pub(super) fn names_in(&self, folder: &str) -> Vec<OsString> {
        self.count();
        let names = self.folder(folder).map(|folder| folder.names());
        names.and_then(|names| self.noted(names)).unwrap_or_default()
    }

    /// A JSON document of `folder` below `top`. No link below `top` is followed, no pipe is opened, and no folder is read in which
    /// others than root, or this user, may write: whose names they are could not be told.
    pub(super) fn document<T: DeserializeOwned>(
        &self,
        top: &str,
        folder: &str,
        file: &str,
        limit: u64,
    ) -> Option<T> {
        self.count();
        let mut dir = self.folder(top)?;
        for part in Path::new(folder) {
            dir = Rc::new(dir.dir(part).ok().filter(Dir::is_guarded)?);
        }
        let text = self.noted(dir.bytes(file, limit))?;
        serde_json::from_slice(&text).ok()
    }

    /// Others may write to a folder above this one, as `/var/log` belongs to a group of users on Ubuntu. What they can put in its
    /// place is theirs, a link, or another directory of root's, in which they choose no name either.
    fn folder(&self, path: &str) -> Option<Rc<Dir>> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let folder = self.noted(Dir::open_guarded(&self.root.resolve(path))).map(Rc::new);
        self.known.borrow_mut().insert(path.to_owned(), folder.clone());
        folder
    }

    /// What was read. What the kernel refuses is missing, or not for this user; what this program refuses is worth a word.
    fn noted<T>(&self, read: Result<T, Error>) -> Option<T> {
        let error = match read {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        let mut left_out = self.left_out.borrow_mut();
        if error.cause.raw_os_error().is_none() && left_out.len() < MOST {
            left_out.insert(format!("{}: {}", error.path.display(), error.cause));
        }
        None
    }

    #[cfg(test)]
    fn count(&self) {
        self.opened.set(self.opened.get() + 1);
    }

    #[cfg(not(test))]
    const fn count(&self) {
        let _ = self;
    }
}
