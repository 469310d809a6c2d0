//! Waiting for the kernel to finish what it has begun.

use std::thread::sleep;
use std::time::{Duration, Instant};

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
