//! Processes that a process makes of itself, without a program of their own.

use std::path::Path;

use crate::error::Error;

/// Which of the two a process is after fork(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// The one that was there; with the id of the new one.
    Parent(u32),
    /// The new one.
    Child,
}

/// Makes a copy of the calling process (fork(2)). Only for a process with one thread: in the
/// copy of another one, locks that other threads held would never be opened again.
pub fn fork() -> Result<Forked, Error> {
    let path = Path::new("/proc/self");
    if threads_of_self() != Some(1) {
        return Err(Error::unexpected("fork", path, "this process has more than one thread"));
    }
    // SAFETY: the process has one thread (checked above), so the child's memory is consistent.
    match unsafe { libc::fork() } {
        -1 => Err(Error::new("fork", path, &std::io::Error::last_os_error())),
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent(u32::try_from(child).unwrap_or(0))),
    }
}

/// Ends the calling process without running anything that was to run at its end, as a forked
/// child must: what the parent's end would write is the parent's to write.
pub fn end_at_once(code: i32) -> ! {
    // SAFETY: _exit(2) takes any code and touches no memory.
    unsafe { libc::_exit(code) }
}

/// From now on children of this process vanish when they end, and need not be waited for.
pub fn forget_children() {
    // SAFETY: SIG_IGN is a valid disposition for SIGCHLD (sigaction(2), "SA_NOCLDWAIT").
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
}

fn threads_of_self() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}
