//! The calls of a ledger: whether one is being made, for the thread that looks whether it hangs, and that it goes no further
//! once that thread restores the host in its place (`stand_in.rs`).

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// The ledgers, or directories of ledgers, whose calls have not returned: they are read or written, or their changes are made.
static CALLS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Whether the host is restored by another thread.
static REPLACED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// How many of the calls are this thread's.
    static OWN_CALLS: Cell<usize> = const { Cell::new(0) };
}

/// A call, until it returns. It begins and returns only if no other thread has replaced this one.
pub(super) struct Inside;

impl Inside {
    pub(super) fn of(place: &Path) -> Self {
        wait_if_replaced();
        calls().push(place.to_owned());
        OWN_CALLS.set(OWN_CALLS.get() + 1);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        wait_if_replaced();
        OWN_CALLS.set(OWN_CALLS.get() - 1);
        calls().pop();
    }
}

/// A moment within a call.
#[cfg_attr(test, expect(dead_code, reason = "the crash injector acts there"))]
pub(super) fn check_not_replaced() {
    if OWN_CALLS.get() > 0 {
        wait_if_replaced();
    }
}

/// The ledger, or directory of ledgers, of a call that has not returned.
pub(super) fn place() -> Option<PathBuf> {
    calls().last().cloned()
}

/// From now on calls go no further.
pub(super) fn replace() {
    REPLACED.store(true, Ordering::SeqCst);
}

/// Waits for the end of this process if another thread restores the host: otherwise both would restore the same, or this one
/// would end the process in the middle of it.
fn wait_if_replaced() {
    while REPLACED.load(Ordering::SeqCst) {
        sleep(Duration::from_secs(1));
    }
}

fn calls() -> MutexGuard<'static, Vec<PathBuf>> {
    // A panic elsewhere leaves no half of a path.
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}
