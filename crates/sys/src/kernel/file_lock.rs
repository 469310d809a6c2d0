//! File locks that end with their holder, require write access, and are waited for only up to a limit.
//!
//! They are locks of an open file description (fcntl(2), F_OFD_SETLK): only a descriptor for writing
//! can take one, while flock(2) works on any. A lock for reading still blocks one for writing, so a
//! lock file must not be readable for others either.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{major, minor};

use crate::kernel::bounded_query::BoundedQueries;
use crate::kernel::error::Error;
use crate::kernel::process::{PATIENCE, name};
use crate::kernel::root::Root;

/// Polling interval for a lock held by another process.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Locks `file`, open for writing, unless it is locked already; returns whether it is locked now. The
/// lock ends when the last descriptor of this opening is closed, in particular with the process.
pub fn try_lock(file: &File, path: &Path) -> Result<bool, Error> {
    // SAFETY: a zeroed flock is a valid one: from the start, of any length.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = libc::F_WRLCK as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the structure is read within the call, and the descriptor is that of an open file.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const request) };
    if answer == 0 {
        return Ok(true);
    }
    let cause = io::Error::last_os_error();
    match cause.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(Error::new("lock", path, &cause)),
    }
}

/// The same, retrying until `limit` has passed; the error then names the holder.
pub fn lock_within(file: &File, path: &Path, limit: Duration) -> Result<(), Error> {
    let end = Instant::now() + limit;
    while !try_lock(file, path)? {
        if Instant::now() >= end {
            let holder = holder(&Root::real(), file);
            let hint = format!("waited for {limit:?}: {}", holder.unwrap_or_else(unknown_holder));
            return Err(Error::unexpected("lock", path, hint));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn unknown_holder() -> String {
    "another process holds the lock, but it is not visible from here".to_owned()
}

/// Describes the process that holds a lock on `file`. Inspects all descriptors of all processes that
/// this one may inspect, so use it only for error messages.
#[must_use]
pub fn holder(root: &Root, file: &File) -> Option<String> {
    let metadata = file.metadata().ok()?;
    let (device, inode) = (metadata.dev(), metadata.ino());
    let lock_id = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let own = std::process::id();
    let same = Same {
        path: root.link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?,
        namespace: root.link("/proc/self/ns/mnt").ok()?,
        lock_id,
    };
    let mut queries = BoundedQueries::with_limit(PATIENCE);
    let mut is_holder = |pid: u32| {
        let (root, same) = (root.clone(), same.clone());
        pid != own && queries.run(pid, move || same.is_locked_by(&root, pid)).unwrap_or(false)
    };
    let processes = root.list("/proc").ok()?;
    let ids = processes.iter().filter_map(|entry| entry.parse::<u32>().ok());
    let holder = ids.into_iter().find(|pid| is_holder(*pid));
    holder.map(|pid| format!("{} holds the lock", name(root, pid)))
}

/// A lock, and how the links of a process show its file.
#[derive(Clone)]
struct Same {
    path: String,
    /// The mount namespace in which the path leads to it: in one of its own a process may give any file this path.
    namespace: String,
    lock_id: String,
}

impl Same {
    /// Reads fdinfo of that file only. The reader of others waits, beyond SIGKILL, for as long as a process likes: of an epoll instance
    /// until a file in it, on FUSE, has said whether it is ready (fs/eventpoll.c, `ep_show_fdinfo`).
    fn is_locked_by(&self, root: &Root, pid: u32) -> bool {
        let is = |link: &str, expected: &str| {
            root.link(format!("/proc/{pid}/{link}")).is_ok_and(|target| target == expected)
        };
        let descriptors = match is("ns/mnt", &self.namespace) {
            true => root.list(format!("/proc/{pid}/fd")).unwrap_or_default(),
            false => Vec::new(),
        };
        let mut own = descriptors.iter().filter(|name| is(&format!("fd/{name}"), &self.path));
        own.any(|descriptor| {
            let text = root.read(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
            let mut locks = text.lines().filter(|line| line.starts_with("lock:"));
            locks.any(|line| {
                // flock(2) is another kind of lock and does not conflict.
                !line.contains(" FLOCK ")
                    && line.split_whitespace().any(|word| word == self.lock_id)
            })
        })
    }
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
    fn a_read_only_descriptor_cannot_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let reader = File::open(file.path()).unwrap();
        assert!(try_lock(&reader, file.path()).is_err());
        rustix::fs::flock(&reader, rustix::fs::FlockOperation::LockExclusive).unwrap();
        assert!(try_lock(&open(file.path()), file.path()).unwrap(), "flock does not conflict");
    }

    #[test]
    fn a_timeout_names_the_holder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // A lock of the shell's own would be one of flock; perl takes a POSIX one.
        let script = "open(F, '+<', $ARGV[0]); my $l = pack('s s x4 q q i x4', 1, 0, 0, 0, 0); \
                      fcntl(F, 6, $l) or die; $| = 1; print \"held\\n\"; sleep 100";
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
