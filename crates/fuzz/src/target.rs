//! The fuzz targets: name, corpus, and reader of each.

mod documents;
mod outcomes;
mod samples;
mod texts;

/// One reader. Its answer is a number that is equal for inputs with the same outcome.
pub struct Target {
    /// Its name, `--only NAME`.
    pub name: &'static str,
    /// Its corpus: files and folders of this repository.
    pub corpus: &'static [&'static str],
    /// Ending of the corpus files' names.
    pub ending: &'static str,
    /// Tokens of its format.
    pub words: &'static [&'static str],
    /// Creates the reader.
    pub reader: fn() -> Reader,
}

/// Reads one input.
pub(crate) type Reader = Box<dyn FnMut(&[u8]) -> u64>;

const FAULTS: &str = "crates/test-support/faults";

/// All targets.
pub const TARGETS: [Target; 25] = [
    Target {
        name: "study",
        corpus: &["studies", "crates/study/tests/invalid", FAULTS],
        ending: ".toml",
        words: &[
            "[design]",
            "[[promise]]",
            "[groups.a]",
            "workload",
            "repeats",
            "knobs",
            "is",
            "within",
            "= { }",
            "\"\"\"",
            "inherit",
            "[disks.d]",
            "\"{a}\"",
            "every",
            "at_most",
            "\"1 s\"",
        ],
        reader: documents::study,
    },
    Target {
        name: "job-file",
        corpus: &["studies"],
        ending: ".fio",
        words: &["[global]", "[job]", "include ", "size=", "${X}", "stonewall", "rate="],
        reader: documents::job_file,
    },
    Target {
        name: "ledger",
        corpus: &["crates/fuzz/corpus/ledger"],
        ending: "",
        words: &["\"intend\"", "\"made\"", "\"back\"", "\"begin\"", "\"path\"", "\"entry\""],
        reader: documents::ledger,
    },
    Target {
        name: "manifest",
        corpus: &["crates/test-support/faults/*/manifest.json"],
        ending: ".json",
        words: &[
            "\"trials\"",
            "\"repeats\"",
            "\"not_available\"",
            "\"value\"",
            "\"schema\"",
            "null",
        ],
        reader: documents::manifest,
    },
    Target {
        name: "judge",
        corpus: &["crates/test-support/faults/*/manifest.json"],
        ending: ".json",
        words: &["null", "0", "18446744073709551615", "[]", "{}", "1e308", "\"is\"", "\"within\""],
        reader: documents::judged,
    },
    Target {
        name: "verdict",
        corpus: &["crates/fuzz/corpus/verdict"],
        ending: ".json",
        words: &["\"kept\"", "\"void\"", "\"trials\"", "\"promises\"", "\"causes\"", "null"],
        reader: documents::verdict,
    },
    Target {
        name: "fleet",
        corpus: &["crates/fuzz/corpus/fleet"],
        ending: ".json",
        words: &["\"tasks\"", "\"submissions\"", "\"job\"", "\"slice\"", "\"2/4\"", "null"],
        reader: outcomes::fleet,
    },
    Target {
        name: "task",
        corpus: &["crates/fuzz/corpus/task"],
        ending: ".json",
        words: &["\"phase\"", "\"ended\"", "\"turn\"", "\"restored\"", "null", "true"],
        reader: outcomes::task,
    },
    Target {
        name: "tune",
        corpus: &["crates/fuzz/corpus/tune"],
        ending: ".json",
        words: &["\"found\"", "\"none_keeps\"", "\"settings\"", "\"search\"", "null", "1e308"],
        reader: outcomes::tune,
    },
    Target {
        name: "prediction",
        corpus: &["crates/fuzz/corpus/prediction"],
        ending: ".json",
        words: &["\"measured\"", "\"groups\"", "\"knees\"", "\"share\"", "null", "1e308", "{}"],
        reader: outcomes::prediction,
    },
    Target {
        name: "score",
        corpus: &["crates/fuzz/corpus/score"],
        ending: ".json",
        words: &["\"trials\"", "\"promises\"", "\"rate\"", "\"void\"", "null", "1e308"],
        reader: outcomes::scored,
    },
    Target {
        name: "calibration",
        corpus: &["crates/fuzz/corpus/calibration"],
        ending: ".json",
        words: &["\"taken\"", "\"randread\"", "\"write\"", "\"bfq\"", "0.0", "1e-320", "null"],
        reader: outcomes::calibration,
    },
    Target {
        name: "conformance",
        corpus: &["docs/results/conformance"],
        ending: ".json",
        words: &["\"broken\"", "\"cases\"", "\"evidence\"", "null", "[]", "|"],
        reader: outcomes::conformance,
    },
    Target {
        name: "events",
        corpus: &["crates/fuzz/corpus/events"],
        ending: "",
        words: &["\"time_ns\"", "\"kind\"", "\"trial\"", "\"repeat\"", "\"text\""],
        reader: documents::events,
    },
    Target {
        name: "arrow",
        corpus: &["crates/fuzz/corpus/arrow"],
        ending: ".arrows",
        words: &["\u{1}\u{0}\u{0}\u{0}", "\u{8}\u{0}\u{0}\u{0}", "time_ns", "subject"],
        reader: samples::stream,
    },
    Target {
        name: "parquet",
        corpus: &["crates/test-support/faults/*/samples/*", "crates/fuzz/corpus/parquet"],
        ending: ".parquet",
        words: &["PAR1", "time_ns", "subject", "\u{15}\u{0}", "\u{19}\u{1c}", "\u{16}\u{2}"],
        reader: samples::parquet,
    },
    Target {
        name: "fio-json",
        corpus: &["crates/fuzz/corpus/fio"],
        ending: ".json",
        words: &[
            "\"jobs\"",
            "\"read\"",
            "\"clat_ns\"",
            "\"percentile\"",
            "\"job options\"",
            "null",
        ],
        reader: texts::fio,
    },
    Target {
        name: "output",
        corpus: &["crates/fuzz/corpus/output"],
        ending: ".json",
        words: &[
            "\n{",
            "\"metrics\"",
            "\"measurements\"",
            "\"latency_us\"",
            "\"figures\"",
            "[[],",
            "Stats: ",
            "Status: PASS",
            " ops/s",
        ],
        reader: texts::output,
    },
    Target {
        name: "bw-log",
        corpus: &["crates/fuzz/corpus/bw-log"],
        ending: ".log",
        words: &[", 0, 0\n", ", 1, 4096\n", ", 2, 0\n"],
        reader: texts::bandwidth_log,
    },
    Target {
        name: "csv",
        corpus: &["crates/fuzz/corpus/csv", "docs/results/data"],
        ending: ".csv",
        words: &["group", "time", "time_ns", "amount", "total", "\"\"", "a,1,2\n"],
        reader: texts::csv,
    },
    Target {
        name: "filebench",
        corpus: &["crates/fuzz/corpus/filebench"],
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
        reader: texts::filebench,
    },
    Target {
        name: "properties",
        corpus: &["crates/fuzz/corpus/properties"],
        ending: "",
        words: &["recordcount=", "requestdistribution=", "proportion=", "\\u00", "\\\n", "=", ":"],
        reader: texts::properties,
    },
    Target {
        name: "slurm",
        corpus: &["crates/fuzz/corpus/slurm"],
        ending: "",
        words: &["|", "idle", "down*", "PENDING", "\n", ";"],
        reader: texts::slurm,
    },
    Target {
        name: "kernel",
        corpus: &["crates/fuzz/corpus/kernel"],
        ending: "",
        words: &[
            "N0=",
            "Node ",
            " kB",
            "[bfq]",
            "rbytes=",
            "some avg10=",
            " total=",
            " - ",
            "\\040",
        ],
        reader: texts::kernel,
    },
    Target {
        name: "units",
        corpus: &["crates/fuzz/corpus/units"],
        ending: "",
        words: &["GiB", "kB", "%", "ms", "-", ",", "0-4294967295", "0-65535", "max", ":"],
        reader: texts::units,
    },
];

/// Hash of an outcome, ignoring numbers in it.
fn answer(outcome: &dyn std::fmt::Display) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    crate::round::without_numbers(&outcome.to_string()).hash(&mut hasher);
    hasher.finish()
}
