//! Locks on files that end with their holder, taken by none that may only read the file, and never
//! waited for without end.
//!
//! They are locks of an open file description (fcntl(2), F_OFD_SETLK): only a descriptor for
//! writing can take one, while flock(2) takes any. A lock for reading still stands in the way of one
//! for writing, so a file to be locked must not be readable for others either.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{major, minor};

use crate::error::Error;
use crate::process::name;
use crate::root::Root;

/// How often a lock that is held is asked for again.
const LOOK: Duration = Duration::from_millis(20);

/// Locks `file`, open for writing, if nobody else has; says whether it is locked now. The lock ends
/// when the last descriptor of this opening is closed, in particular with the process.
pub fn try_lock(file: &File, path: &Path) -> Result<bool, Error> {
    // SAFETY: a zeroed flock is a valid one: from the start, of any length.
    let mut wanted: libc::flock = unsafe { std::mem::zeroed() };
    wanted.l_type = libc::F_WRLCK as libc::c_short;
    wanted.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the structure is read within the call, and the descriptor is that of an open file.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const wanted) };
    if answer == 0 {
        return Ok(true);
    }
    let cause = io::Error::last_os_error();
    match cause.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(Error::new("lock", path, &cause)),
    }
}

/// The same, asking again until `limit` has passed; who holds it then is named.
pub fn lock_within(file: &File, path: &Path, limit: Duration) -> Result<(), Error> {
    let end = Instant::now() + limit;
    while !try_lock(file, path)? {
        if Instant::now() >= end {
            let holder = holder(&Root::real(), file);
            let hint = format!("waited for {limit:?}: {}", holder.unwrap_or_else(nobody_seen));
            return Err(Error::unexpected("lock", path, hint));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn nobody_seen() -> String {
    "another process holds the lock, and none is seen to from here".to_owned()
}

/// Who holds a lock on `file`, in words: process, name and start. Looks at all descriptors of all
/// processes that this one may look at (/proc/PID/fdinfo), so it is for errors alone.
#[must_use]
pub fn holder(root: &Root, file: &File) -> Option<String> {
    let found = file.metadata().ok()?;
    let (device, inode) = (found.dev(), found.ino());
    let place = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let own = std::process::id();
    let processes = root.list("/proc").ok()?;
    let ids = processes.iter().filter_map(|entry| entry.parse::<u32>().ok());
    let mut holders = ids.filter(|pid| *pid != own && holds(root, *pid, &place));
    holders.next().map(|pid| format!("{} holds the lock", name(root, pid)))
}

fn holds(root: &Root, pid: u32, place: &str) -> bool {
    let descriptors = root.list(format!("/proc/{pid}/fdinfo")).unwrap_or_default();
    descriptors.iter().any(|descriptor| {
        let text = root.read(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
        let mut locks = text.lines().filter(|line| line.starts_with("lock:"));
        locks.any(|line| {
            // flock(2) is another kind of lock and stands in nobody's way.
            !line.contains(" FLOCK ") && line.split_whitespace().any(|word| word == place)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> File {
        File::options().read(true).write(true).open(path).unwrap()
    }

    #[test]
    fn a_lock_holds_against_another_opening_and_ends_with_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (first, second) = (open(file.path()), open(file.path()));
        assert!(try_lock(&first, file.path()).unwrap());
        assert!(!try_lock(&second, file.path()).unwrap());
        drop(first);
        assert!(try_lock(&second, file.path()).unwrap());
    }

    #[test]
    fn who_may_only_read_takes_no_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let reader = File::open(file.path()).unwrap();
        assert!(try_lock(&reader, file.path()).is_err());
        rustix::fs::flock(&reader, rustix::fs::FlockOperation::LockExclusive).unwrap();
        assert!(try_lock(&open(file.path()), file.path()).unwrap(), "flock stands in no way");
    }

    #[test]
    fn a_wait_ends_and_names_the_holder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // A lock of the shell's own would be one of flock; perl asks for one of a process.
        let script = "open(F, '+<', $ARGV[0]); fcntl(F, 6, pack('s s x4 q q i x4', 1, 0, 0, 0, 0)); \
                      $| = 1; print \"held\\n\"; sleep 100";
        let mut child = std::process::Command::new("perl")
            .args(["-e", script])
            .arg(file.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        io::BufRead::read_line(&mut io::BufReader::new(output), &mut line).unwrap();
        let begun = Instant::now();
        let limit = Duration::from_millis(100);
        let error = lock_within(&open(file.path()), file.path(), limit).unwrap_err().to_string();
        let whole = begun.elapsed();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(error.contains(&format!("process {} (perl)", child.id())), "{error}");
        assert!(whole < Duration::from_secs(5), "{whole:?}");
    }
}
