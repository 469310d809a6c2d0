//! The programs under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The exit code and output of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `assay` in a folder, with its state there.
pub(crate) fn assay<S: AsRef<std::ffi::OsStr>>(
    folder: &Path,
    words: impl IntoIterator<Item = S>,
) -> Ended {
    run(Path::new(env!("CARGO_BIN_EXE_assay")), folder, words)
}

/// The path of `assay-load`, if it was built.
pub(crate) fn assay_load() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_assay")).with_file_name("assay-load");
    beside.is_file().then_some(beside)
}

/// Runs a program to its end.
pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(
    program: &Path,
    folder: &Path,
    words: impl IntoIterator<Item = S>,
) -> Ended {
    let output = Command::new(program)
        .args(words)
        .current_dir(folder)
        .env("ASSAY_STATE", folder.join("state"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}
