//! The barrier of a parallel region. It spins first, since the levels of a search are microseconds
//! apart, and sleeps if that takes long, since the CPUs may be shared with others.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Iterations before sleeping: some tens of microseconds.
const MAX_SPINS: u32 = 4096;

/// A reusable barrier for a fixed number of threads.
pub(super) struct Barrier {
    size: usize,
    arrived: AtomicUsize,
    /// Generation of the barrier; waiting threads watch it for a change.
    generation: AtomicUsize,
    broken: AtomicBool,
    sleep: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    pub(super) fn new(size: usize) -> Self {
        Self {
            size,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Waits for all other threads. If one of them has panicked, this one panics too instead of
    /// waiting for ever.
    pub(super) fn wait(&self) {
        let current = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.arrived.store(0, Ordering::Relaxed);
            self.open(|| self.generation.store(current.wrapping_add(1), Ordering::Release));
            return;
        }
        let closed = || {
            self.generation.load(Ordering::Acquire) == current
                && !self.broken.load(Ordering::Acquire)
        };
        let mut spins = 0;
        while closed() && spins < MAX_SPINS {
            spin_loop();
            spins += 1;
        }
        if closed() {
            let guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.wake.wait_while(guard, |()| closed()));
        }
        if self.broken.load(Ordering::Acquire) {
            std::panic::resume_unwind(Box::new("another thread of the region has failed"));
        }
    }

    /// Changes the condition that sleepers wait for; under the lock, so that none misses it.
    fn open(&self, change: impl FnOnce()) {
        let _guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        change();
        self.wake.notify_all();
    }

    /// A guard that breaks the barrier if it is dropped during a panic.
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
