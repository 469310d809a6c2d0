//! Programs that a guest needs on the host.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assay_files::{Trust, directories, search_path};

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
        let own = own_programs(cache)?;
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

/// The lab's own programs, which nobody else can exchange: what lies there is started, as root where
/// root calls.
fn own_programs(cache: &Cache) -> Result<PathBuf, Error> {
    let own = cache.path().join("virtme-ng/bin");
    match assay_files::check(&own, None, Trust::Checked) {
        Ok(_) => Ok(own),
        Err(error) => {
            let what = format!("what lies in {} is not started: {}", own.display(), error.cause);
            let hint = "make it yours and root's alone (`chown`, `chmod go-w`), or name another \
                        folder with ASSAY_LAB_CACHE";
            Err(Error::new(what).hint(hint))
        }
    }
}

/// Where `program` is: in `first`, in the directories of PATH, or where administrators' programs are.
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
        .env("PATH", search_path())
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
    fn programs_that_others_can_exchange_are_not_started() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        let bin = place.path().join("virtme-ng/bin");
        assert_eq!(own_programs(&cache).unwrap(), bin, "what is missing is nobody's");
        std::fs::create_dir_all(&bin).unwrap();
        for (path, mode) in [(bin.as_path(), 0o777), (place.path(), 0o777)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = own_programs(&cache).unwrap_err().to_string();
            assert!(error.contains("0777") && error.contains("ASSAY_LAB_CACHE"), "{error}");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert!(own_programs(&cache).is_ok());
    }

    /// What lies in the directory that somebody works in is not started as root.
    #[test]
    fn the_lab_looks_in_no_relative_entry_of_the_path() {
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
