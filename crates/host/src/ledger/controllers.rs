//! Restores requests to kernel files that cannot be read back, including controllers enabled on cgroup
//! v2, which others may have come to need meanwhile.

use std::path::Path;

use assay_sys::kernel::{Error, Root};
use rustix::io::Errno;

use super::queue::is_gone;

const FILE: &str = "cgroup.subtree_control";

/// Writes the inverse. A controller stays enabled where a group of someone else enables it for its own
/// children by now: systemd, for one, enables what a unit needs, and does not check again.
pub(super) fn restore(root: &Root, path: &Path, inverse: &str) -> Result<(), Error> {
    let controller = inverse.strip_prefix('-').filter(|_| path.ends_with(FILE));
    let is_needed = || controller.is_some_and(|name| others_need(root, path, name, false));
    if is_needed() {
        return Ok(());
    }
    match root.write(path, inverse) {
        Err(error) if is_gone(&error) => Ok(()),
        Err(error) if error.is(Errno::BUSY) && is_needed() => Ok(()),
        Err(error) if controller.is_some_and(|name| others_need(root, path, name, true)) => {
            Err(error.with_hint(
                "a group of another Assay uses it: run `assay restore` once that has ended",
            ))
        }
        other => other,
    }
}

/// Whether a group that is not of this run enables the controller for its children: a group of another
/// Assay, or of someone else.
fn others_need(root: &Root, path: &Path, controller: &str, of_assay: bool) -> bool {
    let Some(base) = path.parent() else { return false };
    let groups = root.directories(base).unwrap_or_default();
    groups.iter().filter(|name| name.starts_with("assay") == of_assay).any(|name| {
        let enabled = root.read(base.join(name).join(FILE)).unwrap_or_default();
        enabled.split_whitespace().any(|word| word == controller)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Ledger;
    use super::*;

    #[test]
    fn a_controller_needed_by_someone_else_stays_enabled() {
        for (group, stays) in [("system.slice", true), ("assay-other", false)] {
            let tree = tempfile::tempdir().unwrap();
            let path = Path::new("/cgroup.subtree_control");
            std::fs::write(tree.path().join(FILE), "").unwrap();
            let root = Root::at(tree.path());
            let state = tempfile::tempdir().unwrap();
            let mut ledger = Ledger::begin(state.path(), "run").unwrap();
            ledger.write_with_inverse(&root, path, "+io", "-io").unwrap();
            std::fs::create_dir(tree.path().join(group)).unwrap();
            std::fs::write(tree.path().join(group).join(FILE), "cpu io").unwrap();
            assert!(ledger.restore(&root).is_empty());
            assert_eq!(root.read(path).unwrap() == "+io", stays, "{group}");
            assert!(ledger.finish().unwrap());
        }
    }
}
