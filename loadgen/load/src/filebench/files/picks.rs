//! Selects the file for an operation: round robin, never at random. Each kind of entry has one
//! rotor over the existing entries and one over the missing ones, shared by all threads. An
//! acquired entry is exclusive to its thread; others skip it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::members::Members;

/// Which entries may be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum Selector {
    Existing,
    /// The next existing one by a rotor private to the thread (`opennext`).
    ExistingWithOwnRotor(usize),
    Missing,
    /// By its number modulo the entries; if that one does not exist, the next one that does.
    ExistingAt(usize),
    MissingAt(usize),
}

/// A pool of entries of one kind: files, or leaf directories.
#[derive(Debug)]
pub(in crate::filebench) struct EntryPool {
    state: Mutex<State>,
    /// Signalled when an entry is released.
    released: Condvar,
}

#[derive(Debug)]
struct State {
    existing: Members,
    missing: Members,
    busy: Vec<bool>,
    held: usize,
    opens: Vec<u32>,
    existing_rotor: usize,
    missing_rotor: usize,
    own_rotors: Vec<usize>,
    /// Number of threads that wait for an entry.
    waiting: usize,
}

/// Change of an entry when it is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum EntryChange {
    Unchanged,
    Exists,
    /// Deleted; its open count is reset.
    Deleted,
}

