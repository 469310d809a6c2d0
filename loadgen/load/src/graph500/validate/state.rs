//! The validation's state of each label in one word: its parent, and its level or distance. One
//! word, so that each end of an edge costs one cache miss instead of two.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::Fault;
use crate::graph500::graph::NONE;

/// The parent in the lower half; level, or the bits of the distance, in the upper half.
#[derive(Clone, Copy)]
pub(super) struct State(pub(super) u64);

/// A level that is not known yet.
const UNKNOWN: u32 = u32::MAX;

impl State {
    fn new(parent: u32, high: u32) -> Self {
        Self(u64::from(high) << 32 | u64::from(parent))
    }

    pub(super) fn parent(self) -> u32 {
        self.0 as u32
    }

    pub(super) fn high(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(super) fn is_reached(self) -> bool {
        self.parent() != NONE
    }
}

fn load(states: &[AtomicU64], label: u32) -> Option<State> {
    states.get(label as usize).map(|state| State(state.load(Ordering::Relaxed)))
}

/// Copies the tree; only the root has a level yet.
pub(super) fn parents(
    states: &[AtomicU64],
    root: u32,
    tree: &[u32],
    own: Range<usize>,
) -> Result<(), Fault> {
    for label in own {
        let (vertex, parent) = (label as u32, tree[label]);
        if vertex == parent && vertex != root {
            return Err(Fault::SecondRoot { vertex });
        }
        let level = if vertex == root { 0 } else { UNKNOWN };
        states[label].store(State::new(parent, level).0, Ordering::Relaxed);
    }
    Ok(())
}

/// Rules 1 and 2: walks up from each reached label to one whose level is known and assigns levels
/// to all on the path. Threads that meet write the same numbers.
pub(super) fn levels(states: &[AtomicU64], own: Range<usize>) -> Result<(), Fault> {
    for label in own {
        let vertex = label as u32;
        let Some(start) = load(states, vertex).filter(|state| state.is_reached()) else { continue };
        let (mut state, mut steps) = (start, 0u32);
        while state.high() == UNKNOWN {
            state = load(states, state.parent())
                .filter(|state| state.is_reached())
                .ok_or(Fault::OffTheEnd { vertex })?;
            steps += 1;
            if steps as usize > states.len() {
                return Err(Fault::Cycle { vertex });
            }
        }
        let (mut at, mut level) = (vertex, state.high() + steps);
        while let Some(state) = load(states, at).filter(|state| state.high() == UNKNOWN) {
            states[at as usize].store(State::new(state.parent(), level).0, Ordering::Relaxed);
            (at, level) = (state.parent(), level.wrapping_sub(1));
        }
    }
    Ok(())
}

/// Replaces levels by distances, after [`levels`] has shown that there is no cycle.
pub(super) fn distances(
    states: &[AtomicU64],
    root: u32,
    distances: &[f32],
    own: Range<usize>,
) -> Result<(), Fault> {
    for label in own {
        let vertex = label as u32;
        let Some(state) = load(states, vertex) else { continue };
        let distance = distances.get(label).copied().unwrap_or(f32::NAN);
        if vertex == root && distance != 0.0 {
            return Err(Fault::Root { root });
        }
        let is_distance = distance.is_finite() && distance >= 0.0;
        if is_distance != state.is_reached() {
            return Err(Fault::Distance { vertex, distance });
        }
        let state = State::new(state.parent(), distance.to_bits());
        states[label].store(state.0, Ordering::Relaxed);
    }
    Ok(())
}
