//! Loops over slices with the widest vectors that this CPU has.
//!
//! No operation is fused or reordered by that, so a result is the same to the bit on every CPU:
//! Rust never contracts a multiplication and an addition into one by itself.

use pulp::Arch;

/// Runs `loops`, compiled for the vectors of this CPU. What it calls must be inlined into it.
#[inline(always)]
pub(crate) fn widest<R>(loops: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(loops)
}
