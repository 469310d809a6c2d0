//! Files of control groups that others made, changed for moments: `assay blame --prove` freezes a group, takes
//! its weight down or lifts its quota.

use std::path::Path;

use assay_sys::files::{Dir, Identity};
use assay_sys::kernel::{Error, Root};

use super::Ledger;
use super::change::Change;
use super::queue::{is_gone, value_of, write_back_one};

/// Files that freeze, with what is in them while the group runs.
const FREEZERS: [(&str, &str); 2] = [("cgroup.freeze", "0"), ("freezer.state", "THAWED")];

/// Files with numbers.
const NUMBERS: [&str; 4] = ["cpu.weight", "cpu.shares", "cpu.max", "cpu.cfs_quota_us"];

impl Ledger {
    /// Writes `value` to a file of a group of someone else. Restored only while the same group has the path: one
    /// that was removed, and made again since, keeps what its owner has set.
    pub fn write_group_file(&mut self, root: &Root, path: &Path, value: &str) -> Result<(), Error> {
        let group = identity(root, path)?;
        let before = value_of(&root.read(path)?);
        if !is_restorable(path, &before) {
            let hint = format!("it contains `{before}`, which is not changed for moments");
            return Err(Error::unexpected("change", path, hint));
        }
        let (device, inode) = (group.device, group.inode);
        let set = value.trim().to_owned();
        let change = Change::SetGroup { path: path.to_owned(), before, set, device, inode };
        self.record(change, || root.write(path, value))
    }
}

/// Writes `before` back if the group is still the same.
pub(super) fn restore(root: &Root, path: &Path, before: &str, then: Identity) -> Result<(), Error> {
    match identity(root, path) {
        Ok(now) if now == then => write_back_one(root, path, before),
        Err(error) if !is_gone(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Whether a run may have found this value in this file and changed it: a group that its owner froze stays frozen.
pub(super) fn is_restorable(path: &Path, before: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_number = |text: &str| text == "max" || text.parse::<i64>().is_ok();
    FREEZERS.contains(&(name, before))
        || NUMBERS.contains(&name) && !before.is_empty() && before.split(' ').all(is_number)
}

fn identity(root: &Root, path: &Path) -> Result<Identity, Error> {
    Ok(Dir::open(&root.resolve(path.parent().unwrap_or(path)))?.identity()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn group() -> (tempfile::TempDir, Root, Ledger) {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("g")).unwrap();
        fs::write(tree.path().join("g/cgroup.freeze"), "0\n").unwrap();
        fs::write(tree.path().join("g/cpu.max"), "50000 100000\n").unwrap();
        let root = Root::at(tree.path());
        let ledger = Ledger::begin(&tree.path().join("state"), "run").unwrap();
        (tree, root, ledger)
    }

    #[test]
    fn values_of_a_group_are_written_back() {
        let (_tree, root, mut ledger) = group();
        ledger.write_group_file(&root, Path::new("/g/cpu.max"), "max 100000").unwrap();
        ledger.write_group_file(&root, Path::new("/g/cgroup.freeze"), "1").unwrap();
        assert_eq!(root.read("/g/cgroup.freeze").unwrap(), "1");
        assert_eq!(ledger.restore(&root), []);
        assert_eq!(root.read("/g/cgroup.freeze").unwrap(), "0");
        assert_eq!(root.read("/g/cpu.max").unwrap(), "50000 100000");
        assert!(ledger.finish().unwrap());
    }

    #[test]
    fn a_group_that_was_made_again_keeps_what_it_has() {
        let (tree, root, mut ledger) = group();
        ledger.write_group_file(&root, Path::new("/g/cgroup.freeze"), "1").unwrap();
        fs::rename(tree.path().join("g"), tree.path().join("old")).unwrap();
        fs::create_dir(tree.path().join("g")).unwrap();
        fs::write(tree.path().join("g/cgroup.freeze"), "1").unwrap();
        assert_eq!(ledger.restore(&root), []);
        assert_eq!(root.read("/g/cgroup.freeze").unwrap(), "1");
        assert!(ledger.finish().unwrap());
    }

    #[test]
    fn a_group_that_its_owner_froze_is_not_touched() {
        let (_tree, root, mut ledger) = group();
        root.write("/g/cgroup.freeze", "1").unwrap();
        let error = ledger.write_group_file(&root, Path::new("/g/cgroup.freeze"), "1").unwrap_err();
        assert!(error.to_string().contains("it contains `1`"), "{error}");
        assert!(ledger.changes().is_empty());
    }

    /// Whatever else a restore waits for, the group runs again first.
    #[test]
    fn a_group_is_thawed_before_anything_else_is_restored() {
        let (tree, root, mut ledger) = group();
        ledger.write_group_file(&root, Path::new("/g/cgroup.freeze"), "1").unwrap();
        ledger.make_dir(&root, Path::new("/assay-later")).unwrap();
        // This cannot be restored, and shows what was in the group's file when it was tried.
        fs::write(tree.path().join("assay-later/file"), "").unwrap();
        let state = tree.path().join("state");
        let journal = || fs::read_to_string(state.join("ledger/run.jsonl")).unwrap();
        assert_eq!(ledger.restore(&root).len(), 1);
        assert!(journal().contains(r#""back":{"entry":0}"#), "{}", journal());
        let order = ledger.restore_order();
        assert_eq!(order, [0, 1]);
    }
}
