//! Host programs needed by guests.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use assay_sys::files::{Trust, directories, search_path};
use assay_sys::kernel::program::{self, Limits, Unfinished};
use assay_sys::kernel::{Root, blocked, signal};

use crate::cache::Cache;
use crate::error::Error;

/// Paths of the programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tools {
    pub(crate) virtme: PathBuf,
    pub(crate) qemu: PathBuf,
}

const DEBIAN: &str = "apt-get install qemu-system-x86 busybox-static kmod cpio udev, or run \
                      scripts/setup lab";

/// Location of udev's daemon. A guest starts it from the host's files; without it the ports for a
/// command's output have no names.
const UDEV: [&str; 2] = ["/usr/lib/systemd", "/lib/systemd"];

impl Tools {
    /// Finds all programs, or names the first missing one with a remedy. `virtme-run` is what `vng`
    /// itself runs; it reads no configuration file of the user.
    pub(crate) fn find(cache: &Cache) -> Result<Self, Error> {
        let qemu = find("qemu-system-x86_64", &[])
            .ok_or_else(|| Error::new("QEMU (qemu-system-x86_64) is not installed").hint(DEBIAN))?;
        for (program, package) in [("busybox", "busybox-static"), ("depmod", "kmod")] {
            if find(program, &[]).is_none() {
                let what = format!("{program} (Debian's package {package}) is not installed");
                return Err(Error::new(what).hint(DEBIAN));
            }
        }
        if find("systemd-udevd", &UDEV.map(PathBuf::from)).is_none() {
            let what = "systemd-udevd (Debian's package udev) is not installed: the output of a \
                        guest's programs would be lost";
            return Err(Error::new(what).hint(DEBIAN));
        }
        let own = own_program_dir(cache)?;
        let virtme = find("virtme-run", std::slice::from_ref(&own)).ok_or_else(|| {
            Error::new(format!(
                "virtme-ng (virtme-run) is neither on PATH nor in {}",
                own.display()
            ))
            .hint(format!(
                "run scripts/setup lab, or: python3 -m venv {0} && {0}/bin/pip install virtme-ng",
                cache.path().join("virtme-ng").display()
            ))
        })?;
        Ok(Self { virtme, qemu })
    }
}

/// The lab's own program folder, which no other user may change: its programs are started, as root
/// if the caller is root.
fn own_program_dir(cache: &Cache) -> Result<PathBuf, Error> {
    let own = cache.path().join("virtme-ng/bin");
    match assay_sys::files::check(&own, None, Trust::Checked) {
        Ok(_) => Ok(own),
        Err(error) => {
            let what = format!("programs in {} are not started: {}", own.display(), error.cause);
            let hint = "make it writable only by you and root (`chown`, `chmod go-w`), or set \
                        ASSAY_LAB_CACHE to another folder";
            Err(Error::new(what).hint(hint))
        }
    }
}

/// Searches for `program` in `first`, in the directories of PATH, and in the usual sbin
/// directories.
pub(crate) fn find(program: &str, first: &[PathBuf]) -> Option<PathBuf> {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), program, first)
}

fn find_in(path: &OsStr, program: &str, first: &[PathBuf]) -> Option<PathBuf> {
    first
        .iter()
        .cloned()
        .chain(directories(path))
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Runs a program to its end; an exit code other than 0 is an error with its last line of stderr.
pub(crate) fn succeed<A: AsRef<OsStr>>(
    program: &str,
    arguments: &[A],
    directory: &Path,
) -> Result<String, Error> {
    let output = run(program, arguments, directory, &LIMITS)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words: Vec<String> =
        arguments.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!(
        "`{program} {}` ended with {}: {}",
        words.join(" "),
        output.status,
        stderr.trim().lines().last().unwrap_or("no error message")
    )))
}

/// Limits of a program: downloading a kernel over a slow network takes minutes, and the longest output is
/// a list of packages, of some kilobytes. Ctrl-C ends it.
const LIMITS: Limits<'_> = Limits {
    time: Duration::from_secs(15 * 60),
    output: 1 << 20,
    stop: &|| signal::interrupted_by().is_some(),
};

fn run<A: AsRef<OsStr>>(
    program: &str,
    arguments: &[A],
    directory: &Path,
    limits: &Limits<'_>,
) -> Result<Output, Error> {
    let path = find(program, &[])
        .ok_or_else(|| Error::new(format!("the program {program} is not installed")))?;
    let mut command = Command::new(&path);
    command
        .args(arguments)
        .current_dir(directory)
        .env("LC_ALL", "C")
        .env("PATH", search_path())
        // apt-get downloads in processes of their own, which end with it.
        .process_group(0);
    program::run(&mut command, "", limits).map_err(|why| {
        let what = Error::new(format!("cannot run {}: {why}", path.display()));
        match why {
            Unfinished::Killed { pid, survived: true, .. } => what.hint(format!(
                "process {pid} survived SIGKILL: {}",
                blocked::describe(&Root::real(), pid)
            )),
            _ => what,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_program_is_an_error_with_its_last_line() {
        let here = Path::new("/");
        assert_eq!(succeed("echo", &["hello"], here).unwrap(), "hello\n");
        let error = succeed("sh", &["-c", "echo no such package >&2; exit 100"], here).unwrap_err();
        assert!(error.what.contains("no such package"), "{error}");
        assert!(succeed("no-such-program", &["x"], here).unwrap_err().what.contains("installed"));
    }

    #[test]
    fn a_program_that_hangs_or_prints_too_much_is_killed_and_named() {
        let why = |script: &str, limits: &Limits<'_>| {
            run("sh", &["-c", script], Path::new("/"), limits).unwrap_err().to_string()
        };
        let begun = std::time::Instant::now();
        let error = why("exec sleep 100", &Limits { time: Duration::from_millis(200), ..LIMITS });
        assert!(error.contains("/sh: it was killed after 0."), "{error}");
        let error = why("yes", &LIMITS);
        assert!(error.contains("/sh: it printed more than 1048576 bytes"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    }

    #[test]
    fn programs_that_others_can_replace_are_not_started() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        let bin = place.path().join("virtme-ng/bin");
        assert_eq!(own_program_dir(&cache).unwrap(), bin, "a missing folder is accepted");
        std::fs::create_dir_all(&bin).unwrap();
        for (path, mode) in [(bin.as_path(), 0o777), (place.path(), 0o777)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = own_program_dir(&cache).unwrap_err().to_string();
            assert!(error.contains("0777") && error.contains("ASSAY_LAB_CACHE"), "{error}");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert!(own_program_dir(&cache).is_ok());
    }

    /// Programs in the current directory must not be started as root.
    #[test]
    fn relative_entries_of_the_path_are_ignored() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir_in(".").unwrap();
        let program = place.path().join("virtme-run-of-somebody-else");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let relative = Path::new(place.path().file_name().unwrap());
        assert!(is_executable(&relative.join("virtme-run-of-somebody-else")));
        let find = |path: &Path| find_in(path.as_os_str(), "virtme-run-of-somebody-else", &[]);
        assert_eq!(find(relative), None);
        assert!(find(&place.path().canonicalize().unwrap()).is_some());
    }

    #[test]
    fn the_lab_s_own_folder_precedes_the_path() {
        use std::os::unix::fs::PermissionsExt;
        let own = tempfile::tempdir().unwrap();
        let program = own.path().join("sh");
        std::fs::write(&program, "").unwrap();
        assert_ne!(find("sh", &[own.path().to_owned()]).unwrap(), program, "not executable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("sh", &[own.path().to_owned()]).unwrap(), program);
    }
}
