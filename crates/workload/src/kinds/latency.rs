//! `latency`: what a load costs while others use the memory.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind.
pub(crate) const KIND: Kind = Kind {
    ends_with_figures: true,
    ..generator(
        "latency",
        "the latency of memory beside aggressors that grow step by step",
        "load/memory.md#latency",
    )
};
