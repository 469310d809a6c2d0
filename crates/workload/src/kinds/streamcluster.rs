//! `streamcluster`: clusters a stream of points: bound by memory bandwidth.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind. Without `time` or `rounds` it runs until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("time"),
    instead_of_seconds: &["rounds"],
    reports_on_sigint: true,
    ..generator(
        "streamcluster",
        "clusters a stream of points: bound by memory bandwidth",
        "load/compute.md#streamcluster",
    )
};
