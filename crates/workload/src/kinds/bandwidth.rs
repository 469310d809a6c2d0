//! `bandwidth`: copy, scale, add and triad through memory.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind. Without `time` or `repeats` it runs until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("time"),
    instead_of_seconds: &["repeats"],
    reports_on_sigint: true,
    ..generator(
        "bandwidth",
        "streams through memory: copy, scale, add, triad",
        "load/memory.md#bandwidth",
    )
};
