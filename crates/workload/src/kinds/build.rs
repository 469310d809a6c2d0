//! `build`: compiles a generated C project.

use crate::generator::generator;
use crate::kind::{Key, Kind, Rendering, Threads};

/// The kind. The compiler's processes need as many CPUs as there are jobs.
pub(crate) const KIND: Kind = Kind {
    needs: &[("cc", "gcc")],
    keys: &[Key {
        name: "dir",
        about: "the directory of the project",
        rendering: Rendering::Option("--dir"),
        required: false,
        default: Some("{directory}"),
        words: &[],
        unless: None,
    }],
    reports_on_sigint: true,
    threads: Threads::Option("jobs"),
    does_io: true,
    ..generator("build", "compiles a generated C project with cc", "load/compute.md#build")
};
