//! Runs system programs that prepare disks or report versions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use assay_sys::files::{directories, search_path};
use assay_sys::kernel::program::{self, Limits, Unfinished};
use assay_sys::kernel::{Error, Root, signal};

use crate::freezer::describe_survivor;

/// Finds `program` in the directories of PATH, then in the administrator's, which a user's PATH often
/// lacks. An empty or relative entry of PATH means a different program in each directory, including one
/// that someone else has put there, and is left out.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), program)
}

fn find_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    directories(path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| is_executable(candidate))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Finds `program`, or names the Debian package that provides it.
pub(crate) fn require(program: &str, package: &str) -> Result<PathBuf, Error> {
    find(program).ok_or_else(|| {
        Error::unexpected("find", Path::new(program), format!("apt-get install {package}"))
    })
}

/// Time limit for a program: mkfs on a slow disk of several terabytes takes minutes.
const TIME_LIMIT: Duration = Duration::from_secs(900);

/// Bytes of its output: mkfs and sfdisk print a few hundred.
const OUTPUT_LIMIT: u64 = 1 << 20;

/// Runs `program` with `input` on its standard input and returns its output and exit status. It is
/// killed at the time limit and on the user's second Ctrl-C.
pub(crate) fn run<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    input: &str,
) -> Result<Output, Error> {
    run_within(TIME_LIMIT, program, arguments, input)
}

fn run_within<A: AsRef<OsStr>>(
    limit: Duration,
    program: &Path,
    arguments: &[A],
    input: &str,
) -> Result<Output, Error> {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").env("PATH", search_path());
    let limits = Limits { time: limit, output: OUTPUT_LIMIT, stop: &signal::interrupted_twice };
    program::run(&mut command, input, &limits).map_err(|why| match why {
        Unfinished::Failed(cause) => Error::new("run", program, &cause),
        Unfinished::Killed { pid, survived: true, .. } => {
            let why = describe_survivor(&Root::real(), pid);
            Error::unexpected("run", program, format!("it survived SIGKILL: {why}"))
        }
        Unfinished::Killed { .. } => Error::unexpected("run", program, why.to_string()),
    })
}

/// Like [`run`], but an exit code other than 0 is an error that quotes the program's stderr.
pub(crate) fn succeed<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    input: &str,
) -> Result<Output, Error> {
    let output = run(program, arguments, input)?;
    if output.status.success() {
        return Ok(output);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let line: Vec<String> =
        arguments.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    let hint = format!("it ended with {} and wrote: {}", output.status, stderr.trim());
    Err(Error::unexpected("run", program, hint).with_value(&line.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_and_its_output_is_returned() {
        let cat = find("cat").unwrap();
        assert_eq!(succeed(&cat, &["-"], "hello").unwrap().stdout, b"hello");
        assert!(find("no-such-program-anywhere").is_none());
        assert!(require("no-such-program", "package").unwrap_err().to_string().contains("package"));
    }

    #[test]
    fn a_relative_path_entry_is_ignored() {
        let temp = tempfile::tempdir_in(".").unwrap();
        let program = temp.path().join("fio-of-another-user");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let relative = Path::new(temp.path().file_name().unwrap());
        assert!(is_executable(&relative.join("fio-of-another-user")));
        assert_eq!(find_in(relative.as_os_str(), "fio-of-another-user"), None);
        let whole = temp.path().canonicalize().unwrap();
        assert!(find_in(whole.as_os_str(), "fio-of-another-user").is_some());
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_and_named() {
        let sh = find("sh").unwrap();
        let begun = std::time::Instant::now();
        let limit = Duration::from_millis(200);
        let error = run_within(limit, &sh, &["-c", "exec sleep 60"], "").unwrap_err().to_string();
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert!(error.contains("it was killed after"), "{error}");
    }

    #[test]
    fn a_failing_program_is_an_error_that_quotes_stderr() {
        let sh = find("sh").unwrap();
        let error = succeed(&sh, &["-c", "echo bad disk >&2; exit 3"], "").unwrap_err();
        assert!(error.to_string().contains("bad disk"), "{error}");
    }
}
