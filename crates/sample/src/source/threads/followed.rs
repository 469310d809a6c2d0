//! The followed threads. The kernel lists threads in a stable order, so the next thread is usually found
//! without a search.

use std::collections::HashMap;

use super::ThreadState;
use super::by_proc::Files;

/// A followed thread.
pub(super) struct Thread {
    pub(super) tid: u32,
    pub(super) pid: u32,
    /// Start time in ticks after boot: together with the id it identifies a thread forever.
    pub(super) started: u64,
    pub(super) subject: usize,
    pub(super) last: ThreadState,
    /// The last round in which it occurred.
    pub(super) round: u64,
    pub(super) files: Option<Files>,
    /// Index of its successor in the last round.
    next: usize,
}

impl Thread {
    /// A new thread with these ids.
    pub(super) const fn new(
        (tid, pid): (u32, u32),
        started: u64,
        subject: usize,
        last: ThreadState,
        round: u64,
    ) -> Self {
        Self { tid, pid, started, subject, last, round, files: None, next: 0 }
    }
}

/// All followed threads. The slot of a thread that has ended is reused.
#[derive(Default)]
pub(super) struct FollowedThreads {
    slots: Vec<Option<Thread>>,
    at: HashMap<u32, usize>,
    free: Vec<usize>,
    /// The thread found last in this round, and the first one of the previous round.
    last: Option<usize>,
    first: usize,
}

impl FollowedThreads {
    /// Begins a round.
    pub(super) const fn begin(&mut self) {
        self.last = None;
    }

    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    /// The thread with this id; no search is needed if it comes in the order of the last round.
    pub(super) fn find(&mut self, tid: u32) -> Option<&mut Thread> {
        let guess = match self.last {
            Some(last) => self.slots[last].as_ref().map_or(0, |thread| thread.next),
            None => self.first,
        };
        let is = |slot: &Option<Thread>| slot.as_ref().is_some_and(|thread| thread.tid == tid);
        let index = if self.slots.get(guess).is_some_and(is) {
            guess
        } else {
            let index = *self.at.get(&tid)?;
            match self.last.and_then(|last| self.slots[last].as_mut()) {
                Some(before) => before.next = index,
                None => self.first = index,
            }
            index
        };
        self.last = Some(index);
        self.slots[index].as_mut()
    }

    pub(super) fn get_mut(&mut self, tid: u32) -> Option<&mut Thread> {
        let at = *self.at.get(&tid)?;
        self.slots.get_mut(at)?.as_mut()
    }

    pub(super) fn insert(&mut self, thread: Thread) {
        let tid = thread.tid;
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at] = Some(thread);
                at
            }
            None => {
                self.slots.push(Some(thread));
                self.slots.len() - 1
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
        self.slots.get_mut(at)?.take()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.slots.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Thread> {
        self.slots.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(tids: &[u32]) -> FollowedThreads {
        let mut followed = FollowedThreads::default();
        for tid in tids {
            followed.insert(Thread::new((*tid, 1), 0, *tid as usize, ThreadState::default(), 0));
        }
        followed
    }

    fn walk(followed: &mut FollowedThreads, tids: &[u32]) {
        followed.begin();
        for tid in tids {
            assert_eq!(
                followed.find(*tid).map(|thread| thread.subject),
                Some(*tid as usize),
                "{tid}"
            );
        }
    }

    #[test]
    fn threads_are_found_in_any_order() {
        let mut followed = followed(&[5, 6, 7, 8]);
        for order in [[5, 6, 7, 8], [5, 6, 7, 8], [8, 7, 6, 5], [6, 5, 8, 7], [6, 5, 8, 7]] {
            walk(&mut followed, &order);
        }
        assert!(followed.find(9).is_none());
    }

    #[test]
    fn a_reused_slot_is_not_mistaken_for_its_previous_thread() {
        let mut followed = followed(&[5, 6, 7]);
        walk(&mut followed, &[5, 6, 7]);
        assert_eq!(followed.remove(6).map(|thread| thread.tid), Some(6));
        walk(&mut followed, &[5, 7]);
        followed.insert(Thread::new((9, 1), 0, 9, ThreadState::default(), 0));
        assert!(followed.find(6).is_none());
        walk(&mut followed, &[5, 7, 9]);
        walk(&mut followed, &[9, 7, 5]);
        assert_eq!((followed.len(), followed.iter().count()), (3, 3));
    }
}
