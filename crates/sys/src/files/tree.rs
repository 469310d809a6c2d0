//! Removes a directory tree: only the one that was created, not something swapped in for it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, Dir as Listing, FileType, Mode, OFlags, Stat, fchmod, fchown, fstat, openat, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::files::dir::Dir;
use crate::files::error::Error;
use crate::files::identity::{Identity, open_on_mount};

/// Time limit for removing a tree. Hundreds of thousands of files take seconds.
const TIME_LIMIT: Duration = Duration::from_secs(300);

impl Dir {
    /// The identity of `name`; `None` where it does not exist. A link is not followed, and a mount there is
    /// refused.
    pub fn identity_of(&self, name: impl AsRef<Path>) -> Result<Option<Identity>, Error> {
        let whole = self.path().join(name.as_ref());
        let (above, name) = match self.above("stat", name.as_ref()) {
            Err(error) if error.is_missing() => return Ok(None),
            result => result?,
        };
        match open_on_mount(above.as_fd(), name, OFlags::PATH) {
            Ok(fd) => Identity::from_fd(fd.as_fd()).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::XDEV) => return Err(mounted(&whole)),
            Err(cause) => Err(cause),
        }
        .map_err(|cause| Error::new("stat", &whole, cause))
    }

    /// Removes a file if it has this identity.
    pub fn remove_own_file(&self, name: impl AsRef<Path>, own: Identity) -> Result<bool, Error> {
        match self.identity_of(name.as_ref())? {
            None => Ok(false),
            Some(stat) if stat == own => self.remove_file(name),
            Some(_) => Err(exchanged(&self.path().join(name.as_ref()))),
        }
    }

    /// Removes the directory `name` with everything in it, if it has this identity. No link is followed
    /// and no other mount is entered. Users who own directories in it lose access first, so that they
    /// cannot create files faster than they are removed. `between` is called before each removal and may
    /// cancel it.
    pub fn remove_own_tree(
        &self,
        name: impl AsRef<Path>,
        own: Identity,
        between: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), Error> {
        self.remove_own_tree_within(TIME_LIMIT, name.as_ref(), own, between)
    }

    fn remove_own_tree_within(
        &self,
        limit: Duration,
        name: &Path,
        own: Identity,
        between: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let between: &mut dyn FnMut() -> io::Result<()> = &mut || match begun.elapsed() > limit {
            true => Err(too_slow(limit)),
            false => between(),
        };
        let whole = self.path().join(name);
        let wrong = |cause: io::Error| Error::new("remove", &whole, cause);
        let (above, name) = match self.above("remove", name) {
            Err(error) if error.is_missing() => return Ok(()),
            result => result?,
        };
        let tree = match enter(&above, name) {
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::LOOP | Errno::NOTDIR) => return Err(exchanged(&whole)),
            Err(Errno::XDEV) => return Err(mounted(&whole)),
            result => result.map_err(|cause| wrong(cause.into()))?,
        };
        if Identity::from_fd(tree.as_fd()).map_err(|cause| wrong(cause.into()))? != own {
            return Err(exchanged(&whole));
        }
        empty(&tree, &whole, own.device, between)?;
        between().map_err(wrong)?;
        let now = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Identity::from(&stat));
        match now {
            Err(Errno::NOENT) => Ok(()),
            Ok(now) if now == own => {
                unlinkat(&above, name, AtFlags::REMOVEDIR).map_err(|cause| wrong(cause.into()))
            }
            _ => Err(exchanged(&whole)),
        }
    }

    /// Removes the directory `name` with everything in it, whatever its identity: for contents of a
    /// folder of our own. Returns whether it existed.
    pub fn remove_tree(&self, name: impl AsRef<Path>) -> Result<bool, Error> {
        let Some(own) = self.identity_of(name.as_ref())? else { return Ok(false) };
        self.remove_own_tree(name, own, &mut || Ok(())).map(|()| true)
    }
}

fn exchanged(path: &Path) -> Error {
    Error::refused("remove", path, "it is not what this run created there")
        .with_hint("something else has taken its name since; it was not touched")
}

fn too_slow(limit: Duration) -> io::Error {
    let why = format!("still not empty after {limit:?}: a process may be creating files in it");
    io::Error::new(io::ErrorKind::TimedOut, why)
}

fn mounted(path: &Path) -> Error {
    let why = "another file system is mounted there, and it was not mounted by this run";
    Error::refused("remove", path, why)
}

