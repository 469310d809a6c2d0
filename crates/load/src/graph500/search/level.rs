//! What the threads of a search count together in one level.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::parallel_region::Pieces;

/// Counters of a level, on cache lines of their own.
#[repr(align(128))]
pub(super) struct Level {
    /// Hands out the work.
    pub(super) pieces: Pieces,
    /// Edges that lead out of the vertices found from above.
    pub(super) scout: AtomicU64,
    /// Vertices found from below.
    pub(super) awake: AtomicUsize,
}

impl Level {
    pub(super) const fn new() -> Self {
        Self { pieces: Pieces::new(), scout: AtomicU64::new(0), awake: AtomicUsize::new(0) }
    }

    pub(super) fn reset(&self) {
        self.pieces.reset();
        self.scout.store(0, Ordering::Relaxed);
        self.awake.store(0, Ordering::Relaxed);
    }
}
