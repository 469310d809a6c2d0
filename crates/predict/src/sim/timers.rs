//! What happens at a certain time whatever the CPUs do.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Index;

/// What a timer was set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// The disk was held for an empty queue.
    Idle {
        /// The number of the wait: one that a request has ended has nothing to do with it.
        wait: u64,
    },
    /// The worker of a member wakes up.
    Worker {
        /// Whose.
        member: Index,
    },
    /// A worker is done with what it waits for.
    Held {
        /// Whose.
        member: Index,
    },
    /// A server of the device is done.
    Served {
        /// Whose request.
        member: Index,
        /// How many blocks it has.
        blocks: u32,
    },
}

/// An entry, the earliest at the top, and of equal times the one that was set first.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: f64,
    number: u64,
    timer: Timer,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

/// All timers that are set.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Entry>,
    count: u64,
}

impl Timers {
    /// Sets one.
    pub(super) fn set(&mut self, at: f64, timer: Timer) {
        self.count += 1;
        self.heap.push(Entry { at, number: self.count, timer });
    }

    /// When the next one is due; infinity where none is set.
    pub(super) fn next(&self) -> f64 {
        self.heap.peek().map_or(f64::INFINITY, |entry| entry.at)
    }

    /// The next one, which is no longer set.
    pub(super) fn take(&mut self) -> Option<Timer> {
        self.heap.pop().map(|entry| entry.timer)
    }
}