/// Opens a directory without following a link or entering a mount.
fn enter(above: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    open_on_mount(above.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Makes a directory accessible to this process only: a process that has it open, or works in it, can create
/// nothing in it from here on, and nothing can be moved into or out of it. Without that, listing it might
/// never end. The mode also masks access lists (acl(5)).
fn close(directory: &OwnedFd, stat: &Stat) {
    let own = geteuid();
    if stat.st_uid == own.as_raw() && stat.st_mode & 0o022 == 0 {
        return;
    }
    // Fails without privileges, and on NFS with root_squash; then only the time limit ends the removal.
    if fchown(directory, Some(own), None).is_ok() {
        let _ = fchmod(directory, Mode::RWXU);
    }
}

/// A directory on the way down, and what remains to be removed in it.
struct Level {
    identity: Identity,
    /// Its name in its parent.
    name: OsString,
    /// Subdirectories that are not empty yet.
    inside: Vec<OsString>,
}

/// Removes everything in a directory. Directories may be nested deeper than a stack or a descriptor
/// table holds, so only the one being emptied is open: the way back up is `..`, which must be the
/// directory that the way down came through.
fn empty(
    directory: &OwnedFd,
    path: &Path,
    device: u64,
    between: &mut dyn FnMut() -> io::Result<()>,
) -> Result<(), Error> {
    let mut here = directory.try_clone().map_err(|cause| Error::new("remove", path, cause))?;
    let mut way = vec![level(&here, OsString::new(), path, device, between)?];
    loop {
        let whole = shown(path, &way);
        let wrong = |cause: Errno| Error::new("remove", &whole, cause);
        let Some(last) = way.last_mut() else { return Ok(()) };
        if let Some(name) = last.inside.pop() {
            let inner_path = whole.join(&name);
            let inner = match enter(&here, &name) {
                Err(Errno::NOENT) => continue,
                Err(Errno::XDEV) => return Err(mounted(&inner_path)),
                inner => inner.map_err(|cause| Error::new("remove", &inner_path, cause))?,
            };
            way.push(level(&inner, name, &inner_path, device, between)?);
            here = inner;
            continue;
        }
        let Some(emptied) = way.pop() else { return Ok(()) };
        let Some(above) = way.last() else { return Ok(()) };
        here = openat(
            &here,
            "..",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(wrong)?;
        if Identity::from_fd(here.as_fd()).map_err(wrong)? != above.identity {
            return Err(exchanged(&whole));
        }
        between().map_err(|cause| Error::new("remove", &whole, cause))?;
        match unlinkat(&here, &emptied.name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT) | Ok(()) => {}
            Err(Errno::BUSY) => return Err(mounted(&whole)),
            Err(cause) => return Err(wrong(cause)),
        }
    }
}

/// Components shown in an error message; nobody reads longer paths.
const SHOWN: usize = 32;

/// The path to the current level, shortened for error messages.
fn shown(path: &Path, way: &[Level]) -> PathBuf {
    let names = way.iter().skip(1).take(SHOWN).map(|level| &level.name);
    names.fold(path.to_owned(), |path, name| path.join(name))
}

/// Closes a directory, removes all non-directories from it, and returns the subdirectories in it.
fn level(
    directory: &OwnedFd,
    name: OsString,
    path: &Path,
    device: u64,
    between: &mut dyn FnMut() -> io::Result<()>,
) -> Result<Level, Error> {
    let wrong = |cause: Errno| Error::new("remove", path, cause);
    let stat = fstat(directory).map_err(wrong)?;
    let identity = Identity::from(&stat);
    if identity.device != device {
        return Err(mounted(path));
    }
    close(directory, &stat);
    let mut inside = Vec::new();
    for entry in Listing::read_from(directory).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let whole = path.join(name);
        between().map_err(|cause| Error::new("remove", &whole, cause))?;
        // The listing knows the type. A file system that its owner has mounted over an entry (FUSE) might
        // never answer a question about it.
        let kind = match entry.file_type() {
            FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                kind => FileType::from_raw_mode(kind.map_err(wrong)?.st_mode),
            },
            kind => kind,
        };
        if kind == FileType::Directory {
            inside.push(name.to_owned());
            continue;
        }
        match unlinkat(directory, name, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => {}
            Err(Errno::BUSY) => return Err(mounted(&whole)),
            Err(cause) => return Err(Error::new("remove", &whole, cause)),
        }
    }
    Ok(Level { identity, name, inside })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_left_at_the_time_limit_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let identity = dir.make_new_dir("scratch").unwrap().identity().unwrap();
        fs::write(temp.path().join("scratch/file"), "").unwrap();
        let remove = |limit| {
            dir.remove_own_tree_within(limit, Path::new("scratch"), identity, &mut || Ok(()))
        };
        let error = remove(Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("scratch/file: still not empty after 0ns"), "{error}");
        remove(TIME_LIMIT).unwrap();
        assert!(!temp.path().join("scratch").exists());
    }
}
