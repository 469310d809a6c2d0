//! `pages`: phases of reading and writing a file through the page cache and past it.

use crate::generator::generator;
use crate::kind::{Becomes, Key, Kind, Threads};

/// The kind.
pub(crate) const KIND: Kind = Kind {
    keys: &[Key {
        name: "directory",
        about: "where the file is made",
        becomes: Becomes::Option("--directory"),
        needed: false,
        otherwise: Some("{directory}"),
        words: &[],
        unless: None,
    }],
    ends_with_figures: true,
    threads: Threads::OptionOr("threads", 1),
    does_io: true,
    ..generator(
        "pages",
        "a file created, read and written through the page cache and past it",
        "load/storage.md#pages",
    )
};
