//! Runs system programs that prepare disks or report versions.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use assay_files::{directories, search_path};
use assay_kernel::{Error, Root, process, signal};
use rustix::process::Signal;

use crate::ledger::describe_survivor;

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

/// Time for a killed program to end.
const AFTER_KILL: Duration = Duration::from_secs(5);

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
    let wrong = |cause: &std::io::Error| Error::new("run", program, cause);
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .env("PATH", search_path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| wrong(&cause))?;
    let pid = child.id();
    if let Some(mut standard_input) = child.stdin.take() {
        // A program that reads no input closes the pipe; that is not an error.
        let _ = standard_input.write_all(input.as_bytes());
    }
    // A thread waits, because a process that survives SIGKILL has to be abandoned.
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let begun = Instant::now();
    while begun.elapsed() < limit && !signal::interrupted_twice() {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(output) => return output.map_err(|cause| wrong(&cause)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let root = Root::real();
    let why = describe_survivor(&root, pid);
    // It has not been reaped, so its process id is still valid.
    let _ = process::send(pid, Signal::KILL);
    let ended = receiver.recv_timeout(AFTER_KILL).is_ok();
    let hint = match ended {
        true => format!("it was killed after {:?}", begun.elapsed()),
        false => format!("it survived SIGKILL: {why}"),
    };
    Err(Error::unexpected("run", program, hint))
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
        let begun = Instant::now();
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
