//! `hog`: a growing user of memory.

use crate::generator::generator;
use crate::kind::{Kind, Threads};

/// The kind. Without `hold` it keeps what it has until the window is over.
pub(crate) const KIND: Kind = Kind {
    seconds: Some("hold"),
    ends_with_figures: true,
    threads: Threads::Always(1),
    ..generator(
        "hog",
        "a user of memory that grows, and checks what it wrote",
        "load/memory.md#hog",
    )
};
