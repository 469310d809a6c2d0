//! Waiting while nothing is to be done, without being deaf to whoever wants the load to end.

use std::time::Duration;

use assay_kernel::{clock, signal};

/// How long nobody has to wait for an answer to SIGINT.
const LONGEST_NS: u64 = 50_000_000;

/// Sleeps until `end` on CLOCK_MONOTONIC, in nanoseconds. Returns the signal that asked the load
/// to end, if one did, at once.
pub(crate) fn until(end: u64) -> Option<&'static str> {
    loop {
        if let Some(signal) = signal::interrupted_by() {
            return Some(signal);
        }
        let left = end.saturating_sub(clock::monotonic_ns());
        if left == 0 {
            return None;
        }
        std::thread::sleep(Duration::from_nanos(left.min(LONGEST_NS)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_as_long_as_it_was_to_be() {
        let began = clock::monotonic_ns();
        assert_eq!(until(began + 70_000_000), None);
        assert!(clock::monotonic_ns() - began >= 70_000_000);
        assert_eq!(until(0), None, "an end that is over is no reason to wait");
    }
}
