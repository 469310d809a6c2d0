//! Whose folder is this? A folder is opened as ssh opens its keys: it and all above it must belong
//! to root or to the user, and nobody else may write there.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::error::Error;

/// Whether a folder that others may change is taken all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// It is refused.
    #[default]
    Checked,
    /// The user has said that nobody there means harm (`--trust-folder`).
    Told,
}

/// The user who called, where root works for one (sudo).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The user's id.
    pub uid: u32,
    /// The user's group.
    pub gid: u32,
}

impl Caller {
    /// The one whom sudo names, if this process is root.
    #[must_use]
    pub fn of_sudo() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse().ok();
        if !geteuid().is_root() {
            return None;
        }
        let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
        (uid != 0).then_some(Self { uid, gid })
    }
}

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Checks that nobody but root, this user and `also` can change what `path` stands for, and returns
/// the path without links. What does not exist yet is taken for made by us. A directory such as
/// /tmp, where everybody may write but only owners may rename (the sticky bit), is fine above
/// something that is ours.
pub fn check(path: &Path, also: Option<Caller>, trust: Trust) -> Result<PathBuf, Error> {
    let (existing, rest) = canonical(path)?;
    let whole = rest.iter().rev().fold(existing.clone(), |path, part| path.join(part));
    if trust == Trust::Told {
        return Ok(whole);
    }
    let mut chain: Vec<&Path> = existing.ancestors().collect();
    chain.reverse();
    for (index, directory) in chain.iter().enumerate() {
        let wrong = |cause| Error::new("stat", directory, cause);
        let found = directory.symlink_metadata().map_err(wrong)?;
        let is_last = index + 1 == chain.len();
        let is_friend = |uid: u32| {
            uid == 0 || uid == geteuid().as_raw() || also.is_some_and(|caller| caller.uid == uid)
        };
        // The group of the same number is the user's own (user private groups, and root's); with a
        // umask of 002, which goes with them, all that a user makes may be written by it.
        let own_group = found.gid() == found.uid() || found.gid() == 0;
        let others = if own_group { WRITABLE_BY_OTHERS & !0o020 } else { WRITABLE_BY_OTHERS };
        let shared = found.mode() & others != 0;
        // Who owns what lies in a sticky directory is looked at in the next round.
        let guarded = found.mode() & STICKY != 0 && (!is_last || !rest.is_empty());
        if !is_friend(found.uid()) || shared && !guarded {
            return Err(refusal(path, directory, found.uid(), found.mode() & 0o7777));
        }
    }
    Ok(whole)
}

fn refusal(path: &Path, directory: &Path, uid: u32, mode: u32) -> Error {
    let why = format!(
        "{} belongs to user {uid} and has mode {mode:04o}, so that others can put something else \
         there",
        directory.display()
    );
    Error::refused("trust", path, why).with_hint(format!(
        "choose a folder that is yours and root's alone, or make it so (`chown`, `chmod go-w {}`); \
         --trust-folder takes run and fleet folders as they are, if you know everybody who may \
         write there",
        directory.display()
    ))
}

/// The part of a path that exists, without links, and the names below it that do not, the last one
/// first.
fn canonical(path: &Path) -> Result<(PathBuf, Vec<std::ffi::OsString>), Error> {
    let mut rest = Vec::new();
    let mut at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    loop {
        match at.canonicalize() {
            Ok(existing) => return Ok((existing, rest)),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => return Err(Error::new("find", path, cause)),
        }
        let Some(name) = at.file_name() else {
            return Err(Error::refused("find", path, "it names no file"));
        };
        rest.push(name.to_owned());
        at = at.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    }
}
