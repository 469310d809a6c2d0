//! Resolves a path of the user's component by component: a link on the way is followed only where
//! nobody but root and the user could have created it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC, fstatfs, openat, readlinkat};
use rustix::io::Errno;

use crate::files::caller::Caller;
use crate::files::dir::{Dir, PASSAGE};
use crate::files::error::Error;
use crate::files::owner::{Checked, Trust, check_owners, is_guarded};

/// Maximum number of links on one path, the kernel's own limit (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// A resolved path.
pub(crate) struct Resolved {
    /// The deepest directory.
    pub(crate) above: OwnedFd,
    /// The name in it, preceded by directories that do not exist.
    pub(crate) name: PathBuf,
    /// Whether it is one of this process's own descriptors, as proc(5) names them.
    pub(crate) is_own: bool,
    /// The path of the directory.
    at: PathBuf,
}

impl Resolved {
    /// Opens the deepest directory, to create something in it.
    pub(crate) fn dir(&self, verb: &'static str) -> Result<Dir, Error> {
        let renamed = |error: Error| Error { operation: verb, ..error };
        Dir::over(&self.above, self.at.clone()).map_err(renamed)
    }

    /// Whether nobody but root and the user can create entries in it.
    pub(crate) fn is_guarded(&self) -> bool {
        is_guarded(&self.above)
    }
}

impl Dir {
    /// Opens a directory that nobody but root, this user and the caller of sudo can have put where it is, or write to: a link is
    /// followed only where nobody else can make one. Others may write to a directory on the way: what they put there is theirs.
    pub fn open_guarded(path: &Path) -> Result<Self, Error> {
        let way = find("open", path)?;
        let dir = way.dir("open")?.dir(&way.name)?;
        if dir.is_guarded() {
            return Ok(dir);
        }
        Err(Error::refused("open", path, "others can put something else there"))
    }
}

/// Resolves a path up to its last name.
pub(crate) fn find(verb: &'static str, path: &Path) -> Result<Resolved, Error> {
    let wrong = |cause: Errno| Error::new(verb, path, cause);
    let (mut above, mut at) = start(path).map_err(wrong)?;
    let mut left = names(path);
    let mut links = 0;
    while let Some(name) = left.pop() {
        let is_last = left.is_empty();
        let is_proc = is_on_proc(&above).map_err(wrong)?;
        match readlinkat(&above, &name, Vec::new()) {
            Ok(_) if is_proc && is_last => {
                return Ok(Resolved { above, name: name.into(), is_own: true, at });
            }
            // The kernel's own links: `self`, and descriptors, which have no path.
            Ok(_) if is_proc => above = step(&above, &name, OFlags::empty()).map_err(wrong)?,
            Ok(_) if !is_guarded(&above) => {
                let why = format!(
                    "`{}` is a link in a folder that others can write to, and is not followed",
                    at.join(&name).display()
                );
                return Err(Error::refused(verb, path, why));
            }
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(wrong(Errno::LOOP));
                }
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    (above, at) = start(&target).map_err(wrong)?;
                }
                left.extend(names(&target));
                continue;
            }
            Err(Errno::NOENT) => {
                let missing =
                    left.iter().rev().fold(PathBuf::from(&name), |path, name| path.join(name));
                return Ok(Resolved { above, name: missing, is_own: false, at });
            }
            Err(Errno::INVAL) if is_last && name != ".." => {
                return Ok(Resolved { above, name: name.into(), is_own: false, at });
            }
            Err(Errno::INVAL) => above = step(&above, &name, OFlags::NOFOLLOW).map_err(wrong)?,
            Err(cause) => return Err(wrong(cause)),
        }
        at.push(name);
    }
    Err(wrong(Errno::ISDIR))
}

/// Checks that nobody but root, this user and `also` can change what `path` leads to, also by a link on the way. What does not
/// exist yet counts as created by us.
///
/// # Errors
/// Somebody else can, and the user has not confirmed that nobody means harm.
pub fn check(path: &Path, also: Option<Caller>, trust: Trust) -> Result<Checked, Error> {
    if trust == Trust::Checked {
        check_links(path)?;
    }
    check_owners(path, also, trust)
}

/// Checks that nobody but root, this user and the caller of sudo can have made a link that this path leads through.
///
/// # Errors
/// Somebody else can.
fn check_links(path: &Path) -> Result<(), Error> {
    match find("trust", path) {
        // A system error has another meaning for those who create what is missing.
        Err(error) if error.cause.raw_os_error().is_none() => Err(error),
        _ => Ok(()),
    }
}

/// The directory where a path begins.
fn start(path: &Path) -> rustix::io::Result<(OwnedFd, PathBuf)> {
    let begin = if path.is_absolute() { "/" } else { "." };
    let at = if path.is_absolute() { PathBuf::from("/") } else { PathBuf::new() };
    Ok((openat(CWD, begin, PASSAGE, Mode::empty())?, at))
}

/// The components of a path, in reverse order.
fn names(path: &Path) -> Vec<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    };
    path.components().rev().filter_map(name).collect()
}

fn step(above: &OwnedFd, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(above, name, PASSAGE | flags, Mode::empty())
}

fn is_on_proc(directory: impl AsFd) -> rustix::io::Result<bool> {
    Ok(fstatfs(directory)?.f_type == PROC_SUPER_MAGIC)
}
