//! Programs of the system that prepare disks or tell their version.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assay_kernel::Error;

/// Where `program` is: in the directories of PATH, then in those of the administrator, which a
/// user's PATH often lacks.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| is_executable(candidate))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Finds `program` or says which Debian package brings it.
pub(crate) fn require(program: &str, package: &str) -> Result<PathBuf, Error> {
    find(program).ok_or_else(|| {
        Error::unexpected("find", Path::new(program), format!("apt-get install {package}"))
    })
}

/// Runs `program` with `input` on its standard input and returns what it said and how it ended.
pub(crate) fn run<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    input: &str,
) -> Result<Output, Error> {
    let wrong = |cause: &std::io::Error| Error::new("run", program, cause);
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| wrong(&cause))?;
    if let Some(mut standard_input) = child.stdin.take() {
        // A program that reads no input closes the pipe; that is not an error.
        let _ = standard_input.write_all(input.as_bytes());
    }
    child.wait_with_output().map_err(|cause| wrong(&cause))
}

/// Like [`run`], but an exit code other than 0 is an error with the program's own words.
pub(crate) fn succeed<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    input: &str,
) -> Result<Output, Error> {
    let output = run(program, arguments, input)?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line: Vec<String> =
        arguments.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    let hint = format!("it ended with {} and said: {}", output.status, said.trim());
    Err(Error::unexpected("run", program, hint).with_value(&line.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_and_its_words_are_returned() {
        let cat = find("cat").unwrap();
        assert_eq!(succeed(&cat, &["-"], "hello").unwrap().stdout, b"hello");
        assert!(find("no-such-program-anywhere").is_none());
        assert!(require("no-such-program", "package").unwrap_err().to_string().contains("package"));
    }

    #[test]
    fn a_failing_program_is_an_error_with_its_own_words() {
        let sh = find("sh").unwrap();
        let error = succeed(&sh, &["-c", "echo bad disk >&2; exit 3"], "").unwrap_err();
        assert!(error.to_string().contains("bad disk"), "{error}");
    }
}
