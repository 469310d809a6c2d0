//! The threads that are followed. The kernel shows threads in the same order each time, so that
//! whoever comes next is known before it is looked for.

use std::collections::HashMap;

use super::Seen;
use super::by_proc::Files;

/// A thread that is followed.
pub(super) struct Thread {
    pub(super) tid: u32,
    pub(super) pid: u32,
    /// Ticks after boot: with the id it names a thread for ever.
    pub(super) started: u64,
    pub(super) subject: usize,
    pub(super) last: Seen,
    /// The last round that saw it.
    pub(super) round: u64,
    pub(super) files: Option<Files>,
    /// Who came after it in the last round.
    next: usize,
}

impl Thread {
    /// A thread of these ids, seen for the first time.
    pub(super) const fn new(
        (tid, pid): (u32, u32),
        started: u64,
        subject: usize,
        last: Seen,
        round: u64,
    ) -> Self {
        Self { tid, pid, started, subject, last, round, files: None, next: 0 }
    }
}

/// All of them. One that has ended leaves its place to the next that is new.
#[derive(Default)]
pub(super) struct Known {
    places: Vec<Option<Thread>>,
    at: HashMap<u32, usize>,
    free: Vec<usize>,
    /// Who was found last in this round, and who came first in the one before.
    last: Option<usize>,
    first: usize,
}

impl Known {
    /// Begins a round.
    pub(super) const fn begin(&mut self) {
        self.last = None;
    }

    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    /// The thread of this id, without a search where it comes in the order of the last round.
    pub(super) fn find(&mut self, tid: u32) -> Option<&mut Thread> {
        let guess = match self.last {
            Some(last) => self.places[last].as_ref().map_or(0, |thread| thread.next),
            None => self.first,
        };
        let is = |place: &Option<Thread>| place.as_ref().is_some_and(|thread| thread.tid == tid);
        let found = if self.places.get(guess).is_some_and(is) {
            guess
        } else {
            let found = *self.at.get(&tid)?;
            match self.last.and_then(|last| self.places[last].as_mut()) {
                Some(before) => before.next = found,
                None => self.first = found,
            }
            found
        };
        self.last = Some(found);
        self.places[found].as_mut()
    }

    pub(super) fn get_mut(&mut self, tid: u32) -> Option<&mut Thread> {
        let at = *self.at.get(&tid)?;
        self.places.get_mut(at)?.as_mut()
    }

    pub(super) fn insert(&mut self, thread: Thread) {
        let tid = thread.tid;
        let at = match self.free.pop() {
            Some(at) => {
                self.places[at] = Some(thread);
                at
            }
            None => {
                self.places.push(Some(thread));
                self.places.len() - 1
            }
        };
        self.at.insert(tid, at);
    }

    pub(super) fn remove(&mut self, tid: u32) -> Option<Thread> {
        let at = self.at.remove(&tid)?;
        if self.last == Some(at) {
            self.last = None;
        }
        self.free.push(at);
        self.places.get_mut(at)?.take()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.places.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Thread> {
        self.places.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(tids: &[u32]) -> Known {
        let mut known = Known::default();
        for tid in tids {
            known.insert(Thread::new((*tid, 1), 0, *tid as usize, Seen::default(), 0));
        }
        known
    }

    fn walk(known: &mut Known, tids: &[u32]) {
        known.begin();
        for tid in tids {
            assert_eq!(known.find(*tid).map(|thread| thread.subject), Some(*tid as usize), "{tid}");
        }
    }

    #[test]
    fn threads_are_found_in_whatever_order_they_come() {
        let mut known = known(&[5, 6, 7, 8]);
        for order in [[5, 6, 7, 8], [5, 6, 7, 8], [8, 7, 6, 5], [6, 5, 8, 7], [6, 5, 8, 7]] {
            walk(&mut known, &order);
        }
        assert!(known.find(9).is_none());
    }

    #[test]
    fn a_place_that_was_left_is_not_taken_for_who_was_there() {
        let mut known = known(&[5, 6, 7]);
        walk(&mut known, &[5, 6, 7]);
        assert_eq!(known.remove(6).map(|thread| thread.tid), Some(6));
        walk(&mut known, &[5, 7]);
        known.insert(Thread::new((9, 1), 0, 9, Seen::default(), 0));
        assert!(known.find(6).is_none());
        walk(&mut known, &[5, 7, 9]);
        walk(&mut known, &[9, 7, 5]);
        assert_eq!((known.len(), known.iter().count()), (3, 3));
    }
}
