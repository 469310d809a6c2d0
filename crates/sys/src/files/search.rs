//! Directories searched for programs, and the PATH passed on to those that are started.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The directories searched when PATH has no usable entry.
const USUAL: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The usable directories of a PATH. An empty or relative entry means a different program in each
/// directory, including one that someone else has put there, and is left out.
pub fn directories(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter(|directory| directory.is_absolute())
}

/// The PATH for programs that are started: the usable entries of this process's own.
#[must_use]
pub fn search_path() -> OsString {
    usable(&std::env::var_os("PATH").unwrap_or_default())
}

fn usable(path: &OsStr) -> OsString {
    // Split entries hold no colon, so they can be joined again.
    let joined = std::env::join_paths(directories(path)).unwrap_or_default();
    // An empty PATH would mean the working directory of the program (execvp(3)).
    if joined.is_empty() { USUAL.into() } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_path_entries_are_ignored() {
        for (path, expected) in
            [(":/a:.:b/c:/d/e:", "/a:/d/e"), ("/a", "/a"), (".", USUAL), ("::", USUAL), ("", USUAL)]
        {
            assert_eq!(usable(OsStr::new(path)), expected, "{path:?}");
        }
    }
}
