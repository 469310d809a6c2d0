//! Where the threads of a region meet. It spins first, since the levels of a search are
//! microseconds apart, and sleeps when that takes long, since the machine may be shared.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks before sleeping: some tens of microseconds.
const PATIENCE: u32 = 4096;

/// A barrier for a fixed number of threads, to be used again and again.
pub(super) struct Barrier {
    size: usize,
    arrived: AtomicUsize,
    /// How often all have met; a thread waits for it to change.
    meetings: AtomicUsize,
    broken: AtomicBool,
    sleep: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    pub(super) fn of(size: usize) -> Self {
        Self {
            size,
            arrived: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Waits for all the others. When one of them has panicked this one ends too, because it
    /// would wait for ever.
    pub(super) fn wait(&self) {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.arrived.store(0, Ordering::Relaxed);
            self.open(|| self.meetings.store(meeting.wrapping_add(1), Ordering::Release));
            return;
        }
        let closed = || {
            self.meetings.load(Ordering::Acquire) == meeting && !self.broken.load(Ordering::Acquire)
        };
        let mut looks = 0;
        while closed() && looks < PATIENCE {
            spin_loop();
            looks += 1;
        }
        if closed() {
            let guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.wake.wait_while(guard, |()| closed()));
        }
        if self.broken.load(Ordering::Acquire) {
            std::panic::resume_unwind(Box::new("another thread of the team has failed"));
        }
    }

    /// Changes what sleepers wait for; under the lock, so that none misses it.
    fn open(&self, change: impl FnOnce()) {
        let _guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        change();
        self.wake.notify_all();
    }

    /// A guard that breaks the barrier when it is dropped by a panic.
    pub(super) fn broken_by_panic(&self) -> impl Drop + '_ {
        Guard(self)
    }
}

struct Guard<'b>(&'b Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.open(|| self.0.broken.store(true, Ordering::Release));
        }
    }
}