impl EntryPool {
    /// A pool of `total` entries of which `existing` exist.
    pub(in crate::filebench) fn new(total: usize, existing: &[usize], threads: usize) -> Self {
        let mut exists = Members::none_of(total);
        existing.iter().for_each(|at| exists.insert(*at));
        let mut missing = Members::none_of(total);
        (0..total).filter(|at| !exists.contains(*at)).for_each(|at| missing.insert(at));
        Self {
            state: Mutex::new(State {
                existing: exists,
                missing,
                busy: vec![false; total],
                held: 0,
                opens: vec![0; total],
                existing_rotor: 0,
                missing_rotor: 0,
                own_rotors: vec![0; threads],
                waiting: 0,
            }),
            released: Condvar::new(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        // No code under this lock panics half-way; the state is consistent even if the lock is
        // poisoned.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires an entry. `None` if there is none, or all are held.
    pub(in crate::filebench) fn acquire(&self, selector: Selector) -> Option<usize> {
        let mut state = self.locked();
        if state.busy.is_empty() {
            return None;
        }
        while state.held == state.busy.len() {
            state = self.wait_for_release(state);
        }
        let at = state.select(selector)?;
        state.hold(at);
        Some(at)
    }

    fn wait_for_release<'s>(&self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        state.waiting += 1;
        state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Acquires this entry, waiting until it is free.
    pub(in crate::filebench) fn acquire_entry(&self, at: usize) {
        let mut state = self.locked();
        while state.busy[at] {
            state = self.wait_for_release(state);
        }
        state.hold(at);
    }

    /// How often a held entry is open.
    pub(in crate::filebench) fn opens(&self, at: usize) -> u32 {
        self.locked().opens[at]
    }

    /// Releases an entry; `opened` is added to its open count.
    pub(in crate::filebench) fn release(&self, at: usize, change: EntryChange, opened: i32) {
        let mut state = self.locked();
        state.opens[at] = state.opens[at].saturating_add_signed(opened);
        match change {
            EntryChange::Unchanged => {}
            EntryChange::Exists => {
                state.missing.remove(at);
                state.existing.insert(at);
            }
            EntryChange::Deleted => {
                state.existing.remove(at);
                state.missing.insert(at);
                state.opens[at] = 0;
            }
        }
        state.busy[at] = false;
        state.held -= 1;
        if state.waiting > 0 {
            self.released.notify_all();
        }
    }

    /// Number of existing entries.
    pub(in crate::filebench) fn existing(&self) -> usize {
        self.locked().existing.len()
    }
}

impl State {
    fn hold(&mut self, at: usize) {
        self.busy[at] = true;
        self.held += 1;
    }

    fn select(&mut self, selector: Selector) -> Option<usize> {
        let (members, start) = match selector {
            Selector::Existing => (&self.existing, self.existing_rotor),
            Selector::ExistingWithOwnRotor(thread) => (&self.existing, self.own_rotors[thread]),
            Selector::Missing => (&self.missing, self.missing_rotor),
            Selector::ExistingAt(at) => (&self.existing, at),
            Selector::MissingAt(at) => (&self.missing, at),
        };
        let first = members.next(start)?;
        // The rotor moves past the first candidate, held or not, as in filebench.
        match selector {
            Selector::Existing => self.existing_rotor = first + 1,
            Selector::ExistingWithOwnRotor(thread) => self.own_rotors[thread] = first + 1,
            Selector::Missing => self.missing_rotor = first + 1,
            Selector::ExistingAt(_) | Selector::MissingAt(_) => {}
        }
        let members = match selector {
            Selector::Missing | Selector::MissingAt(_) => &self.missing,
            _ => &self.existing,
        };
        let mut at = first;
        while self.busy[at] {
            at = members.next(at + 1)?;
            if at == first {
                return None;
            }
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn five() -> EntryPool {
        EntryPool::new(5, &[0, 2, 3], 2)
    }

    fn acquire_and_release(pool: &EntryPool, selector: Selector) -> Option<usize> {
        let at = pool.acquire(selector)?;
        pool.release(at, EntryChange::Unchanged, 0);
        Some(at)
    }

    #[test]
    fn selection_is_round_robin() {
        let pool = five();
        let order: Vec<_> =
            (0..5).map(|_| acquire_and_release(&pool, Selector::Existing)).collect();
        assert_eq!(order, [0, 2, 3, 0, 2].map(Some));
        let missing: Vec<_> =
            (0..3).map(|_| acquire_and_release(&pool, Selector::Missing)).collect();
        assert_eq!(missing, [1, 4, 1].map(Some));
    }

    #[test]
    fn a_held_entry_is_skipped() {
        let pool = five();
        assert_eq!(pool.acquire(Selector::Existing), Some(0));
        assert_eq!(pool.acquire(Selector::ExistingAt(0)), Some(2));
        assert_eq!(pool.acquire(Selector::ExistingAt(0)), Some(3));
        assert_eq!(pool.acquire(Selector::ExistingAt(0)), None, "all are held");
    }

    #[test]
    fn each_thread_may_have_a_private_rotor() {
        let pool = five();
        assert_eq!(acquire_and_release(&pool, Selector::ExistingWithOwnRotor(0)), Some(0));
        assert_eq!(acquire_and_release(&pool, Selector::ExistingWithOwnRotor(0)), Some(2));
        assert_eq!(acquire_and_release(&pool, Selector::ExistingWithOwnRotor(1)), Some(0));
    }

    #[test]
    fn created_entries_exist_and_deleted_ones_are_missing() {
        let pool = five();
        let created = pool.acquire(Selector::Missing).unwrap();
        pool.release(created, EntryChange::Exists, 1);
        assert_eq!((created, pool.existing(), pool.opens(1)), (1, 4, 1));
        pool.acquire_entry(1);
        pool.release(1, EntryChange::Deleted, 0);
        assert_eq!((pool.existing(), pool.opens(1)), (3, 0));
    }

    #[test]
    fn no_entry_is_held_by_two_threads() {
        let pool = EntryPool::new(7, &[0, 1, 2, 3, 4], 1);
        let holders: Vec<std::sync::atomic::AtomicU32> = (0..7).map(|_| 0.into()).collect();
        let relaxed = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (pool, holders) = (&pool, &holders);
                scope.spawn(move || {
                    for round in 0..5000 {
                        let (selector, change) = match (round + thread) % 3 {
                            0 => (Selector::Missing, EntryChange::Exists),
                            1 => (Selector::Existing, EntryChange::Deleted),
                            _ => (Selector::Existing, EntryChange::Unchanged),
                        };
                        let Some(at) = pool.acquire(selector) else { continue };
                        assert_eq!(holders[at].fetch_add(1, relaxed), 0);
                        holders[at].fetch_sub(1, relaxed);
                        pool.release(at, change, 0);
                    }
                });
            }
        });
        let state = pool.locked();
        assert_eq!((state.held, state.existing.len() + state.missing.len()), (0, 7));
    }
}
