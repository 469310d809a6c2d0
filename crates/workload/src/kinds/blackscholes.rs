//! `blackscholes`: prices of options: computes, and hardly waits for memory.

use crate::generator::generator;
use crate::kind::Kind;

/// The kind.
pub(crate) const KIND: Kind = generator(
    "blackscholes",
    "prices of options: computes, and hardly waits for memory",
    "load/blackscholes.md",
);
