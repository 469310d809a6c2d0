//! Fuzz targets: the files that describe a load of `assay-load`.

use assay_fuzzer::{Reader, Target, answer};

/// All targets.
pub const TARGETS: [Target; 2] = [
    Target {
        name: "filebench",
        corpus: &["loadgen/load-fuzz/corpus/filebench"],
        ending: ".f",
        words: &[
            "define ",
            "process ",
            "thread ",
            "flowop ",
            "set $",
            "name=",
            "instances=",
            "fileset ",
            "randvar ",
            "cvar(",
            "run ",
            "{",
            "}",
            "$",
            "size=",
            "entries=",
            "usage \"",
            "load ",
        ],
        reader: filebench,
    },
    Target {
        name: "properties",
        corpus: &["loadgen/load-fuzz/corpus/properties"],
        ending: "",
        words: &["recordcount=", "requestdistribution=", "proportion=", "\\u00", "\\\n", "=", ":"],
        reader: properties,
    },
];

fn filebench() -> Reader {
    Box::new(|bytes| match assay_load::check_script(&String::from_utf8_lossy(bytes)) {
        Ok(()) => 1,
        Err(mistakes) => answer(&mistakes),
    })
}

fn properties() -> Reader {
    Box::new(|bytes| match assay_load::check_properties(bytes) {
        Ok(()) => 1,
        Err(failure) => answer(&failure),
    })
}
