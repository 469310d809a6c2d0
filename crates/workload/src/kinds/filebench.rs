//! `filebench`: runs scripts in filebench's workload language.

use crate::generator::generator;
use crate::kind::{Key, Kind, Rendering, Threads};

/// The variables of the four classic scripts.
const VARIABLES: &str = "dir nfiles meandirwidth filesize nthreads iosize meanappendsize \
                         meanfilesize runtime";

/// The kind. A key that is not an option sets a variable of the script. Without `run` it runs until
/// the window is over, regardless of the script.
pub(crate) const KIND: Kind = Kind {
    keys: &[
        Key::word("script", "a script: a file, or fileserver, varmail, webserver or webproxy"),
        Key {
            name: "dir",
            about: "the variable `dir` of the script: the directory of its files",
            rendering: Rendering::Property,
            required: false,
            default: Some("{directory}"),
            words: &[],
            unless: None,
        },
    ],
    property_option: Some("--set"),
    known_properties: VARIABLES,
    seconds: Some("run"),
    reports_on_sigint: true,
    threads: Threads::Unknown,
    does_io: true,
    ..generator(
        "filebench",
        "file, mail and web servers, or any filebench script",
        "load/storage.md#filebench",
    )
};
