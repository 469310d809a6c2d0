//! Which file an operation gets: in turn, never at random. Each kind of entry has one rotor over
//! those that exist and one over those that do not, shared by all threads; whoever holds an entry
//! has it alone, and others go past it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::members::Members;

/// Which entries may be picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum Wanted {
    Existing,
    /// The same with a rotor of the thread's own (`opennext`).
    ExistingWithOwnRotor(usize),
    Missing,
    /// By its number modulo the entries, the next one that exists where it does not.
    ExistingAt(usize),
    MissingAt(usize),
}

/// Entries of one kind: files, or leaf directories.
#[derive(Debug)]
pub(in crate::filebench) struct Picks {
    state: Mutex<State>,
    /// An entry was given back.
    returned: Condvar,
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
    /// Threads that wait for an entry.
    waiting: usize,
}

/// What becomes of an entry that is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum Fate {
    Unchanged,
    Exists,
    /// It is gone, and so is what was open.
    Gone,
}

impl Picks {
    /// `total` entries of which `existing` exist.
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
            returned: Condvar::new(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        // No code below this lock panics half-way; a poisoned one still holds a sound state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an entry. None where there is none, or all are held by others.
    pub(in crate::filebench) fn take(&self, wanted: Wanted) -> Option<usize> {
        let mut state = self.locked();
        if state.busy.is_empty() {
            return None;
        }
        while state.held == state.busy.len() {
            state = self.waited(state);
        }
        let at = state.choose(wanted)?;
        state.hold(at);
        Some(at)
    }

    fn waited<'s>(&self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        state.waiting += 1;
        state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Takes this entry, waiting until nobody else has it.
    pub(in crate::filebench) fn take_this(&self, at: usize) {
        let mut state = self.locked();
        while state.busy[at] {
            state = self.waited(state);
        }
        state.hold(at);
    }

    /// Times that a held entry is open.
    pub(in crate::filebench) fn opens(&self, at: usize) -> u32 {
        self.locked().opens[at]
    }

    /// Gives an entry back; `opened` is added to how often it is open.
    pub(in crate::filebench) fn give_back(&self, at: usize, fate: Fate, opened: i32) {
        let mut state = self.locked();
        state.opens[at] = state.opens[at].saturating_add_signed(opened);
        match fate {
            Fate::Unchanged => {}
            Fate::Exists => {
                state.missing.remove(at);
                state.existing.insert(at);
            }
            Fate::Gone => {
                state.existing.remove(at);
                state.missing.insert(at);
                state.opens[at] = 0;
            }
        }
        state.busy[at] = false;
        state.held -= 1;
        if state.waiting > 0 {
            self.returned.notify_all();
        }
    }

    /// How many exist.
    pub(in crate::filebench) fn existing(&self) -> usize {
        self.locked().existing.len()
    }
}

impl State {
    fn hold(&mut self, at: usize) {
        self.busy[at] = true;
        self.held += 1;
    }

    fn choose(&mut self, wanted: Wanted) -> Option<usize> {
        let (members, start) = match wanted {
            Wanted::Existing => (&self.existing, self.existing_rotor),
            Wanted::ExistingWithOwnRotor(thread) => (&self.existing, self.own_rotors[thread]),
            Wanted::Missing => (&self.missing, self.missing_rotor),
            Wanted::ExistingAt(at) => (&self.existing, at),
            Wanted::MissingAt(at) => (&self.missing, at),
        };
        let first = members.next(start)?;
        // The rotor goes on behind the first that was found, held or not, as in filebench.
        match wanted {
            Wanted::Existing => self.existing_rotor = first + 1,
            Wanted::ExistingWithOwnRotor(thread) => self.own_rotors[thread] = first + 1,
            Wanted::Missing => self.missing_rotor = first + 1,
            Wanted::ExistingAt(_) | Wanted::MissingAt(_) => {}
        }
        let members = match wanted {
            Wanted::Missing | Wanted::MissingAt(_) => &self.missing,
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

    fn five() -> Picks {
        Picks::new(5, &[0, 2, 3], 2)
    }

    fn picked(picks: &Picks, wanted: Wanted) -> Option<usize> {
        let at = picks.take(wanted)?;
        picks.give_back(at, Fate::Unchanged, 0);
        Some(at)
    }

    #[test]
    fn picks_go_round_in_order_and_wrap() {
        let picks = five();
        let order: Vec<_> = (0..5).map(|_| picked(&picks, Wanted::Existing)).collect();
        assert_eq!(order, [0, 2, 3, 0, 2].map(Some));
        let missing: Vec<_> = (0..3).map(|_| picked(&picks, Wanted::Missing)).collect();
        assert_eq!(missing, [1, 4, 1].map(Some));
    }

    #[test]
    fn a_held_entry_is_gone_past() {
        let picks = five();
        assert_eq!(picks.take(Wanted::Existing), Some(0));
        assert_eq!(picks.take(Wanted::ExistingAt(0)), Some(2));
        assert_eq!(picks.take(Wanted::ExistingAt(0)), Some(3));
        assert_eq!(picks.take(Wanted::ExistingAt(0)), None, "all are held");
    }

    #[test]
    fn each_thread_may_have_a_rotor_of_its_own() {
        let picks = five();
        assert_eq!(picked(&picks, Wanted::ExistingWithOwnRotor(0)), Some(0));
        assert_eq!(picked(&picks, Wanted::ExistingWithOwnRotor(0)), Some(2));
        assert_eq!(picked(&picks, Wanted::ExistingWithOwnRotor(1)), Some(0));
    }

    #[test]
    fn what_is_made_exists_and_what_is_deleted_is_missing() {
        let picks = five();
        let made = picks.take(Wanted::Missing).unwrap();
        picks.give_back(made, Fate::Exists, 1);
        assert_eq!((made, picks.existing(), picks.opens(1)), (1, 4, 1));
        picks.take_this(1);
        picks.give_back(1, Fate::Gone, 0);
        assert_eq!((picks.existing(), picks.opens(1)), (3, 0));
    }

    #[test]
    fn no_entry_is_ever_held_by_two() {
        let picks = Picks::new(7, &[0, 1, 2, 3, 4], 1);
        let holders: Vec<std::sync::atomic::AtomicU32> = (0..7).map(|_| 0.into()).collect();
        let relaxed = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (picks, holders) = (&picks, &holders);
                scope.spawn(move || {
                    for round in 0..5000 {
                        let (wanted, fate) = match (round + thread) % 3 {
                            0 => (Wanted::Missing, Fate::Exists),
                            1 => (Wanted::Existing, Fate::Gone),
                            _ => (Wanted::Existing, Fate::Unchanged),
                        };
                        let Some(at) = picks.take(wanted) else { continue };
                        assert_eq!(holders[at].fetch_add(1, relaxed), 0);
                        holders[at].fetch_sub(1, relaxed);
                        picks.give_back(at, fate, 0);
                    }
                });
            }
        });
        let state = picks.locked();
        assert_eq!((state.held, state.existing.len() + state.missing.len()), (0, 7));
    }
}
