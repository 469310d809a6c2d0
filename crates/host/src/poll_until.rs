//! Waiting for the kernel to finish what it has begun. Every wait has an end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_kernel::signal;

/// How long a process that was killed may take to end. It ends when its I/O has ended, which on a
/// disk that writes gigabytes back takes many seconds.
pub(crate) const END_OF_KILLED: Duration = Duration::from_secs(30);

/// How long each wait may take once one has run out: what hangs holds most of the rest, in every
/// hierarchy, and the rest of the host does not get back by waiting for it again and again.
const ONCE_STUCK: Duration = Duration::from_secs(1);

/// Whether a wait of this process has run out.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Asks `done` again and again, more and more slowly, until it says yes or `limit` has passed.
/// Says whether it said yes.
pub(crate) fn wait_until(limit: Duration, done: impl FnMut() -> bool) -> bool {
    wait_while(|elapsed| elapsed < limit, done)
}

/// The same for what takes a change of the host back: short once such a wait has run out, and none
/// at all when the user has pressed Ctrl-C a second time.
pub(crate) fn wait_for_end(limit: Duration, done: impl FnMut() -> bool) -> bool {
    let limit = if STUCK.load(Ordering::Relaxed) { limit.min(ONCE_STUCK) } else { limit };
    let ended = wait_while(|elapsed| elapsed < limit && !signal::insisted(), done);
    if !ended {
        wait_no_more();
    }
    ended
}

/// Something hangs: later waits for what takes a change back are short.
pub(crate) fn wait_no_more() {
    STUCK.store(true, Ordering::Relaxed);
}

fn wait_while(goes_on: impl Fn(Duration) -> bool, mut done: impl FnMut() -> bool) -> bool {
    const SLOWEST: Duration = Duration::from_millis(50);
    let begun = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        if done() {
            return true;
        }
        if !goes_on(begun.elapsed()) {
            return false;
        }
        sleep(pause);
        pause = (pause * 2).min(SLOWEST);
    }
}
