//! Waiting for the kernel to finish what it has begun.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a process that was killed may take to end. It ends when its I/O has ended, which on a
/// disk that writes gigabytes back takes many seconds.
pub(crate) const END_OF_KILLED: Duration = Duration::from_secs(30);

/// Asks `done` again and again, more and more slowly, until it says yes or `limit` has passed.
/// Says whether it said yes.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    const SLOWEST: Duration = Duration::from_millis(50);
    let end = Instant::now() + limit;
    let mut pause = Duration::from_micros(500);
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        sleep(pause);
        pause = (pause * 2).min(SLOWEST);
    }
}
