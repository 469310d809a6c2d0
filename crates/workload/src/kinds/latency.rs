//! `latency`: memory latency while other threads use the memory.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind.
pub(crate) const KIND: Kind = Kind {
    reports_on_sigint: true,
    ..generator(
        "latency",
        "memory latency under step by step increasing load from other threads",
        "load/memory.md#latency",
    )
};
