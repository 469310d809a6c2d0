//! Synchronization between threads: `block` and `wakeup`, `semblock` and `sempost`.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One `block` of the script: all threads in it continue with the next `wakeup`. A wakeup without
/// waiters is lost, as with filebench's condition variable.
#[derive(Debug, Default)]
pub(super) struct Block {
    wakeups: Mutex<u64>,
    woken: Condvar,
}

impl Block {
    pub(super) fn wait(&self, stopping: impl Fn() -> bool) {
        let mut wakeups = self.wakeups.lock().unwrap_or_else(PoisonError::into_inner);
        let initial = *wakeups;
        while *wakeups == initial && !stopping() {
            wakeups = self.woken.wait(wakeups).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn wake(&self) {
        *self.wakeups.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.woken.notify_all();
    }
}

/// The semaphore of one thread's `semblock`: the posted amount, and how much may be posted before
/// it is consumed (`highwater`), which only a blocking `sempost` respects.
#[derive(Debug)]
pub(super) struct Semaphore {
    levels: Mutex<Levels>,
    changed: Condvar,
}

#[derive(Debug)]
struct Levels {
    posted: u64,
    room: u64,
}

impl Semaphore {
    pub(super) fn with_limit(highwater: u64) -> Self {
        Self { levels: Mutex::new(Levels { posted: 0, room: highwater }), changed: Condvar::new() }
    }

    fn locked(&self) -> MutexGuard<'_, Levels> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn until(
        &self,
        ready: impl Fn(&Levels) -> bool,
        change: impl Fn(&mut Levels),
        stopping: impl Fn() -> bool,
    ) {
        let mut levels = self.locked();
        while !ready(&levels) {
            if stopping() {
                return;
            }
            levels = self.changed.wait(levels).unwrap_or_else(PoisonError::into_inner);
        }
        change(&mut levels);
        self.changed.notify_all();
    }

    /// `semblock`: makes room first, then waits for the amount to be posted.
    pub(super) fn block(&self, value: u64, stopping: impl Fn() -> bool) {
        self.locked().room += value;
        self.changed.notify_all();
        self.until(|l| l.posted >= value, |l| l.posted -= value, stopping);
    }

    /// `sempost`.
    pub(super) fn post(&self, value: u64, blocking: bool, stopping: impl Fn() -> bool) {
        if blocking {
            let change = |levels: &mut Levels| {
                levels.room -= value;
                levels.posted += value;
            };
            self.until(|levels| levels.room >= value, change, stopping);
        } else {
            self.locked().posted += value;
            self.changed.notify_all();
        }
    }

    /// Wakes all waiters, so that they notice the end of the run.
    pub(super) fn wake(&self) {
        let _levels = self.locked();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_passes_the_posted_amount_up_to_its_limit() {
        let semaphore = Semaphore::with_limit(2);
        let never = || false;
        std::thread::scope(|scope| {
            let poster = scope.spawn(|| (0..100).for_each(|_| semaphore.post(1, true, never)));
            (0..50).for_each(|_| semaphore.block(2, never));
            poster.join().unwrap();
        });
        let levels = semaphore.locked();
        assert_eq!((levels.posted, levels.room), (0, 2));
    }

    #[test]
    fn waiting_ends_with_the_run() {
        Semaphore::with_limit(0).block(5, || true);
        Semaphore::with_limit(0).post(5, true, || true);
        Block::default().wait(|| true);
    }
}
