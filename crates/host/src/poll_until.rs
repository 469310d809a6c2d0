//! Bounded waits for the kernel to finish something.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_sys::kernel::signal;

/// Time limit for a killed process to end. It ends when its I/O has ended, which takes many seconds on
/// a disk that writes back gigabytes.
pub(crate) const END_OF_KILLED: Duration = Duration::from_secs(30);

/// Limit of each wait once one has timed out: whatever hangs blocks most of the rest too, in every
/// hierarchy, and waiting again and again would only delay the rest of the restore.
const ONCE_STUCK: Duration = Duration::from_secs(1);

/// Whether a wait of this process has timed out.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Polls `is_done` at growing intervals until it returns true or `limit` has passed. Returns whether it
/// did.
pub(crate) fn wait_until(limit: Duration, is_done: impl FnMut() -> bool) -> bool {
    wait_while(|elapsed| elapsed < limit, is_done)
}

/// The same for restoring a change: short once such a wait has timed out, and none at all after the
/// user's second Ctrl-C.
pub(crate) fn wait_for_end(limit: Duration, is_done: impl FnMut() -> bool) -> bool {
    let limit = if is_stuck() { limit.min(ONCE_STUCK) } else { limit };
    let ended = wait_while(|elapsed| elapsed < limit && !signal::interrupted_twice(), is_done);
    if !ended {
        shorten_waits();
    }
    ended
}

/// The time after which a process counts as frozen or hanging: much shorter once a wait has timed out, since
/// the same processes are met again in every hierarchy, and once more at the end.
pub(crate) fn once_stuck(usual: Duration) -> Duration {
    const AGAIN: Duration = Duration::from_millis(200);
    if is_stuck() { usual.min(AGAIN) } else { usual }
}

/// Whether a wait has timed out.
pub(crate) fn is_stuck() -> bool {
    STUCK.load(Ordering::Relaxed)
}

/// Something hangs: later waits of a restore are short.
pub(crate) fn shorten_waits() {
    STUCK.store(true, Ordering::Relaxed);
}

fn wait_while(goes_on: impl Fn(Duration) -> bool, mut is_done: impl FnMut() -> bool) -> bool {
    const SLOWEST: Duration = Duration::from_millis(50);
    let begun = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        if is_done() {
            return true;
        }
        if !goes_on(begun.elapsed()) {
            return false;
        }
        sleep(pause);
        pause = (pause * 2).min(SLOWEST);
    }
}
