//! Which process writes to files of a file system, as the kernel reports it (fanotify(7)). Needs CAP_SYS_ADMIN.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kernel::error::Error;
use crate::kernel::root::FileId;

/// A write to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A process has written to a file. The process is 0 if it is in another PID namespace.
    Written {
        /// Which file.
        file: FileId,
        /// The process, as this one sees it.
        process: u32,
    },
    /// Notices were dropped: too many waited to be read, or one could not be read.
    Lost,
}

/// Notices of all writes to some file systems, from when it was made.
#[derive(Debug)]
pub struct WriteNotices {
    notices: File,
    buffer: Vec<u8>,
}

/// Where errors of the descriptor itself are located.
const NAME: &str = "fanotify";

impl WriteNotices {
    /// Asks for notices of the file systems on which these paths lie.
    ///
    /// # Errors
    /// The user may not, or the kernel has no fanotify.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
        // A descriptor comes with each notice. O_NONBLOCK so that opening waits for nobody.
        let event_flags = (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK) as u32;
        // SAFETY: fanotify_init takes numbers only, and the descriptor that it returns belongs to nobody else.
        let notices = unsafe {
            let descriptor = libc::fanotify_init(flags, event_flags);
            if descriptor < 0 {
                let cause = io::Error::last_os_error();
                return Err(Error::new("ask for notices of writes by", Path::new(NAME), &cause));
            }
            File::from(OwnedFd::from_raw_fd(descriptor))
        };
        let mut opened = Self { notices, buffer: vec![0; 64 << 10] };
        for path in paths {
            opened.mark(path).map_err(|cause| Error::new("fanotify_mark", path, &cause))?;
        }
        Ok(opened)
    }

    fn mark(&mut self, path: &Path) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let name = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
        let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
        // SAFETY: the descriptor and the text live through the call, which keeps neither.
        let failed = unsafe {
            libc::fanotify_mark(
                self.notices.as_raw_fd(),
                flags,
                libc::FAN_MODIFY,
                libc::AT_FDCWD,
                name.as_ptr(),
            )
        };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until there is a notice; returns whether one came within `limit`. A signal ends the wait.
    ///
    /// # Errors
    /// poll(2) fails.
    pub fn wait(&self, limit: Duration) -> Result<bool, Error> {
        let mut polled = [PollFd::new(&self.notices, PollFlags::IN)];
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        match poll(&mut polled, Some(&limit)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(cause) => Err(Error::new("poll", Path::new(NAME), &cause.into())),
        }
    }

    /// The notices that wait, at most some hundred; `None` if none wait.
    pub fn read(&mut self) -> Option<Vec<Notice>> {
        let length = match self.notices.read(&mut self.buffer) {
            Ok(length) => length,
            Err(cause) => return of_failure(&cause),
        };
        let mut rest = self.buffer.get(..length).unwrap_or_default();
        let mut notices = Vec::new();
        while let Some((notice, length)) = parse(rest) {
            notices.extend(notice.resolved());
            rest = rest.get(length..).unwrap_or_default();
        }
        Some(notices)
    }
}

/// What a failed reading means. Only one error says that nothing waits; with any other, such as that of too many open
/// descriptors, the kernel drops the notice that it could not hand over.
fn of_failure(cause: &io::Error) -> Option<Vec<Notice>> {
    match cause.kind() {
        io::ErrorKind::WouldBlock => None,
        _ => Some(vec![Notice::Lost]),
    }
}

/// A record of the kernel: fanotify_event_metadata.
struct Record {
    mask: u64,
    descriptor: i32,
    process: i32,
}

const RECORD: usize = size_of::<libc::fanotify_event_metadata>();

/// The first record of some bytes, and its length.
fn parse(bytes: &[u8]) -> Option<(Record, usize)> {
    let number = |at: usize| Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let length = usize::try_from(number(0)?).ok().filter(|length| *length >= RECORD)?;
    let mask = u64::from_ne_bytes(bytes.get(8..16)?.try_into().ok()?);
    Some((Record { mask, descriptor: number(16)?, process: number(20)? }, length))
}

impl Record {
    /// Closes its descriptor too.
    fn resolved(&self) -> Option<Notice> {
        if self.mask & libc::FAN_Q_OVERFLOW != 0 {
            return Some(Notice::Lost);
        }
        if self.descriptor < 0 {
            return None;
        }
        // SAFETY: the kernel opened the descriptor for this notice, which is read once.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(self.descriptor) });
        let about = file.metadata().ok()?;
        let process = u32::try_from(self.process).unwrap_or(0);
        Some(Notice::Written { file: (about.dev(), about.ino()), process })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::root::Root;

    #[test]
    fn a_write_names_the_file_and_its_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "1").unwrap();
        let mut notices = match WriteNotices::open(&[folder.path().to_owned()]) {
            Err(error) if error.is(rustix::io::Errno::PERM) => return,
            opened => opened.unwrap(),
        };
        std::fs::write(&path, "2").unwrap();
        let own = Root::real().file_id(&path).unwrap();
        let expected = Notice::Written { file: own, process: std::process::id() };
        let until = std::time::Instant::now() + Duration::from_secs(10);
        // Others write to this file system too.
        while std::time::Instant::now() < until {
            let is_there = notices.wait(Duration::from_secs(1)).unwrap();
            if is_there && notices.read().is_some_and(|read| read.contains(&expected)) {
                return;
            }
        }
        panic!("no notice of the write");
    }

    #[test]
    fn only_one_error_means_that_nothing_waits() {
        assert_eq!(of_failure(&io::Error::from_raw_os_error(libc::EAGAIN)), None);
        for errno in [libc::EMFILE, libc::ENFILE, libc::EACCES, libc::ESTALE, libc::ENOMEM] {
            let cause = io::Error::from_raw_os_error(errno);
            assert_eq!(of_failure(&cause), Some(vec![Notice::Lost]), "{cause}");
        }
    }

    #[test]
    fn a_truncated_record_is_none() {
        let mut bytes = [0_u8; RECORD];
        bytes[0] = RECORD as u8;
        bytes[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert!(
            parse(&bytes)
                .is_some_and(|(record, length)| record.resolved().is_none() && length == RECORD)
        );
        assert!(parse(&bytes[..RECORD - 1]).is_none());
        bytes[0] = 1;
        assert!(parse(&bytes).is_none());
    }
}
