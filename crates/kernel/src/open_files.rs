//! How many files this process may have open (setrlimit(2), RLIMIT_NOFILE).

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Resource, getrlimit, setrlimit};

/// What the soft limit was before it was raised; 0 while it is as it was.
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// Raises the soft limit to the hard one: many groups, sources and CPUs take a descriptor each.
/// What this process starts in groups begins with what was there before, since programs that use
/// select(2) break beyond 1024.
pub fn raise_limit() {
    let found = getrlimit(Resource::Nofile);
    let Some(current) = found.current else { return };
    let mut wanted = found;
    wanted.current = found.maximum;
    // Where that is refused, all that is lost is what needs so many.
    if found.current != found.maximum && setrlimit(Resource::Nofile, wanted).is_ok() {
        BEFORE.store(current, Ordering::SeqCst);
    }
}

/// Sets the limit found in a child. System calls only, for between fork and exec.
pub(crate) fn restore_limit() {
    let before = BEFORE.load(Ordering::SeqCst);
    if before > 0 {
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = Some(before);
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
