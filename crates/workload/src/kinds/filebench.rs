//! `filebench`: scripts in filebench's workload language.

use crate::generator::generator;
use crate::kind::{Becomes, Key, Kind, Threads};

/// The variables of the four classic scripts.
const VARIABLES: &str = "dir nfiles meandirwidth filesize nthreads iosize meanappendsize \
                         meanfilesize runtime";

/// The kind. A key that is no option sets a variable of the script. Without `run` it runs until
/// the window is over, whatever the script says.
pub(crate) const KIND: Kind = Kind {
    keys: &[
        Key::word("script", "a script, or fileserver, varmail, webserver, webproxy"),
        Key {
            name: "dir",
            about: "the variable `dir` of the script: where its files are",
            becomes: Becomes::Other,
            needed: false,
            otherwise: Some("{directory}"),
            words: &[],
            unless: None,
        },
    ],
    others: Some("--set"),
    known_others: VARIABLES,
    seconds: Some("run"),
    ends_with_figures: true,
    threads: Threads::Unknown,
    does_io: true,
    ..generator(
        "filebench",
        "file servers, mail and web loads, or any script of filebench",
        "load/storage.md#filebench",
    )
};
