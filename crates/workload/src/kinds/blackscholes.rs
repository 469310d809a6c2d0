//! `blackscholes`: prices of options: computes, and hardly waits for memory.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind. Without `time` or `runs` it goes on until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("time"),
    instead_of_seconds: &["runs"],
    ends_with_figures: true,
    ..generator(
        "blackscholes",
        "prices of options: computes, and hardly waits for memory",
        "load/compute.md#blackscholes",
    )
};
