//! An open directory, and what may be done below it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir as Listing, FileType, Mode, OFlags, fchmod, fchown, fstat, fsync, mkdirat,
    mknodat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::draft::Draft;
use crate::error::Error;
use crate::owner::Caller;
use crate::tree::Identity;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

pub(crate) const PASSAGE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

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
    /// Whose it becomes in a folder of that user's.
    caller: Option<Caller>,
}

impl Made {
    /// As the caller's umask has it.
    const USUAL: Self =
        Self { file: Mode::from_raw_mode(0o666), dir: Mode::from_raw_mode(0o777), caller: None };

    /// For the owner alone.
    const PRIVATE: Self =
        Self { file: Mode::from_raw_mode(0o600), dir: Mode::from_raw_mode(0o700), caller: None };

    /// What root makes in a folder of the user who called sudo is that user's.
    fn give(&self, above: &OwnedFd, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let Some(caller) = self.caller else { return Ok(()) };
        match fstat(above)?.st_uid == caller.uid {
            true => fchown(fd, Some(caller.user()), Some(caller.group())),
            false => Ok(()),
        }
    }

    /// The same for a directory. Who may rename in the folder has perhaps put another one of ours
    /// into its place since it was made: only an empty one is given away.
    fn give_dir(&self, above: &OwnedFd, fd: &OwnedFd) -> rustix::io::Result<()> {
        if self.caller.is_none() {
            return Ok(());
        }
        let is_own = fstat(fd)?.st_uid == geteuid().as_raw();
        match is_own && is_empty(fd)? {
            true => self.give(above, fd.as_fd()),
            false => Err(Errno::NOTEMPTY),
        }
    }
}

