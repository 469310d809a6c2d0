//! Rules for the content of source files.

use std::path::{Path, PathBuf};

use crate::tree::{crate_of, files, files_of_crates, is_test, root, shown, without_tests};

pub(crate) fn sources() -> Vec<(PathBuf, String)> {
    files_of_crates("rs")
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

/// What performs no I/O on the host: crates, and modules of crates (`sys/units`).
const PURE: [&str; 19] = [
    "sys/units",
    "sys/escape",
    "sys/diagnostic",
    "sys/exit",
    "stats",
    "host/facts",
    "host/knob",
    "record/terms",
    "study",
    "blame",
    "judge",
    "cause/causes",
    "cause/explain",
    "cause/iocost",
    "cause/judge",
    "cause/tune",
    "report",
    "audit",
    "live/fairness",
];

/// What of those does after all: it collects for the rest.
const COLLECTS: [&str; 6] = [
    "audit/collect",
    "audit/running_kernel",
    "blame/collect",
    "blame/watch",
    "live/fairness/watch",
    "report/export",
];

/// Whether a file belongs to one of these crates, or modules of crates.
pub(crate) fn is_in(path: &Path, places: &[&str]) -> bool {
    let is_of = |module: PathBuf| path.starts_with(&module) || path == module.with_extension("rs");
    places.iter().any(|place| {
        let module = place
            .split_once('/')
            .map(|(name, inside)| root().join("crates").join(name).join("src").join(inside));
        crate_of(path) == *place || module.is_some_and(is_of)
    })
}

/// The lines of the program, without comments, of files that are not exempt.
pub(crate) fn program_lines(
    sources: &[(PathBuf, String)],
    is_exempt: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = (&Path, &str)> {
    sources.iter().filter(move |(path, _)| !is_test(path) && !is_exempt(path)).flat_map(
        |(path, text)| {
            let lines = without_tests(text).lines().map(str::trim);
            lines.filter(|line| !line.starts_with("//")).map(move |line| (path.as_path(), line))
        },
    )
}

#[test]
fn files_are_short_and_ascii() {
    for (path, text) in sources() {
        let limit = if is_test(&path) { 1000 } else { 599 };
        let lines = text.lines().count();
        assert!(lines <= limit, "{} has {lines} lines, more than {limit}", shown(&path));
        assert!(text.is_ascii(), "{} is not ASCII", shown(&path));
    }
}

#[test]
fn every_file_begins_with_a_description() {
    for (path, text) in sources() {
        assert!(text.starts_with("//!"), "{} does not begin with `//!`", shown(&path));
    }
}

#[test]
fn unsafe_code_is_allowed_in_kernel_in_loadgen_memory_and_in_the_file_that_calls_rocksdb() {
    for (path, text) in sources() {
        let allows = text.contains(concat!("allow(unsafe", "_code)"));
        let calls_rocksdb = path.ends_with("loadgen/load/src/ycsb/rocksdb/ffi.rs");
        assert!(
            !allows
                || is_in(&path, &["sys/kernel", "loadgen/memory"])
                || calls_rocksdb
                || is_test(&path),
            "{} allows unsafe code",
            shown(&path)
        );
    }
}

#[test]
fn only_kernel_opens_files_of_the_kernel() {
    let sources = sources();
    let is_exempt = |path: &Path| is_in(path, &["sys/kernel", "bench", "test-support"]);
    for (path, line) in program_lines(&sources, is_exempt) {
        let opens = ["fs::", "File::", "OpenOptions"].iter().any(|call| line.contains(call));
        let of_kernel = line.contains("\"/proc") || line.contains("\"/sys");
        assert!(!(opens && of_kernel), "{}: {line}", shown(path));
    }
}

/// Only `sys::files` creates, replaces or removes files, and it works from descriptors; kernel files
/// below a `Root` belong to `sys::kernel`. The load generators are independent programs that write to
/// the paths given to them; the bench and shared test code are not part of the program.
#[test]
fn only_files_creates_replaces_and_removes_files() {
    const CALLS: [&str; 17] = [
        "File::create",
        "File::options",
        "OpenOptions",
        "fs::write",
        "fs::copy",
        "fs::rename",
        "fs::hard_link",
        "fs::symlink",
        "fs::create_dir",
        "fs::remove_file",
        "fs::remove_dir",
        "fs::set_permissions",
        "DirBuilder",
        "mkdirat",
        "unlinkat",
        "renameat",
        "mknodat",
    ];
    // These create no regular file: one probes whether it may make a device node, the others open existing files.
    const OPENS_EXISTING: [&str; 3] = [
        "conform/src/probe/device.rs",
        "conform/src/probe/memory.rs",
        "host/src/ledger/loop_device.rs",
    ];
    let sources = sources();
    let is_exempt = |path: &Path| {
        let exempt = ["sys/files", "sys/kernel", "loadgen/load", "bench", "test-support", "tidy"];
        is_in(path, &exempt) || path.ends_with("blame/src/collect/fake.rs")
    };
    for (path, line) in program_lines(&sources, is_exempt) {
        let opens = OPENS_EXISTING.iter().any(|file| path.ends_with(format!("crates/{file}")));
        let allowed = |call: &str| opens && ["OpenOptions", "mknodat"].contains(&call);
        for call in CALLS.iter().filter(|call| !allowed(call)) {
            assert!(!line.contains(call), "{}: {line}\nuse sys::files", shown(path));
        }
        assert!(!(opens && line.contains(".create(true)")), "{}: {line}", shown(path));
    }
}

/// What a pure file does not name: I/O, clocks, and the modules that do both.
const DOES_IO: [&str; 12] = [
    "std::fs",
    "File::open",
    "process::Command",
    "std::env::var",
    "SystemTime",
    "sys::kernel",
    "sys::files",
    "host::cgroup",
    "host::ledger",
    "host::Ledger",
    "record::sample",
    "assay_bpf",
];

#[test]
fn pure_crates_open_no_files_and_start_no_processes() {
    let sources = sources();
    let is_exempt = |path: &Path| !is_in(path, &PURE) || is_in(path, &COLLECTS);
    for (path, line) in program_lines(&sources, is_exempt) {
        for call in DOES_IO {
            assert!(!line.contains(call), "{}: {line}", shown(path));
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    let sources = sources();
    let is_exempt = |path: &Path| is_in(path, &["cli", "bench", "test-support", "fuzzer"]);
    for (path, line) in program_lines(&sources, is_exempt) {
        for print in ["println!", "eprintln!", "print!(", "eprint!("] {
            assert!(!line.contains(print), "{}: {line}", shown(path));
        }
    }
}

#[test]
fn no_file_contains_paths_of_the_development_machine() {
    // Concatenated, so that this file does not contain them either.
    let places =
        [["/wo", "rk/"], ["registry.np", "mjs"], ["files.python", "hosted"], ["deb.deb", "ian"]];
    let mut checked = 0;
    for extension in ["rs", "toml", "md", "fio", "json"] {
        for path in files(&root(), extension) {
            let text = std::fs::read_to_string(&path).unwrap();
            for place in &places {
                assert!(
                    !text.contains(&place.concat()),
                    "{} names {}",
                    shown(&path),
                    place.concat()
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} files were found");
}

/// `make test` runs test binaries, which do not include tests in comments.
#[test]
fn comments_contain_no_tests() {
    for (path, text) in sources() {
        let fences = text.lines().map(str::trim).filter_map(|line| {
            let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
            comment.trim().strip_prefix("```")
        });
        // Every other fence ends a block.
        for kind in fences.step_by(2) {
            assert_eq!(kind, "text", "{} has a block of code in a comment", shown(&path));
        }
    }
}
