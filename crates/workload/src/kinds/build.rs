//! `build`: a compile of a generated C project.

use crate::generator::generator;
use crate::kind::{Becomes, Key, Kind, Threads};

/// The kind. The compiler's processes want as many CPUs as there are jobs.
pub(crate) const KIND: Kind = Kind {
    needs: &[("cc", "gcc")],
    keys: &[Key {
        name: "dir",
        about: "where the project is made",
        becomes: Becomes::Option("--dir"),
        needed: false,
        otherwise: Some("{directory}"),
        words: &[],
        unless: None,
    }],
    ends_with_figures: true,
    threads: Threads::Option("jobs"),
    does_io: true,
    ..generator("build", "a compile of a generated C project by cc", "load/compute.md#build")
};