fn is_empty(directory: &OwnedFd) -> rustix::io::Result<bool> {
    for entry in Listing::read_from(directory)? {
        let name = entry?;
        if !matches!(name.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Dir {
    /// Opens a directory that the user named. Links in this path are the user's own and are
    /// followed; below it none is. What root makes in a folder of the user who called sudo is that
    /// user's.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let named = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let fd = openat(CWD, named, DIRECTORY, Mode::empty())
            .map_err(|cause| Error::new("open", path, cause))?;
        let made = Made { caller: Caller::of_sudo(), ..Made::USUAL };
        Ok(Self { fd, path: path.to_owned(), made })
    }

    /// Opens a directory by a path in which no link is followed, not even above it.
    pub fn open_no_follow(path: &Path) -> Result<Self, Error> {
        Self::open(Path::new("/"))?.dir(path.strip_prefix("/").unwrap_or(path))
    }

    /// A directory that is open only to lead on, at this place.
    pub(crate) fn over(passage: &OwnedFd, path: PathBuf) -> Result<Self, Error> {
        let fd = openat(passage, ".", DIRECTORY, Mode::empty())
            .map_err(|cause| Error::new("open", &path, cause))?;
        Ok(Self { fd, path, made: Made { caller: Caller::of_sudo(), ..Made::USUAL } })
    }

    /// Opens a directory that the user named, and makes it with those above it where they are
    /// missing.
    pub fn make_all(path: &Path) -> Result<Self, Error> {
        Self::make_all_for(path, Made { caller: Caller::of_sudo(), ..Made::USUAL })
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

    /// The same directory, where what is made in it stays this process's own, whosever it is.
    #[must_use]
    pub fn keeping(self) -> Self {
        Self { made: Made { caller: None, ..self.made }, ..self }
    }

    /// Where it lies at this moment, without links.
    pub fn place(&self) -> Result<PathBuf, Error> {
        std::fs::read_link(self.here()).map_err(|cause| Error::new("find", &self.path, cause))
    }

    /// The directory that it lies in at this moment, whatever was above its name when it was opened.
    pub fn around(&self) -> Result<Self, Error> {
        let wrong = |cause| Error::new("open", &self.path, cause);
        let fd = openat(&self.fd, "..", DIRECTORY, Mode::empty()).map_err(wrong)?;
        let around = Self { fd, path: PathBuf::new(), made: self.made };
        Ok(Self { path: around.place()?, ..around })
    }

    /// Lets nobody but the owner in.
    pub fn keep_to_owner(&self) -> Result<(), Error> {
        let wrong = |cause| Error::new("chmod", &self.path, cause);
        match fstat(&self.fd).map_err(wrong)?.st_mode & 0o077 {
            0 => Ok(()),
            _ => fchmod(&self.fd, Made::PRIVATE.dir).map_err(wrong),
        }
    }

    /// Gives it, without what is in it, to a user.
    pub fn hand_over(&self, to: Caller) -> Result<(), Error> {
        fchown(&self.fd, Some(to.user()), Some(to.group()))
            .map_err(|cause| Error::new("chown", &self.path, cause))
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> Result<bool, Error> {
        is_empty(&self.fd).map_err(|cause| Error::new("list", &self.path, cause))
    }

    /// A name for this very directory, wherever it lies by now: for this process, and for what it
    /// starts until that is another program.
    #[must_use]
    pub fn here(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
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
            let inner = self.enter("make", name, &fd, part, DIRECTORY)?;
            let above = std::mem::replace(&mut fd, inner);
            if made {
                let given = self.made.give_dir(&above, &fd);
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
        self.made.give_dir(&above, &fd).map_err(|cause| Error::new("chown", &whole, cause))?;
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
        self.made.give(above, fd.as_fd())?;
        Ok(File::from(fd))
    }

    /// Opens a file for reading and appending, and makes it where it is missing. What is no
    /// regular file, or has a second name, is somebody else's and refused.
    pub fn append(&self, name: impl AsRef<Path>) -> Result<File, Error> {
        let file = self.open_file(name.as_ref(), OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        let wrong = |cause| Error::new("chown", &self.path.join(name.as_ref()), cause);
        // One that holds something already stays whose it is.
        if self.made.caller.is_some() && fstat(&file).map_err(wrong)?.st_size == 0 {
            let (above, _) = self.above("chown", name.as_ref())?;
            self.made.give(&above, file.as_fd()).map_err(wrong)?;
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
                    .with_hint("put the file itself there, if you know where the link leads")
            }
            cause => Error::new("open", &whole, cause),
        };
        let (above, name) = self.above("open", name)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&above, name, flags, self.made.file).map_err(wrong)?;
        let found = fstat(&fd).map_err(wrong)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(Error::refused("open", &whole, "it is no regular file")
                .with_hint("look what put it there, and remove it"));
        }
        // Reading changes nothing under any of its names, and copies are often made of links.
        if found.st_nlink > 1 && flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
            let why = "it has other names too, and would change under them";
            return Err(Error::refused("open", &whole, why)
                .with_hint("remove it, or put a copy in its place"));
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, chown};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use rustix::fs::{RenameFlags, renameat_with};

    use super::*;

    const CALLER: Caller = Caller { uid: 1234, gid: 1234 };

    /// A folder of the user who called sudo, as root has it open.
    fn folder_of_caller(place: &Path) -> Option<Dir> {
        if !geteuid().is_root() {
            return None;
        }
        chown(place, Some(CALLER.uid), Some(CALLER.gid)).unwrap();
        let dir = Dir::open(place).unwrap();
        Some(Dir { made: Made { caller: Some(CALLER), ..Made::USUAL }, ..dir })
    }

    #[test]
    fn what_root_makes_in_a_folder_of_the_caller_is_the_caller_s_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let Some(dir) = folder_of_caller(place.path()) else { return };
        drop(dir.create("file").unwrap());
        dir.make_dir("a/b").unwrap();
        fs::create_dir(place.path().join("root")).unwrap();
        drop(dir.create("root/file").unwrap());
        let owner = |name: &str| place.path().join(name).symlink_metadata().unwrap().uid();
        assert_eq!(["file", "a", "a/b"].map(owner), [CALLER.uid; 3]);
        assert_eq!(["root", "root/file"].map(owner), [0; 2]);
    }

    /// The caller may rename in the folder, and root's own folder lies there too.
    #[test]
    fn a_folder_that_is_exchanged_as_it_is_made_is_not_given_away() {
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let Some(dir) = folder_of_caller(place.path()) else { return };
        let [new, roots] = ["new", "roots"].map(|name| place.path().join(name));
        fs::create_dir(&roots).unwrap();
        fs::write(roots.join("secret"), "root's").unwrap();
        let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Acquire) {
                    let done = renameat_with(CWD, &new, CWD, &roots, RenameFlags::EXCHANGE);
                    count.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
                }
            });
            for _ in 0..12_000 {
                let _ = dir.make_new_dir("new");
                // The one with something in it stays.
                for path in [&new, &roots] {
                    let _ = fs::remove_dir(path);
                }
            }
            stop.store(true, Ordering::Release);
        });
        assert!(count.load(Ordering::Relaxed) > 0, "nothing was exchanged");
        let kept = [&new, &roots].into_iter().find(|path| path.join("secret").exists()).unwrap();
        assert_eq!(kept.metadata().unwrap().uid(), 0, "root's folder was given away");
    }
}
