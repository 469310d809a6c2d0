//! Events at a fixed time, independent of CPU sharing.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Index;

/// The purpose of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// The end of idling for an empty queue.
    Idle {
        /// Number of the wait: a timer whose wait was ended by a request is ignored.
        wait: u64,
    },
    /// The worker of a member wakes up.
    Worker {
        /// The worker's member.
        member: Index,
    },
    /// The end of a worker's waiting time.
    Held {
        /// The worker's member.
        member: Index,
    },
    /// A server of the device completes a request.
    Served {
        /// The request's member.
        member: Index,
        /// Its number of blocks.
        blocks: u32,
    },
}

/// An entry, ordered by time and then by the order of setting, earliest first.
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

/// All active timers.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Entry>,
    count: u64,
}

impl Timers {
    /// Sets a timer.
    pub(super) fn set(&mut self, at: f64, timer: Timer) {
        self.count += 1;
        self.heap.push(Entry { at, number: self.count, timer });
    }

    /// Time of the next timer; infinity if none is set.
    pub(super) fn next(&self) -> f64 {
        self.heap.peek().map_or(f64::INFINITY, |entry| entry.at)
    }

    /// Removes and returns the next timer.
    pub(super) fn take(&mut self) -> Option<Timer> {
        self.heap.pop().map(|entry| entry.timer)
    }
}
