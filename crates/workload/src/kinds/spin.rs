//! `spin`: uses CPU time and nothing else.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind. Without `time` it runs until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("time"),
    reports_on_sigint: true,
    ..generator("spin", "threads that use CPU time and nothing else", "load/compute.md#spin")
};
