//! Counters of one level, shared by the threads of a search.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::parallel_region::Pieces;

/// Counters of a level, on cache lines of their own.
#[repr(align(128))]
pub(super) struct Level {
    /// Distributes the work.
    pub(super) pieces: Pieces,
    /// Edges that lead out of the vertices found top-down.
    pub(super) scout: AtomicU64,
    /// Number of vertices found bottom-up.
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
