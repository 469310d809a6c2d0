//! Where programs are looked for, and where those that are started look for theirs.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Where programs are looked for when PATH names no place that counts.
const USUAL: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The directories of a PATH. An entry that is empty or relative means another program in each
/// directory, also one that somebody else has put there, and is left out.
pub fn directories(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter(|directory| directory.is_absolute())
}

/// The PATH for a program that is started: what counts of that of this process.
#[must_use]
pub fn search_path() -> OsString {
    counting(&std::env::var_os("PATH").unwrap_or_default())
}

fn counting(path: &OsStr) -> OsString {
    // What was split is joined again: it holds no colon.
    let joined = std::env::join_paths(directories(path)).unwrap_or_default();
    // An empty one would mean the directory that the program works in (execvp(3)).
    if joined.is_empty() { USUAL.into() } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_entry_of_the_path_leads_no_program_astray() {
        for (path, wanted) in
            [(":/a:.:b/c:/d/e:", "/a:/d/e"), ("/a", "/a"), (".", USUAL), ("::", USUAL), ("", USUAL)]
        {
            assert_eq!(counting(OsStr::new(path)), wanted, "{path:?}");
        }
    }
}
