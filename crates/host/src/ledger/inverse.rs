//! Kernel files whose written values cannot be read back: `cgroup.subtree_control` accepts `+io` and
//! shows `io`, `io.cost.qos` accepts one device's line and shows all.

use std::path::Path;

use assay_sys::kernel::{Error, Root};

use super::Ledger;
use super::change::Change;

impl Ledger {
    /// Writes `value` to a file that is restored by writing `inverse`.
    pub fn write_with_inverse(
        &mut self,
        root: &Root,
        path: &Path,
        value: &str,
        inverse: &str,
    ) -> Result<(), Error> {
        let change = Change::Request {
            path: path.to_owned(),
            inverse: inverse.to_owned(),
            set: value.to_owned(),
        };
        self.record(change, || root.write(path, value))
    }

    /// Whether this run has written `value` to `path` and not restored it.
    #[must_use]
    pub fn has_written(&self, path: &Path, value: &str) -> bool {
        self.entries().iter().any(|entry| {
            let same = matches!(&entry.change, Change::Request { path: known, set, .. }
                if known == path && set == value);
            same && !matches!(entry.restored, Some(Ok(())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_is_written_whatever_the_file_shows() {
        let tree = tempfile::tempdir().unwrap();
        let path = Path::new("/cgroup.subtree_control");
        std::fs::write(tree.path().join("cgroup.subtree_control"), "").unwrap();
        let root = Root::at(tree.path());
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        ledger.write_with_inverse(&root, path, "+io", "-io").unwrap();
        assert!(ledger.has_written(path, "+io"));
        assert!(ledger.restore(&root).is_empty());
        assert!(!ledger.has_written(path, "+io"));
        assert_eq!(root.read(path).unwrap(), "-io");
        assert!(ledger.finish().unwrap());
    }

    #[test]
    fn a_removed_file_needs_no_inverse() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let path = Path::new("/io.cost.qos");
        std::fs::write(tree.path().join("io.cost.qos"), "").unwrap();
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        ledger.write_with_inverse(&root, path, "7:8 enable=1", "7:8 enable=0").unwrap();
        std::fs::remove_file(tree.path().join("io.cost.qos")).unwrap();
        assert!(ledger.restore(&root).is_empty());
    }
}
