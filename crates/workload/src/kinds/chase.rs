//! `chase`: dependent loads through working sets of increasing size.

use crate::generator::generator;
use crate::kind::{Kind, Threads};

/// The kind.
pub(crate) const KIND: Kind = Kind {
    reports_on_sigint: true,
    threads: Threads::Always(1),
    ..generator(
        "chase",
        "dependent loads through working sets from the first cache to memory",
        "load/memory.md#chase",
    )
};
