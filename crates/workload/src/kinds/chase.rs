//! `chase`: dependent loads through larger and larger working sets.

use crate::generator::generator;
use crate::kind::{Kind, Threads};

/// The kind.
pub(crate) const KIND: Kind = Kind {
    ends_with_figures: true,
    threads: Threads::Always(1),
    ..generator(
        "chase",
        "dependent loads through working sets from the first cache to memory",
        "load/memory.md#chase",
    )
};
