//! An open directory and the operations below it.

mod new_mode;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, fallocate, fchmod, fchown, fstat, fsync,
    mkdirat, mknodat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::files::caller::Caller;
use crate::files::error::Error;
use crate::files::identity::{Identity, open_on_mount};
use new_mode::{NewMode, is_empty};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

pub(crate) const PASSAGE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open directory. Names passed to its methods are relative, may have several components, and never
/// lead outside: `..` and links are refused.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
    mode: NewMode,
}

impl Dir {
    /// Opens a directory that the user named. Links in this path are the user's own and are followed;
    /// below it none is. What root creates in a folder of the user who called sudo is given to that
    /// user.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let named = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let fd = openat(CWD, named, DIRECTORY, Mode::empty())
            .map_err(|cause| Error::new("open", path, cause))?;
        let mode = NewMode { caller: Caller::from_sudo(), ..NewMode::USUAL };
        Ok(Self { fd, path: path.to_owned(), mode })
    }

    /// Opens a directory by a path in which no link is followed, not even above it.
    pub fn open_no_follow(path: &Path) -> Result<Self, Error> {
        Self::open(Path::new("/"))?.dir(path.strip_prefix("/").unwrap_or(path))
    }

    /// Opens an `O_PATH` directory for reading; `path` is its path.
    pub(crate) fn over(passage: &OwnedFd, path: PathBuf) -> Result<Self, Error> {
        let fd = openat(passage, ".", DIRECTORY, Mode::empty())
            .map_err(|cause| Error::new("open", &path, cause))?;
        Ok(Self { fd, path, mode: NewMode { caller: Caller::from_sudo(), ..NewMode::USUAL } })
    }

    /// Opens a directory that the user named, creating it and its parents where they are missing.
    pub fn make_all(path: &Path) -> Result<Self, Error> {
        Self::make_all_for(path, NewMode { caller: Caller::from_sudo(), ..NewMode::USUAL })
    }

    fn make_all_for(path: &Path, mode: NewMode) -> Result<Self, Error> {
        match Self::open(path) {
            Err(error) if error.is_missing() => {}
            result => return result.map(|dir| Self { mode, ..dir }),
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::refused("make", path, "the path does not name a directory"));
        };
        Self::make_all_for(above, mode)?.make_dir(name)
    }

    /// The same for a directory that only its owner may enter and whose files only its owner may read.
    /// An existing directory is left unchanged.
    pub fn make_private(path: &Path) -> Result<Self, Error> {
        Self::make_all_for(path, NewMode::PRIVATE)
    }

    /// The same directory; what is created in it from here on is accessible to its owner only.
    #[must_use]
    pub fn private(self) -> Self {
        Self { mode: NewMode::PRIVATE, ..self }
    }

    /// The same directory; what is created in it is owned by this process, regardless of the owner of the
    /// directory.
    #[must_use]
    pub fn keeping_owner(self) -> Self {
        Self { mode: NewMode { caller: None, ..self.mode }, ..self }
    }

    /// Its current path, without links.
    pub fn current_path(&self) -> Result<PathBuf, Error> {
        std::fs::read_link(self.proc_path()).map_err(|cause| Error::new("find", &self.path, cause))
    }

    /// Its current parent directory, which may differ from the one at the time it was opened.
    pub fn current_parent(&self) -> Result<Self, Error> {
        let wrong = |cause| Error::new("open", &self.path, cause);
        let fd = openat(&self.fd, "..", DIRECTORY, Mode::empty()).map_err(wrong)?;
        let parent = Self { fd, path: PathBuf::new(), mode: self.mode };
        Ok(Self { path: parent.current_path()?, ..parent })
    }

    /// Removes all permissions of group and others.
    pub fn restrict_to_owner(&self) -> Result<(), Error> {
        let wrong = |cause| Error::new("chmod", &self.path, cause);
        match fstat(&self.fd).map_err(wrong)?.st_mode & 0o077 {
            0 => Ok(()),
            _ => fchmod(&self.fd, NewMode::PRIVATE.dir).map_err(wrong),
        }
    }

    /// Gives the directory, but not its contents, to a user.
    pub fn hand_over(&self, to: Caller) -> Result<(), Error> {
        fchown(&self.fd, Some(to.user()), Some(to.group()))
            .map_err(|cause| Error::new("chown", &self.path, cause))
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> Result<bool, Error> {
        is_empty(&self.fd).map_err(|cause| Error::new("list", &self.path, cause))
    }

    /// A path to this very directory, wherever it has been moved: valid in this process, and in its
    /// children until exec.
    #[must_use]
    pub fn proc_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    /// Lets everyone traverse it, but not list it.
    pub fn allow_traversal(&self) -> Result<(), Error> {
        let wrong = |cause| Error::new("chmod", &self.path, cause);
        let mode = fstat(&self.fd).map_err(wrong)?.st_mode;
        fchmod(&self.fd, Mode::from_raw_mode(mode & 0o7777 | 0o011)).map_err(wrong)
    }

    /// Its path, as it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its device and inode.
    pub fn identity(&self) -> Result<Identity, Error> {
        Identity::from_fd(self.fd.as_fd()).map_err(|cause| Error::new("stat", &self.path, cause))
    }

    /// Who owns it, by user id.
    pub fn owner(&self) -> Result<u32, Error> {
        let stat = fstat(&self.fd).map_err(|cause| Error::new("stat", &self.path, cause))?;
        Ok(stat.st_uid)
    }

    /// Whether a regular file of this name exists (a link to one does not count).
    #[must_use]
    pub fn has_file(&self, name: impl AsRef<Path>) -> bool {
        let stat = self
            .above("stat", name.as_ref())
            .ok()
            .and_then(|(above, name)| statat(&above, name, AtFlags::SYMLINK_NOFOLLOW).ok());
        stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// Opens a directory below this one.
    pub fn dir(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        let name = name.as_ref();
        let parts = parts("open", &self.path, name)?;
        let mut fd = self.own("open")?;
        for (index, part) in parts.iter().enumerate() {
            // Directories on the way need not be readable.
            let leads_on = index + 1 < parts.len();
            fd = self.enter("open", name, &fd, part, if leads_on { PASSAGE } else { DIRECTORY })?;
        }
        Ok(self.below(fd, name))
    }

    /// Opens a directory in this one unless something is mounted there (EXDEV): a file system that a user has
    /// mounted may never answer.
    pub fn dir_on_mount(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        let name = name.as_ref();
        let above = self.own("open")?;
        let fd = open_on_mount(above.as_fd(), name.as_os_str(), DIRECTORY)
            .map_err(|cause| Error::new("open", &self.path.join(name), cause))?;
        Ok(self.below(fd, name))
    }

    /// The same; it is created where it is missing.
    pub fn make_dir_on_mount(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        match self.make_new_dir(name.as_ref()) {
            Err(error) if error.is(Errno::EXIST) => self.dir_on_mount(name),
            result => result,
        }
    }

    /// Creates a directory below this one, with missing directories on the way, and opens it. An
    /// existing one is opened.
    pub fn make_dir(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        let name = name.as_ref();
        let mut fd = self.own("make")?;
        for part in parts("make", &self.path, name)? {
            let is_new = match mkdirat(&fd, part, self.mode.dir) {
                Err(Errno::EXIST) => false,
                result => {
                    result.map_err(|cause| Error::new("make", &self.path.join(name), cause))?;
                    true
                }
            };
            let inner = self.enter("make", name, &fd, part, DIRECTORY)?;
            let above = std::mem::replace(&mut fd, inner);
            if is_new {
                let handed = self.mode.give_dir(&above, &fd);
                handed.map_err(|cause| Error::new("chown", &self.path.join(name), cause))?;
            }
        }
        Ok(self.below(fd, name))
    }

    /// Creates one directory that must not exist, and opens it.
    pub fn make_new_dir(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        let whole = self.path.join(name.as_ref());
        let (above, name) = self.above("make", name.as_ref())?;
        mkdirat(&above, name, self.mode.dir).map_err(|cause| Error::new("make", &whole, cause))?;
        let fd = self.enter("make", Path::new(name), &above, name, DIRECTORY)?;
        self.mode.give_dir(&above, &fd).map_err(|cause| Error::new("chown", &whole, cause))?;
        Ok(Self { fd, path: whole, mode: self.mode })
    }

    /// Creates a file that must not exist, open for reading and writing.
    pub fn create(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let whole = self.path.join(name.as_ref());
        let (above, name) = self.above("create", name.as_ref())?;
        self.create_in(&above, name).map_err(|cause| Error::new("create", &whole, cause))
    }

    /// Creates a file without a name, of `size` bytes, open for reading and writing. It ends with its last descriptor.
    pub fn unnamed(&self, size: u64) -> Result<File, Error> {
        let failed = |cause| Error::new("write a file in", &self.path, cause);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = openat(&self.fd, ".", flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        fallocate(&fd, FallocateFlags::empty(), 0, size).map_err(failed)?;
        Ok(File::from(fd))
    }

    pub(crate) fn create_in(&self, above: &OwnedFd, name: &OsStr) -> rustix::io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let fd = openat(above, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, self.mode.file)?;
        self.mode.give(above, fd.as_fd())?;
        Ok(File::from(fd))
    }

    /// Opens a file for reading and appending, creating it where it is missing. Anything that is not a
    /// regular file, or has a second name, belongs to someone else and is refused.
    pub fn append(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let file = self.open_file(name.as_ref(), OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        let wrong = |cause| Error::new("chown", &self.path.join(name.as_ref()), cause);
        // A file with contents keeps its owner.
        if self.mode.caller.is_some() && fstat(&file).map_err(wrong)?.st_size == 0 {
            let (above, _) = self.above("chown", name.as_ref())?;
            self.mode.give(&above, file.as_fd()).map_err(wrong)?;
        }
        Ok(file)
    }

    /// Opens a file that exists for reading and appending.
    pub fn append_existing(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        self.open_file(name.as_ref(), OFlags::RDWR | OFlags::APPEND)
    }

    /// Opens a regular file for reading. Never blocks, as opening a FIFO would.
    pub fn read(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        self.open_file(name.as_ref(), OFlags::RDONLY)
    }

    fn open_file(&self, name: &Path, flags: OFlags) -> Result<File, Error> {
        let whole = self.path.join(name);
        let wrong = |cause: Errno| match cause {
            Errno::LOOP => {
                Error::refused("open", &whole, "it is a link, and links are not followed here")
                    .with_hint("replace the link by the file itself, if you know where it leads")
            }
            cause => Error::new("open", &whole, cause),
        };
        let (above, name) = self.above("open", name)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&above, name, flags, self.mode.file).map_err(wrong)?;
        let stat = fstat(&fd).map_err(wrong)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::refused("open", &whole, "it is not a regular file")
                .with_hint("find out what created it, and remove it"));
        }
        // Reading changes nothing under any of its names, and copies are often made of hard links.
        if stat.st_nlink > 1 && flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
            let why = "it has other hard links, and would change under those names too";
            return Err(
                Error::refused("open", &whole, why).with_hint("remove it, or replace it by a copy")
            );
        }
        Ok(File::from(fd))
    }

    /// Creates a FIFO for this user only and opens both its ends, without blocking.
    pub fn make_fifo(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let whole = self.path.join(name.as_ref());
        let wrong = |cause| Error::new("mkfifo", &whole, cause);
        let (above, name) = self.above("mkfifo", name.as_ref())?;
        mknodat(&above, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(wrong)?;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&above, name, flags, Mode::empty()).map_err(wrong)?;
        if FileType::from_raw_mode(fstat(&fd).map_err(wrong)?.st_mode) != FileType::Fifo {
            return Err(Error::refused("open", &whole, "it was replaced by someone else"));
        }
        Ok(File::from(fd))
    }

    /// Removes a name that is not a directory; of a link the link itself, never its target. Returns
    /// whether it existed.
    pub fn remove_file(&self, name: impl AsRef<Path>) -> Result<bool, Error> {
        self.remove("remove", name.as_ref(), AtFlags::empty())
    }

    /// Removes an empty directory. Returns whether it existed.
    pub fn remove_dir(&self, name: impl AsRef<Path>) -> Result<bool, Error> {
        self.remove("rmdir", name.as_ref(), AtFlags::REMOVEDIR)
    }

    fn remove(&self, verb: &'static str, name: &Path, flags: AtFlags) -> Result<bool, Error> {
        let whole = self.path.join(name);
        let (above, name) = match self.above(verb, name) {
            Err(error) if error.is_missing() => return Ok(false),
            result => result?,
        };
        match unlinkat(&above, name, flags) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(cause) => Err(Error::new(verb, &whole, cause)),
        }
    }

    /// Renames something in this directory; an existing target is replaced.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), Error> {
        let whole = self.path.join(from.as_ref());
        let (old, from) = self.above("rename", from.as_ref())?;
        let (new, to) = self.above("rename", to.as_ref())?;
        renameat(&old, from, &new, to).map_err(|cause| Error::new("rename", &whole, cause))
    }

    /// Waits until the names in it are on disk.
    pub fn sync(&self) -> Result<(), Error> {
        fsync(&self.fd).map_err(|cause| Error::new("fsync", &self.path, cause))
    }

    /// The descriptor of the directory that holds `name`, and the last component of the name.
    pub(crate) fn above<'n>(
        &self,
        verb: &'static str,
        name: &'n Path,
    ) -> Result<(OwnedFd, &'n OsStr), Error> {
        let mut parts = parts(verb, &self.path, name)?;
        let Some(last) = parts.pop() else {
            return Err(Error::refused(verb, &self.path.join(name), "it does not name a file"));
        };
        let mut fd = self.own(verb)?;
        for part in parts {
            fd = self.enter(verb, name, &fd, part, DIRECTORY)?;
        }
        Ok((fd, last))
    }

    fn enter(
        &self,
        verb: &'static str,
        name: &Path,
        above: &OwnedFd,
        part: &OsStr,
        flags: OFlags,
    ) -> Result<OwnedFd, Error> {
        let whole = || self.path.join(name);
        openat(above, part, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|cause| match cause {
            Errno::LOOP | Errno::NOTDIR => Error::new(verb, &whole(), Errno::NOTDIR).with_hint(
                format!("`{}` is not a directory; links are not followed", part.display()),
            ),
            cause => Error::new(verb, &whole(), cause),
        })
    }

    fn own(&self, verb: &'static str) -> Result<OwnedFd, Error> {
        self.fd.try_clone().map_err(|cause| Error::new(verb, &self.path, cause))
    }

    fn below(&self, fd: OwnedFd, name: &Path) -> Self {
        Self { fd, path: self.path.join(name), mode: self.mode }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The components of a name that stays below its directory.
fn parts<'n>(verb: &'static str, dir: &Path, name: &'n Path) -> Result<Vec<&'n OsStr>, Error> {
    name.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(part) => Ok(part),
            _ => Err(Error::refused(verb, &dir.join(name), "the name leads outside its folder")),
        })
        .collect()
}

/// A random name, which nobody can guess.
pub(crate) fn unguessable(name: &OsStr) -> OsString {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // The keys of a RandomState come from the kernel's random numbers.
    let number = RandomState::new().build_hasher().finish();
    let mut draft = OsString::from(".");
    draft.push(name);
    draft.push(format!(".{number:016x}.draft"));
    draft
}
