//! Loops over slices with the widest vectors of this CPU.
//!
//! This fuses or reorders no operation, so a result is the same to the bit on every CPU: Rust never
//! contracts a multiplication and an addition by itself.

use pulp::Arch;

/// Runs `loops`, compiled for the vectors of this CPU. Functions it calls must be inlined into it.
#[inline(always)]
pub(crate) fn widest<R>(loops: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(loops)
}
