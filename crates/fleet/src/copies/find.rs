//! Finds run folders below a folder that a user copied from hosts.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use assay_files::Dir;
use rustix::io::Errno;

use crate::error::Error;

/// How deep a run may lie below a folder that the user names: `HOST/FLEET/tasks/00/job-17/run` has six levels.
const DEEPEST: usize = 12;

/// Names in all folders that are looked through. The contents of runs do not count.
const MOST_NAMES: usize = 1 << 20;

/// Any of these makes a folder a run, or what is left of one.
const SIGNS: [&str; 3] = ["manifest.json", "verdict.json", "events.jsonl"];

/// The folders that a user named, open: one that is not there is refused before anything is made.
#[derive(Debug)]
pub struct CopySources(pub(super) Vec<(PathBuf, Dir)>);

impl CopySources {
    /// Opens them.
    pub fn open(named: &[PathBuf]) -> Result<Self, Error> {
        let open = |path: &PathBuf| match Dir::open(path) {
            Ok(dir) => Ok((path.clone(), dir)),
            Err(error) => {
                Err(Error::from(error).hint("name folders that hold runs copied from hosts"))
            }
        };
        named.iter().map(open).collect::<Result<_, _>>().map(Self)
    }
}

/// Of a search.
pub(super) struct Search<'s> {
    /// Receives each run with its path below the folder that was named; an empty one is that folder.
    pub(super) run: &'s mut dyn FnMut(&Path, Dir),
    /// Receives what cannot be looked through, with the reason.
    pub(super) refused: &'s mut dyn FnMut(&Path, String),
    remaining: usize,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        run: &'s mut dyn FnMut(&Path, Dir),
        refused: &'s mut dyn FnMut(&Path, String),
    ) -> Self {
        Self { run, refused, remaining: MOST_NAMES }
    }

    /// Looks through a folder, in the order of names. No link is followed, and no run is entered.
    pub(super) fn through(&mut self, top: Dir) {
        self.level(top, Path::new(""), 0);
    }

    fn level(&mut self, dir: Dir, name: &Path, depth: usize) {
        if SIGNS.iter().any(|sign| dir.has_file(sign)) {
            (self.run)(name, dir);
            return;
        }
        if depth == DEEPEST {
            (self.refused)(name, format!("it is nested more than {DEEPEST} folders deep"));
            return;
        }
        let names = match dir.names() {
            Ok(names) => names,
            Err(error) => return (self.refused)(name, error.cause.to_string()),
        };
        for entry in names {
            let Some(remaining) = self.remaining.checked_sub(1) else {
                return (self.refused)(
                    name,
                    format!("the folders hold more than {MOST_NAMES} names"),
                );
            };
            self.remaining = remaining;
            self.entry(&dir, name, &entry, depth);
        }
    }

    fn entry(&mut self, dir: &Dir, name: &Path, entry: &OsStr, depth: usize) {
        match dir.dir(entry) {
            Ok(inner) => self.level(inner, &name.join(entry), depth + 1),
            // A file beside the runs; or it has been removed meanwhile.
            Err(error) if error.is_missing() || dir.has_file(entry) => {}
            Err(error) if error.is(Errno::NOTDIR) => {
                let why = "it is a link or a special file, and neither is followed";
                (self.refused)(&name.join(entry), why.to_owned());
            }
            Err(error) => (self.refused)(&name.join(entry), error.cause.to_string()),
        }
    }
}
