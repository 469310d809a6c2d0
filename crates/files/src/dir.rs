//! An open directory, and what may be done below it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, fsync, mkdirat, mknodat,
    openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::draft::Draft;
use crate::error::Error;
use crate::owner::Caller;
use crate::tree::Identity;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

const PASSAGE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open directory. Names given to its methods are relative, may have several parts, and never
/// lead out of it: `..` and links are refused.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
    made: Made,
}

/// How what is made in a directory is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    file: Mode,
    dir: Mode,
    owner: Option<(Uid, Gid)>,
}

impl Made {
    /// As the caller's umask has it.
    const USUAL: Self =
        Self { file: Mode::from_raw_mode(0o666), dir: Mode::from_raw_mode(0o777), owner: None };

    /// For the owner alone.
    const PRIVATE: Self =
        Self { file: Mode::from_raw_mode(0o600), dir: Mode::from_raw_mode(0o700), owner: None };

    fn give(&self, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
        self.owner.map_or(Ok(()), |(uid, gid)| fchown(fd, Some(uid), Some(gid)))
    }
}

impl Dir {
    /// Opens a directory that the user named. Links in this path are the user's own and are
    /// followed; below it none is. What root makes in a folder of the user who called sudo is that
    /// user's.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let named = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let fd = openat(CWD, named, DIRECTORY, Mode::empty())
            .map_err(|cause| Error::new("open", path, cause))?;
        let found = fstat(&fd).map_err(|cause| Error::new("stat", path, cause))?;
        let owner = Caller::of_sudo().filter(|caller| caller.uid == found.st_uid);
        let owner = owner.map(|caller| (Uid::from_raw(caller.uid), Gid::from_raw(caller.gid)));
        Ok(Self { fd, path: path.to_owned(), made: Made { owner, ..Made::USUAL } })
    }

    /// Opens a directory that the user named, and makes it with those above it where they are
    /// missing.
    pub fn make_all(path: &Path) -> Result<Self, Error> {
        Self::make_all_for(path, Made::USUAL)
    }

    fn make_all_for(path: &Path, made: Made) -> Result<Self, Error> {
        match Self::open(path) {
            Err(error) if error.is_missing() => {}
            found => return found.map(|dir| Self { made, ..dir }),
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::refused("make", path, "the path does not name a directory"));
        };
        Self::make_all_for(above, made)?.make_dir(name)
    }

    /// The same for a folder of the user `owner` alone.
    pub fn make_all_owned(path: &Path, owner: Option<(u32, u32)>) -> Result<Self, Error> {
        let owner = owner.map(|(uid, gid)| (Uid::from_raw(uid), Gid::from_raw(gid)));
        Self::make_all_for(path, Made { owner, ..Made::USUAL })
    }

    /// The same for a folder that its owner alone may enter, with files that its owner alone may
    /// read. One that is there already stays as it is.
    pub fn make_private(path: &Path) -> Result<Self, Error> {
        Self::make_all_for(path, Made::PRIVATE)
    }

    /// The same directory, where what is made in it from here on is its owner's alone.
    #[must_use]
    pub fn private(self) -> Self {
        Self { made: Made::PRIVATE, ..self }
    }

    /// Lets nobody but the owner in.
    pub fn keep_to_owner(&self) -> Result<(), Error> {
        let wrong = |cause| Error::new("chmod", &self.path, cause);
        match fstat(&self.fd).map_err(wrong)?.st_mode & 0o077 {
            0 => Ok(()),
            _ => fchmod(&self.fd, Made::PRIVATE.dir).map_err(wrong),
        }
    }

    /// Gives it to a user.
    pub fn hand_over(&self, uid: u32, gid: u32) -> Result<(), Error> {
        fchown(&self.fd, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
            .map_err(|cause| Error::new("chown", &self.path, cause))
    }

    /// Lets everybody go through it, and nobody look around.
    pub fn let_through(&self) -> Result<(), Error> {
        let wrong = |cause| Error::new("chmod", &self.path, cause);
        let mode = fstat(&self.fd).map_err(wrong)?.st_mode;
        fchmod(&self.fd, Mode::from_raw_mode(mode & 0o7777 | 0o011)).map_err(wrong)
    }

    /// Its place, as it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which directory it is.
    pub fn identity(&self) -> Result<Identity, Error> {
        Identity::of(self.fd.as_fd()).map_err(|cause| Error::new("stat", &self.path, cause))
    }

    /// Who owns it, by user id.
    pub fn owner(&self) -> Result<u32, Error> {
        let found = fstat(&self.fd).map_err(|cause| Error::new("stat", &self.path, cause))?;
        Ok(found.st_uid)
    }

    /// Whether a regular file of this name is there, and no link to one.
    #[must_use]
    pub fn has_file(&self, name: impl AsRef<Path>) -> bool {
        let found = self
            .above("stat", name.as_ref())
            .ok()
            .and_then(|(above, name)| statat(&above, name, AtFlags::SYMLINK_NOFOLLOW).ok());
        found.is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
    }

    /// Opens a directory below this one.
    pub fn dir(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        let name = name.as_ref();
        let parts = parts("open", &self.path, name)?;
        let mut fd = self.own("open")?;
        for (index, part) in parts.iter().enumerate() {
            // What only leads on need not be readable.
            let leads_on = index + 1 < parts.len();
            fd = self.enter("open", name, &fd, part, if leads_on { PASSAGE } else { DIRECTORY })?;
        }
        Ok(self.below(fd, name))
    }

    /// Makes a directory below this one, with those between that are missing, and opens it. One
    /// that exists is opened.
    pub fn make_dir(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        let name = name.as_ref();
        let mut fd = self.own("make")?;
        for part in parts("make", &self.path, name)? {
            let made = match mkdirat(&fd, part, self.made.dir) {
                Err(Errno::EXIST) => false,
                done => {
                    done.map_err(|cause| Error::new("make", &self.path.join(name), cause))?;
                    true
                }
            };
            fd = self.enter("make", name, &fd, part, DIRECTORY)?;
            if made {
                let given = self.made.give(fd.as_fd());
                given.map_err(|cause| Error::new("chown", &self.path.join(name), cause))?;
            }
        }
        Ok(self.below(fd, name))
    }

    /// Makes one directory that must not exist, and opens it.
    pub fn make_new_dir(&self, name: impl AsRef<Path>) -> Result<Self, Error> {
        let whole = self.path.join(name.as_ref());
        let (above, name) = self.above("make", name.as_ref())?;
        mkdirat(&above, name, self.made.dir).map_err(|cause| Error::new("make", &whole, cause))?;
        let fd = self.enter("make", Path::new(name), &above, name, DIRECTORY)?;
        self.made.give(fd.as_fd()).map_err(|cause| Error::new("chown", &whole, cause))?;
        Ok(Self { fd, path: whole, made: self.made })
    }

    /// Makes a file that must not exist, open for reading and writing.
    pub fn create(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let whole = self.path.join(name.as_ref());
        let (above, name) = self.above("create", name.as_ref())?;
        self.create_in(&above, name).map_err(|cause| Error::new("create", &whole, cause))
    }

    pub(crate) fn create_in(&self, above: &OwnedFd, name: &OsStr) -> rustix::io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let fd = openat(above, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, self.made.file)?;
        self.made.give(fd.as_fd())?;
        Ok(File::from(fd))
    }

    /// Opens a file for reading and appending, and makes it where it is missing. What is no
    /// regular file, or has a second name, is somebody else's and refused.
    pub fn append(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let file = self.open_file(name.as_ref(), OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        let wrong = |cause| Error::new("chown", &self.path.join(name.as_ref()), cause);
        // One that holds something already stays whose it is.
        if fstat(&file).map_err(wrong)?.st_size == 0 {
            self.made.give(file.as_fd()).map_err(wrong)?;
        }
        Ok(file)
    }

    /// Opens a file that exists for reading and appending.
    pub fn append_existing(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        self.open_file(name.as_ref(), OFlags::RDWR | OFlags::APPEND)
    }

    /// Opens a regular file for reading. It is never waited for, as one waits for a FIFO.
    pub fn read(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        self.open_file(name.as_ref(), OFlags::RDONLY)
    }

    fn open_file(&self, name: &Path, flags: OFlags) -> Result<File, Error> {
        let whole = self.path.join(name);
        let wrong = |cause: Errno| match cause {
            Errno::LOOP => {
                Error::refused("open", &whole, "it is a link, and none is followed here")
            }
            cause => Error::new("open", &whole, cause),
        };
        let (above, name) = self.above("open", name)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&above, name, flags, self.made.file).map_err(wrong)?;
        let found = fstat(&fd).map_err(wrong)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(Error::refused("open", &whole, "it is no regular file"));
        }
        // Reading changes nothing under any of its names, and copies are often made of links.
        if found.st_nlink > 1 && flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
            let why = "it has other names too, and would change under them";
            return Err(Error::refused("open", &whole, why));
        }
        Ok(File::from(fd))
    }

    /// Begins a file that takes the place of `name` when it is whole.
    pub fn draft(&self, name: impl AsRef<Path>) -> Result<Draft, Error> {
        let whole = self.path.join(name.as_ref());
        let (above, name) = self.above("write", name.as_ref())?;
        Draft::begin(self, above, name.to_owned(), whole)
    }

    /// Replaces a file whole: readers see the old bytes or the new ones, never a part, and after a
    /// crash one of the two is there.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
        let mut draft = self.draft(name.as_ref())?;
        let whole = self.path.join(name.as_ref());
        draft.write_all(bytes).map_err(|cause| Error::new("write", &whole, cause))?;
        draft.commit()
    }

    /// Makes a FIFO for this user alone and opens both its ends, without ever waiting.
    pub fn make_fifo(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let whole = self.path.join(name.as_ref());
        let wrong = |cause| Error::new("mkfifo", &whole, cause);
        let (above, name) = self.above("mkfifo", name.as_ref())?;
        mknodat(&above, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(wrong)?;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&above, name, flags, Mode::empty()).map_err(wrong)?;
        if FileType::from_raw_mode(fstat(&fd).map_err(wrong)?.st_mode) != FileType::Fifo {
            return Err(Error::refused("open", &whole, "somebody has exchanged it"));
        }
        Ok(File::from(fd))
    }

    /// Removes a name that is no directory: of a link the link, never what it points to. Says
    /// whether there was one.
    pub fn remove_file(&self, name: impl AsRef<Path>) -> Result<bool, Error> {
        self.remove("remove", name.as_ref(), AtFlags::empty())
    }

    /// Removes an empty directory. Says whether there was one.
    pub fn remove_dir(&self, name: impl AsRef<Path>) -> Result<bool, Error> {
        self.remove("rmdir", name.as_ref(), AtFlags::REMOVEDIR)
    }

    fn remove(&self, verb: &'static str, name: &Path, flags: AtFlags) -> Result<bool, Error> {
        let whole = self.path.join(name);
        let (above, name) = match self.above(verb, name) {
            Err(error) if error.is_missing() => return Ok(false),
            found => found?,
        };
        match unlinkat(&above, name, flags) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(cause) => Err(Error::new(verb, &whole, cause)),
        }
    }

    /// Gives something in this directory another name in it; what has that name is replaced.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), Error> {
        let whole = self.path.join(from.as_ref());
        let (old, from) = self.above("rename", from.as_ref())?;
        let (new, to) = self.above("rename", to.as_ref())?;
        renameat(&old, from, &new, to).map_err(|cause| Error::new("rename", &whole, cause))
    }

    /// Returns when the names in it are on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        fsync(&self.fd).map_err(|cause| Error::new("fsync", &self.path, cause))
    }

    /// The descriptor of the directory that holds `name`, and the last part of the name.
    pub(crate) fn above<'n>(
        &self,
        verb: &'static str,
        name: &'n Path,
    ) -> Result<(OwnedFd, &'n OsStr), Error> {
        let mut parts = parts(verb, &self.path, name)?;
        let Some(last) = parts.pop() else {
            return Err(Error::refused(verb, &self.path.join(name), "it names no file"));
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
            Errno::LOOP | Errno::NOTDIR => Error::new(verb, &whole(), Errno::NOTDIR)
                .with_hint(format!("`{}` is no directory; links are not followed", part.display())),
            cause => Error::new(verb, &whole(), cause),
        })
    }

    fn own(&self, verb: &'static str) -> Result<OwnedFd, Error> {
        self.fd.try_clone().map_err(|cause| Error::new(verb, &self.path, cause))
    }

    fn below(&self, fd: OwnedFd, name: &Path) -> Self {
        Self { fd, path: self.path.join(name), made: self.made }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The parts of a name that stays below its directory.
fn parts<'n>(verb: &'static str, dir: &Path, name: &'n Path) -> Result<Vec<&'n OsStr>, Error> {
    name.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(part) => Ok(part),
            _ => Err(Error::refused(verb, &dir.join(name), "the name leads out of its folder")),
        })
        .collect()
}

/// A name that nobody can have guessed.
pub(crate) fn unguessable(name: &OsStr) -> OsString {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // The keys of a RandomState come from the kernel's random numbers.
    let number = RandomState::new().build_hasher().finish();
    let mut draft = OsString::from(".");
    draft.push(name);
    draft.push(format!(".{number:016x}.draft"));
    draft
}
