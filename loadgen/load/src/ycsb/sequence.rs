//! Numbers of new records and their acknowledgement: readers must not use a record before all
//! records up to it are stored.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum number of outstanding records, as in YCSB.
const WINDOW: u64 = 1 << 20;

/// A counter whose numbers are acknowledged in any order.
#[derive(Debug)]
pub(super) struct Acknowledged {
    next: AtomicU64,
    /// All numbers below this one are acknowledged.
    limit: AtomicU64,
    window: Box<[AtomicBool]>,
    advance: Mutex<()>,
}

impl Acknowledged {
    /// Numbers from `start` on; those below are acknowledged.
    pub(super) fn from(start: u64) -> Self {
        Self {
            next: AtomicU64::new(start),
            limit: AtomicU64::new(start),
            window: (0..WINDOW).map(|_| AtomicBool::new(false)).collect(),
            advance: Mutex::new(()),
        }
    }

    /// A new number.
    pub(super) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The newest number without a gap below it.
    pub(super) fn newest(&self) -> u64 {
        self.limit.load(Ordering::Acquire).saturating_sub(1)
    }

    /// Acknowledges `number`. The thread that gets the lock advances the limit; the others need not
    /// wait, since the next acknowledgement includes theirs.
    pub(super) fn acknowledge(&self, number: u64) {
        self.slot(number).store(true, Ordering::Release);
        let Ok(_guard) = self.advance.try_lock() else { return };
        let mut limit = self.limit.load(Ordering::Relaxed);
        while self.slot(limit).swap(false, Ordering::AcqRel) {
            limit += 1;
        }
        self.limit.store(limit, Ordering::Release);
    }

    fn slot(&self, number: u64) -> &AtomicBool {
        &self.window[(number % WINDOW) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_limits_the_newest() {
        let sequence = Acknowledged::from(10);
        let numbers = [(); 3].map(|()| sequence.next());
        assert_eq!((numbers, sequence.newest()), ([10, 11, 12], 9));
        sequence.acknowledge(11);
        sequence.acknowledge(12);
        assert_eq!(sequence.newest(), 9);
        sequence.acknowledge(10);
        assert_eq!(sequence.newest(), 12);
    }

    #[test]
    fn many_threads_reuse_the_window() {
        let sequence = Acknowledged::from(WINDOW - 5);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| sequence.acknowledge(sequence.next())));
            }
        });
        // The last acknowledgements may have found the lock taken.
        assert!(sequence.newest() >= WINDOW - 5);
        sequence.acknowledge(sequence.next());
        assert_eq!(sequence.newest(), WINDOW - 5 + 4000);
    }
}
