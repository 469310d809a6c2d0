//! Interruptible sleep.

use std::time::Duration;

use assay_sys::kernel::{clock, signal};

/// Longest delay until SIGINT is noticed.
const POLL_NS: u64 = 50_000_000;

/// Sleeps until `end` on CLOCK_MONOTONIC, in nanoseconds. Returns early if a signal asked the load
/// to end, with that signal.
pub(crate) fn until(end: u64) -> Option<&'static str> {
    loop {
        if let Some(signal) = signal::interrupted_by() {
            return Some(signal);
        }
        let remaining = end.saturating_sub(clock::monotonic_ns());
        if remaining == 0 {
            return None;
        }
        std::thread::sleep(Duration::from_nanos(remaining.min(POLL_NS)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_until_the_given_time() {
        let began = clock::monotonic_ns();
        assert_eq!(until(began + 70_000_000), None);
        assert!(clock::monotonic_ns() - began >= 70_000_000);
        assert_eq!(until(0), None, "a time in the past returns at once");
    }
}
