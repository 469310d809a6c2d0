//! `graph500`: searches through a large graph.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind.
pub(crate) const KIND: Kind =
    generator("graph500", "searches through a large graph", "load/compute.md#graph500");
