//! The limit on open files of this process (setrlimit(2), RLIMIT_NOFILE).

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Resource, getrlimit, setrlimit};

/// The soft limit before it was raised; 0 if it was not.
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// Raises the soft limit to the hard one: many groups, sources and CPUs take a descriptor each.
/// Programs started in groups get the previous limit, since programs that use select(2) break beyond
/// 1024.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    let mut raised = limit;
    raised.current = limit.maximum;
    // If it is refused, only what needs many descriptors is unavailable.
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_ok() {
        BEFORE.store(current, Ordering::SeqCst);
    }
}

/// Restores the previous limit in a child. System calls only, for use between fork and exec.
pub(crate) fn restore_limit() {
    let before = BEFORE.load(Ordering::SeqCst);
    if before > 0 {
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = Some(before);
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
