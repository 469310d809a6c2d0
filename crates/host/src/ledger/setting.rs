//! Settings of the whole machine: sysctls and their like.
//!
//! Most are independent and are written like any other file. Of some pairs only one is in effect, and
//! the kernel zeroes the other when one is written (mm/page-writeback.c); some make it recompute a
//! further one.

use std::path::Path;

use assay_sys::kernel::{Error, Root};
use rustix::io::Errno;

use super::Ledger;
use super::change::Change;
use super::crash_point::crash_point;
use super::queue::value_of;
use super::queue::{is_gone, write_back_one};

impl Ledger {
    /// Saves the contents of a file that later changes may alter as a side effect. It is written back
    /// only if it differs by then.
    pub fn keep_file(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        let before = value_of(&root.read(path)?);
        let set = before.clone();
        self.record(Change::WriteFile { path: path.to_owned(), before, set, disk: None }, || Ok(()))
    }

    /// Writes `value`, which is not 0, to one of a pair of files of which the kernel then zeroes the
    /// `other`; nothing if the file already contains it.
    pub fn write_one_of(
        &mut self,
        root: &Root,
        path: &Path,
        value: &str,
        other: &Path,
    ) -> Result<(), Error> {
        let before = value_of(&root.read(path)?);
        let set = value.trim().to_owned();
        if before == set {
            return Ok(());
        }
        let change = Change::WriteOneOf {
            path: path.to_owned(),
            before,
            set,
            other: other.to_owned(),
            other_before: value_of(&root.read(other)?),
        };
        self.record(change, || root.write(path, value))
    }
}

/// Restores both files. The one that was in effect is written, which zeroes the other. Neither can be
/// set to 0 while the other is in effect (`dirty_bytes` refuses less than two pages).
pub(super) fn write_back_pair(
    root: &Root,
    one: (&Path, &str),
    two: (&Path, &str),
) -> Result<(), Error> {
    let (active, zero) = if one.1 == "0" { (two, one) } else { (one, two) };
    write_back_one(root, active.0, active.1)?;
    crash_point()?;
    match write_back_one(root, zero.0, zero.1) {
        // Both were 0. The kernel zeroes an amount only when it sees the ratio change.
        Err(error) if error.is(Errno::INVAL) => through_another_value(root, zero, active),
        other => other,
    }
}

fn through_another_value(
    root: &Root,
    amount: (&Path, &str),
    ratio: (&Path, &str),
) -> Result<(), Error> {
    match root.write(ratio.0, "1") {
        Err(error) if is_gone(&error) => return Ok(()),
        other => other?,
    }
    crash_point()?;
    write_back_one(root, ratio.0, ratio.1)?;
    crash_point()?;
    write_back_one(root, amount.0, amount.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(ratio: &str, bytes: &str) -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("ratio"), ratio).unwrap();
        std::fs::write(tree.path().join("bytes"), bytes).unwrap();
        let root = Root::at(tree.path());
        (tree, root)
    }

    #[test]
    fn both_of_a_pair_are_restored_whichever_was_in_effect() {
        let (ratio, bytes) = (Path::new("/ratio"), Path::new("/bytes"));
        for (before, written) in [(("20", "0"), bytes), (("0", "65536"), ratio)] {
            let (_tree, root) = tree(before.0, before.1);
            let state = tempfile::tempdir().unwrap();
            let mut ledger = Ledger::begin(state.path(), "run").unwrap();
            let other = if written == bytes { ratio } else { bytes };
            ledger.write_one_of(&root, written, "99999", other).unwrap();
            // Side effect of the kernel.
            root.write(other, "0").unwrap();
            assert_eq!(ledger.restore(&root), []);
            let now = (root.read(ratio).unwrap(), root.read(bytes).unwrap());
            assert_eq!((now.0.as_str(), now.1.as_str()), before);
        }
    }

    #[test]
    fn a_saved_file_is_written_back_only_if_it_changed() {
        let (tree, root) = tree("20\n", "0");
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        ledger.keep_file(&root, Path::new("/ratio")).unwrap();
        assert_eq!(ledger.restore(&root), []);
        let untouched = std::fs::read_to_string(tree.path().join("ratio")).unwrap();
        assert_eq!(untouched, "20\n", "it was not written");
        assert!(ledger.finish().unwrap());
        let mut ledger = Ledger::begin(state.path(), "again").unwrap();
        ledger.keep_file(&root, Path::new("/ratio")).unwrap();
        root.write("/ratio", "30").unwrap();
        assert_eq!(ledger.restore(&root), []);
        assert_eq!(root.read("/ratio").unwrap(), "20");
    }
}
