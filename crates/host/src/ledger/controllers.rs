//! Taking back what was asked of a kernel file that does not read back what it took; among them the
//! controllers that a group on cgroup v2 hands down, which others may have come to need meanwhile.

use std::path::Path;

use assay_kernel::{Error, Root};
use rustix::io::Errno;

use super::queue::is_gone;

const FILE: &str = "cgroup.subtree_control";

/// Writes the inverse. A controller stays on where a group of somebody else hands it down itself by
/// now: systemd, for one, enables what a unit asks for, and does not look again.
pub(super) fn take_back(root: &Root, path: &Path, inverse: &str) -> Result<(), Error> {
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

/// Whether a group beside those of this run hands the controller down: one of another Assay, or one
/// of somebody else.
fn others_need(root: &Root, path: &Path, controller: &str, of_assay: bool) -> bool {
    let Some(base) = path.parent() else { return false };
    let groups = root.directories(base).unwrap_or_default();
    groups.iter().filter(|name| name.starts_with("assay") == of_assay).any(|name| {
        let handed_down = root.read(base.join(name).join(FILE)).unwrap_or_default();
        handed_down.split_whitespace().any(|word| word == controller)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Ledger;
    use super::*;

    #[test]
    fn a_controller_that_somebody_else_hands_down_by_now_stays_on() {
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
