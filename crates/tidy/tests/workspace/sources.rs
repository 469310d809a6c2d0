//! What source files may and may not contain.

use std::path::{Path, PathBuf};

use crate::rooms::PURE;
use crate::tree::{files, is_test, room, root, shown, without_tests};

fn sources() -> Vec<(PathBuf, String)> {
    files(&root().join("crates"), "rs")
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

/// The program's lines, with their files; comments left out.
fn program_lines(sources: &[(PathBuf, String)]) -> impl Iterator<Item = (&Path, &str)> {
    sources.iter().filter(|(path, _)| !is_test(path)).flat_map(|(path, text)| {
        let lines = without_tests(text).lines().map(str::trim);
        lines.filter(|line| !line.starts_with("//")).map(move |line| (path.as_path(), line))
    })
}

#[test]
fn files_are_short_and_ascii() {
    for (path, text) in sources() {
        let limit = if is_test(&path) { 1000 } else { 600 };
        let lines = text.lines().count();
        assert!(lines <= limit, "{} has {lines} lines, more than {limit}", shown(&path));
        assert!(text.is_ascii(), "{} is not ASCII", shown(&path));
    }
}

#[test]
fn every_file_begins_with_what_it_owns() {
    for (path, text) in sources() {
        assert!(text.starts_with("//!"), "{} does not begin with `//!`", shown(&path));
    }
}

#[test]
fn names_say_what_and_not_nothing() {
    for (path, _) in sources() {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        for empty in ["utils", "util", "common", "helpers", "helper", "manager", "misc"] {
            assert_ne!(stem, empty, "{}", shown(&path));
        }
    }
}

#[test]
fn unsafe_code_is_allowed_in_kernel_and_in_the_file_that_calls_rocksdb() {
    for (path, text) in sources() {
        let allows = text.contains(concat!("allow(unsafe", "_code)"));
        let calls_rocksdb = path.ends_with("crates/load/src/ycsb/rocksdb/ffi.rs");
        assert!(
            !allows || room(&path) == "kernel" || calls_rocksdb || is_test(&path),
            "{} allows unsafe code",
            shown(&path)
        );
    }
}

#[test]
fn nothing_but_kernel_opens_the_kernel_s_files() {
    let sources = sources();
    for (path, line) in program_lines(&sources) {
        if ["kernel", "bench", "testbed"].contains(&room(path).as_str()) {
            continue;
        }
        let opens = ["fs::", "File::", "OpenOptions"].iter().any(|door| line.contains(door));
        let of_kernel = line.contains("\"/proc") || line.contains("\"/sys");
        assert!(!(opens && of_kernel), "{}: {line}", shown(path));
    }
}

/// One door: what creates, replaces or removes a file works from descriptors, in `files`; kernel
/// files below a `Root` are the kernel room's. The load generators stand alone and write where they
/// are told; the bench and what tests share are no part of the program.
#[test]
fn nothing_but_files_creates_replaces_and_removes() {
    const DOORS: [&str; 17] = [
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
    // They create no file. One asks the kernel, as a probe, whether it may make a device node: the others open
    // what is there.
    const OPENS_WHAT_IS_THERE: [&str; 2] =
        ["conform/src/probe/device.rs", "host/src/ledger/loop_device.rs"];
    let sources = sources();
    for (path, line) in program_lines(&sources) {
        let exempt = ["files", "kernel", "load", "bench", "testbed", "house"];
        let opens = OPENS_WHAT_IS_THERE.iter().any(|file| path.ends_with(format!("crates/{file}")));
        let is_test =
            ["fake", "model"].map(Some).contains(&path.file_stem().and_then(|s| s.to_str()));
        if exempt.contains(&room(path).as_str()) || is_test && room(path) == "host" {
            continue;
        }
        let may = |door: &str| opens && ["OpenOptions", "mknodat"].contains(&door);
        for door in DOORS.iter().filter(|door| !may(door)) {
            assert!(!line.contains(door), "{}: {line}\nuse the crate files", shown(path));
        }
        assert!(!(opens && line.contains(".create(true)")), "{}: {line}", shown(path));
    }
}

#[test]
fn the_pure_rooms_open_no_files_and_start_no_processes() {
    let sources = sources();
    for (path, line) in program_lines(&sources) {
        if !PURE.contains(&room(path).as_str()) || path.ends_with("build.rs") {
            continue;
        }
        for door in ["std::fs", "File::open", "process::Command", "std::env::var", "SystemTime"] {
            assert!(!line.contains(door), "{}: {line}", shown(path));
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    let sources = sources();
    for (path, line) in program_lines(&sources) {
        if ["cli", "bench", "testbed", "fuzz"].contains(&room(path).as_str()) {
            continue;
        }
        for print in ["println!", "eprintln!", "print!(", "eprint!("] {
            assert!(!line.contains(print), "{}: {line}", shown(path));
        }
    }
}

#[test]
fn nothing_names_a_place_of_the_machine_it_was_written_on() {
    // Assembled, so that this file does not name them either.
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

/// `make test` runs test binaries, which tests in comments are not part of.
#[test]
fn no_test_stands_in_a_comment() {
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
