//! fork(2) without exec.

use std::path::Path;

use crate::kernel::error::Error;

/// The two sides of fork(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// The original process, with the id of the child.
    Parent(u32),
    /// The new process.
    Child,
}

/// Copies the calling process (fork(2)). Only for a process with one thread: in the copy of another
/// one, locks that other threads held would never be released.
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

/// Ends the calling process without running exit handlers, as a forked child must: buffered output
/// belongs to the parent.
pub fn exit_immediately(code: i32) -> ! {
    // SAFETY: _exit(2) takes any code and touches no memory.
    unsafe { libc::_exit(code) }
}

/// From now on children of this process are reaped automatically when they end.
pub fn auto_reap_children() {
    // SAFETY: SIG_IGN is a valid disposition for SIGCHLD (sigaction(2), "SA_NOCLDWAIT").
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
}

fn threads_of_self() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}
