//! The event generator: produces events at a fixed rate, which limits consume.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use assay_sys::kernel::clock;

/// Events are capped at the number produced in this many seconds.
const DEPTH_SECONDS: u64 = 5;
const SECOND: u64 = 1_000_000_000;

/// Events not consumed yet.
#[derive(Debug)]
pub(super) struct Events {
    rate: Option<u64>,
    queue: Mutex<u64>,
    more: Condvar,
}

impl Events {
    pub(super) fn new(rate: Option<u64>) -> Self {
        Self { rate, queue: Mutex::new(0), more: Condvar::new() }
    }

    /// Whether the event rate is limited.
    pub(super) fn enabled(&self) -> bool {
        self.rate.is_some()
    }

    /// Produces events until `stopping`. Sleeps ten periods at a time, as filebench does, but no
    /// more than a tenth of a second, so that it ends with the run.
    pub(super) fn generate(&self, stopping: impl Fn() -> bool) {
        let Some(rate) = self.rate else { return };
        let nap = (10 * (SECOND / rate.min(SECOND))).clamp(1_000, SECOND / 10);
        let mut last = clock::monotonic_ns();
        while !stopping() {
            std::thread::sleep(Duration::from_nanos(nap));
            let now = clock::monotonic_ns();
            let produced = (u128::from(rate) * u128::from(now - last) / u128::from(SECOND)) as u64;
            if produced == 0 {
                continue;
            }
            last = now;
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if *queue < DEPTH_SECONDS * rate {
                *queue += produced;
            }
            // Waiters need different amounts, so notifying a single one may not help.
            self.more.notify_all();
        }
    }

    /// Consumes `count` events, waiting for them; false if the run ends first.
    pub(super) fn consume(&self, count: u64, stopping: impl Fn() -> bool) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        while *queue < count {
            if stopping() {
                return false;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        *queue -= count;
        true
    }

    /// Wakes all waiters, so that they notice the end of the run.
    pub(super) fn wake(&self) {
        let _queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.more.notify_all();
    }
}
