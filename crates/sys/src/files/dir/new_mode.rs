//! Modes and owner of what is created in a directory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Dir as Listing, Mode, fchown, fstat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::files::caller::Caller;

/// Modes of new files and folders, and their owner.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewMode {
    pub(super) file: Mode,
    pub(super) dir: Mode,
    /// New files in a folder of this user are given to this user.
    pub(super) caller: Option<Caller>,
}

impl NewMode {
    /// Subject to the caller's umask.
    pub(super) const USUAL: Self =
        Self { file: Mode::from_raw_mode(0o666), dir: Mode::from_raw_mode(0o777), caller: None };

    /// For the owner only.
    pub(super) const PRIVATE: Self =
        Self { file: Mode::from_raw_mode(0o600), dir: Mode::from_raw_mode(0o700), caller: None };

    /// What root creates in a folder of the user who called sudo is given to that user.
    pub(super) fn give(&self, above: &OwnedFd, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let Some(caller) = self.caller else { return Ok(()) };
        match fstat(above)?.st_uid == caller.uid {
            true => fchown(fd, Some(caller.user()), Some(caller.group())),
            false => Ok(()),
        }
    }

    /// The same for a directory. Anyone who may rename in the folder may have swapped in another
    /// directory of root's since it was created, so only an empty one is given away.
    pub(super) fn give_dir(&self, above: &OwnedFd, fd: &OwnedFd) -> rustix::io::Result<()> {
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

pub(super) fn is_empty(directory: &OwnedFd) -> rustix::io::Result<bool> {
    for entry in Listing::read_from(directory)? {
        let name = entry?;
        if !matches!(name.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, chown};
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::*;
    use crate::files::Dir;

    const CALLER: Caller = Caller { uid: 1234, gid: 1234 };

    /// A folder of the user who called sudo, opened by root.
    fn folder_of_caller(temp: &Path) -> Option<Dir> {
        if !geteuid().is_root() {
            return None;
        }
        chown(temp, Some(CALLER.uid), Some(CALLER.gid)).unwrap();
        let dir = Dir::open(temp).unwrap();
        Some(Dir { mode: NewMode { caller: Some(CALLER), ..NewMode::USUAL }, ..dir })
    }

    #[test]
    fn only_what_root_creates_in_the_callers_folder_is_given_to_the_caller() {
        let temp = tempfile::tempdir().unwrap();
        let Some(dir) = folder_of_caller(temp.path()) else { return };
        drop(dir.create("file").unwrap());
        dir.make_dir("a/b").unwrap();
        fs::create_dir(temp.path().join("root")).unwrap();
        drop(dir.create("root/file").unwrap());
        let owner = |name: &str| temp.path().join(name).symlink_metadata().unwrap().uid();
        assert_eq!(["file", "a", "a/b"].map(owner), [CALLER.uid; 3]);
        assert_eq!(["root", "root/file"].map(owner), [0; 2]);
    }

    /// The caller may rename in the folder, which also holds a folder of root's.
    #[test]
    fn a_folder_swapped_during_creation_is_not_given_away() {
        let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let Some(dir) = folder_of_caller(temp.path()) else { return };
        let [new, roots] = ["new", "roots"].map(|name| temp.path().join(name));
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
                // The one with contents stays.
                for path in [&new, &roots] {
                    let _ = fs::remove_dir(path);
                }
            }
            stop.store(true, Ordering::Release);
        });
        assert!(count.load(Ordering::Relaxed) > 0, "no names were exchanged");
        let kept = [&new, &roots].into_iter().find(|path| path.join("secret").exists()).unwrap();
        assert_eq!(kept.metadata().unwrap().uid(), 0, "root's folder was given away");
    }
}
