//! `streamcluster`: clusters of a stream of points: streams through memory.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind.
pub(crate) const KIND: Kind = generator(
    "streamcluster",
    "clusters of a stream of points: streams through memory",
    "load/streamcluster.md",
);
