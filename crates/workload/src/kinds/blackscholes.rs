//! `blackscholes`: prices options: CPU-bound, with little memory traffic.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind. Without `time` or `runs` it runs until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("time"),
    instead_of_seconds: &["runs"],
    reports_on_sigint: true,
    ..generator(
        "blackscholes",
        "prices options: CPU-bound, with little memory traffic",
        "load/compute.md#blackscholes",
    )
};
