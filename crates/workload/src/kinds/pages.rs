//! `pages`: phases of reading and writing a file with and without the page cache.

use crate::generator::generator;
use crate::kind::{Key, Kind, Rendering, Threads};

/// The kind.
pub(crate) const KIND: Kind = Kind {
    keys: &[Key {
        name: "directory",
        about: "the directory of the file",
        rendering: Rendering::Option("--directory"),
        required: false,
        default: Some("{directory}"),
        words: &[],
        unless: None,
    }],
    reports_on_sigint: true,
    threads: Threads::OptionOr("threads", 1),
    does_io: true,
    ..generator(
        "pages",
        "creates, reads and writes a file with and without the page cache",
        "load/storage.md#pages",
    )
};
