//! What the standard library does not say of files: free space, and locks that end with their
//! holder.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, FlockOperation, StatVfs, accessat, flock, statvfs};
use rustix::io::Errno;

use crate::error::Error;

/// Bytes that an unprivileged writer may still fill in the file system at `path`.
pub fn free_space(path: &Path) -> Result<u64, Error> {
    let found: StatVfs =
        statvfs(path).map_err(|cause| Error::new("statvfs", path, &cause.into()))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Whether this process, with the rights that count for what it does, may write to the file or
/// make entries in the directory. A read-only mount counts as no, also for root.
#[must_use]
pub fn may_write(path: &Path) -> bool {
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Locks `file` (flock(2)) and waits for it as long as it takes. The lock ends when the last
/// descriptor of this opening is closed, in particular with the process.
pub fn lock(file: &File, path: &Path) -> Result<(), Error> {
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            done => return done.map_err(|cause| Error::new("lock", path, &cause.into())),
        }
    }
}

/// Locks `file` if nobody else has; says whether it is locked now.
pub fn try_lock(file: &File, path: &Path) -> Result<bool, Error> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(cause) => Err(Error::new("lock", path, &cause.into())),
    }
}

/// Writes every dirty page of the host to its disk (sync(2)) and says whether that was done before
/// `goes_on` said no. One disk that hangs makes sync(2) hang: then its thread is left behind.
#[must_use]
pub fn sync_all(mut goes_on: impl FnMut(Duration) -> bool) -> bool {
    const LOOK: Duration = Duration::from_millis(20);
    let begun = Instant::now();
    let done = std::thread::spawn(rustix::fs::sync);
    while !done.is_finished() {
        if !goes_on(begun.elapsed()) {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_holds_against_another_opening_and_ends_with_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let first = File::open(file.path()).unwrap();
        let second = File::open(file.path()).unwrap();
        assert!(try_lock(&first, file.path()).unwrap());
        assert!(!try_lock(&second, file.path()).unwrap());
        drop(first);
        assert!(try_lock(&second, file.path()).unwrap());
    }

    #[test]
    fn a_sync_that_takes_too_long_is_left_behind() {
        assert!(sync_all(|_| true));
        let mut looks = 0;
        let in_time = sync_all(|_| {
            looks += 1;
            false
        });
        assert_eq!(in_time, looks == 0);
    }

    #[test]
    fn free_space_of_a_directory_is_that_of_its_file_system() {
        let directory = tempfile::tempdir().unwrap();
        assert!(free_space(directory.path()).unwrap() > 0);
        assert!(free_space(Path::new("/nonexistent")).is_err());
    }
}
