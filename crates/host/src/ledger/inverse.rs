//! Files that do not read back what was written into them: `cgroup.subtree_control` takes `+io`
//! and shows `io`, `io.cost.qos` takes one device's line and shows all.

use std::path::Path;

use assay_kernel::{Error, Root};

use super::Ledger;
use super::change::Change;

impl Ledger {
    /// Writes `value` into a file whose former state is brought back by writing `inverse`.
    pub fn write_with_inverse(
        &mut self,
        root: &Root,
        path: &Path,
        value: &str,
        inverse: &str,
    ) -> Result<(), Error> {
        let change = Change::WriteFile {
            path: path.to_owned(),
            before: inverse.to_owned(),
            set: value.to_owned(),
        };
        self.record(change, || root.write(path, value))
    }

    /// Whether this run has written `value` to `path` and not taken it back.
    #[must_use]
    pub fn has_written(&self, path: &Path, value: &str) -> bool {
        self.entries.iter().any(|entry| {
            let same = matches!(&entry.change, Change::WriteFile { path: known, set, .. }
                if known == path && set == value);
            same && !matches!(entry.restored, Some(Ok(())))
        })
    }
}
