//! File system operations missing in the standard library: free space, write access, flock(2) and
//! sync(2).

use std::fs::File;
use std::path::Path;
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, FlockOperation, StatVfs, accessat, flock, statvfs};
use rustix::io::Errno;

use crate::kernel::error::Error;

/// Bytes available to an unprivileged writer in the file system at `path`.
pub fn free_space(path: &Path) -> Result<u64, Error> {
    let stat: StatVfs =
        statvfs(path).map_err(|cause| Error::new("statvfs", path, &cause.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Whether this process, with its effective ids, may write to the file or create entries in the
/// directory. A read-only mount counts as no, also for root.
#[must_use]
pub fn may_write(path: &Path) -> bool {
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Locks `file` (flock(2)) unless it is locked already; returns whether it is locked now. The lock ends when the last
/// descriptor of this opening is closed, in particular with the process.
pub fn try_lock(file: &File, path: &Path) -> Result<bool, Error> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(cause) => Err(Error::new("lock", path, &cause.into())),
    }
}

/// Writes every dirty page of the host to its disk (sync(2)); returns whether it finished before
/// `goes_on` returned false. One hanging disk makes sync(2) hang: then its thread is abandoned. Without room for a thread
/// nothing is written.
#[must_use]
pub fn sync_all(mut goes_on: impl FnMut(Duration) -> bool) -> bool {
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    let begun = Instant::now();
    let Ok(thread) = Builder::new().spawn(rustix::fs::sync) else { return false };
    while !thread.is_finished() {
        if !goes_on(begun.elapsed()) {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
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
    fn a_sync_that_takes_too_long_is_abandoned() {
        assert!(sync_all(|_| true));
        let mut polls = 0;
        let in_time = sync_all(|_| {
            polls += 1;
            false
        });
        assert_eq!(in_time, polls == 0);
    }

    #[test]
    fn free_space_is_that_of_the_file_system() {
        let directory = tempfile::tempdir().unwrap();
        assert!(free_space(directory.path()).unwrap() > 0);
        assert!(free_space(Path::new("/nonexistent")).is_err());
    }
}
