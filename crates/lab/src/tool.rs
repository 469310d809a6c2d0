//! Programs that a guest needs on the host.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::cache::Cache;
use crate::error::Error;

/// The programs, found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tools {
    pub(crate) virtme: PathBuf,
    pub(crate) qemu: PathBuf,
}

const DEBIAN: &str = "apt-get install qemu-system-x86 busybox-static kmod cpio udev, or run \
                      scripts/setup lab";

/// Where udev's daemon is. A guest starts it from the host's files; without it there are no names
/// for the ports that a command's output goes through.
const UDEV: [&str; 2] = ["/usr/lib/systemd", "/lib/systemd"];

impl Tools {
    /// Finds them all, or names the first that is missing with its remedy. `virtme-run` is what
    /// `vng` itself calls; it reads no configuration file of the user.
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
            let what = "systemd-udevd (Debian's package udev) is not installed: nothing that a \
                        guest's programs say would be heard";
            return Err(Error::new(what).hint(DEBIAN));
        }
        let own = cache.path().join("virtme-ng/bin");
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

/// Where `program` is: in `first`, on PATH, or where administrators' programs are.
pub(crate) fn find(program: &str, first: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    first
        .iter()
        .cloned()
        .chain(std::env::split_paths(&path))
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Runs a program that ends by itself; an exit code other than 0 is an error with its own words.
pub(crate) fn succeed<A: AsRef<OsStr>>(
    program: &str,
    arguments: &[A],
    directory: &Path,
) -> Result<String, Error> {
    let output = call(program, arguments, directory)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words: Vec<String> =
        arguments.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!(
        "`{program} {}` ended with {}: {}",
        words.join(" "),
        output.status,
        said.trim().lines().last().unwrap_or("it said nothing")
    )))
}

fn call<A: AsRef<OsStr>>(
    program: &str,
    arguments: &[A],
    directory: &Path,
) -> Result<Output, Error> {
    let path = find(program, &[])
        .ok_or_else(|| Error::new(format!("the program {program} is not installed")))?;
    Command::new(&path)
        .args(arguments)
        .current_dir(directory)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| Error::new(format!("cannot run {}: {cause}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_an_error_with_its_last_words() {
        let here = Path::new("/");
        assert_eq!(succeed("echo", &["hello"], here).unwrap(), "hello\n");
        let error = succeed("sh", &["-c", "echo no such package >&2; exit 100"], here).unwrap_err();
        assert!(error.what.contains("no such package"), "{error}");
        assert!(succeed("no-such-program", &["x"], here).unwrap_err().what.contains("installed"));
    }

    #[test]
    fn the_lab_s_own_folder_comes_before_the_path() {
        use std::os::unix::fs::PermissionsExt;
        let own = tempfile::tempdir().unwrap();
        let program = own.path().join("sh");
        std::fs::write(&program, "").unwrap();
        assert_ne!(find("sh", &[own.path().to_owned()]).unwrap(), program, "not executable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("sh", &[own.path().to_owned()]).unwrap(), program);
    }
}
