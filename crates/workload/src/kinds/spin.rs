//! `spin`: CPU time and nothing else.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind. Without `time` it spins until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("time"),
    ends_with_figures: true,
    ..generator("spin", "threads that use their CPUs and nothing else", "load/compute.md#spin")
};
