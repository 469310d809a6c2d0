//! Finds the program before anything is changed, with the exit codes of shells.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a program cannot be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRunnable {
    /// The program, and what is wrong with it.
    pub message: String,
    /// The exit code of shells: 127 for not found, 126 for not executable (POSIX, 2.8.2).
    pub exit_code: u8,
}

impl std::fmt::Display for NotRunnable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NotRunnable {}

/// The file of `program`: itself if it contains a slash, else the first executable of that name in
/// `path` (the PATH of the environment), as execvp(3) finds it.
pub(crate) fn find(program: &OsStr, path: Option<OsString>) -> Result<PathBuf, NotRunnable> {
    if program.as_bytes().contains(&b'/') {
        return check(Path::new(program)).map(|()| PathBuf::from(program));
    }
    let mut not_executable = None;
    for directory in std::env::split_paths(&path.unwrap_or_default()) {
        let candidate = directory.join(program);
        match check(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(wrong) if wrong.exit_code == 126 => {
                not_executable.get_or_insert(wrong);
            }
            Err(_) => {}
        }
    }
    Err(not_executable.unwrap_or_else(|| NotRunnable {
        message: format!("no program `{}` in PATH", program.to_string_lossy()),
        exit_code: 127,
    }))
}

fn check(path: &Path) -> Result<(), NotRunnable> {
    let wrong = |what: &str, exit_code| {
        Err(NotRunnable { message: format!("{} {what}", path.display()), exit_code })
    };
    match path.metadata() {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => wrong("does not exist", 127),
        Err(cause) => wrong(&format!("cannot be inspected: {cause}"), 126),
        Ok(metadata) if metadata.is_dir() => wrong("is a directory", 126),
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => {
            wrong("is not executable", 126)
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(program: &Path, path: Option<&Path>) -> Result<PathBuf, u8> {
        let path = path.map(|path| path.as_os_str().to_owned());
        find(program.as_os_str(), path).map_err(|wrong| wrong.exit_code)
    }

    #[test]
    fn a_missing_program_gives_127_and_one_not_executable_126() {
        let tree = tempfile::tempdir().unwrap();
        let (text, program) = (tree.path().join("text"), tree.path().join("program"));
        std::fs::write(&text, "").unwrap();
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(code(&program, None), Ok(program.clone()));
        assert_eq!(code(&text, None), Err(126));
        assert_eq!(code(tree.path(), None), Err(126));
        assert_eq!(code(&tree.path().join("none"), None), Err(127));
        assert_eq!(code(Path::new("program"), Some(tree.path())), Ok(program));
        assert_eq!(code(Path::new("text"), Some(tree.path())), Err(126));
        assert_eq!(code(Path::new("none"), Some(tree.path())), Err(127));
        assert_eq!(code(Path::new("none"), None), Err(127));
    }
}
