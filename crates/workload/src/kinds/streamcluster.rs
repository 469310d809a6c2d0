//! `streamcluster`: clusters of a stream of points: streams through memory.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind. Without `time` or `rounds` it goes on until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("time"),
    instead_of_seconds: &["rounds"],
    ends_with_figures: true,
    ..generator(
        "streamcluster",
        "clusters of a stream of points: streams through memory",
        "load/compute.md#streamcluster",
    )
};
