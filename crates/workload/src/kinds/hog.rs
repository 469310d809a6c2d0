//! `hog`: allocates and uses a growing amount of memory.

use crate::generator::generator;
use crate::kind::{Kind, Threads};

/// The kind. Without `hold` it keeps its memory until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("hold"),
    reports_on_sigint: true,
    threads: Threads::Always(1),
    ..generator(
        "hog",
        "memory that grows step by step, with its contents checked",
        "load/memory.md#hog",
    )
};
