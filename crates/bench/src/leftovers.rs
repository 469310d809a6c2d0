//! What a bench that was killed has left: groups with their loads, and disks, which its ledgers know, and its folder.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use assay_host::restore_all;
use assay_sys::files::Dir;
use assay_sys::kernel::Root;

use crate::failure::Failure;

/// What the names of the folders begin with.
pub(crate) const PREFIX: &str = "assay-bench-";

/// Restores the host and removes the folders of benches below `top`. All of them are dead: each makes its folder while it holds
/// the lock of the host, which this one holds.
pub(crate) fn remove(top: &Path, root: &Root) -> Result<(), Failure> {
    let dir = Dir::open(top).map_err(failed)?;
    for name in dir.names().map_err(failed)? {
        let is_ours = |folder: &Dir| {
            let own = rustix::process::geteuid().as_raw();
            folder.is_guarded() && folder.owner().is_ok_and(|owner| owner == own)
        };
        // What another user has put there is left alone: its ledgers would be carried out.
        let folder = dir.dir(&name).ok().filter(is_ours);
        if let Some(folder) = folder.filter(|_| is_of_bench(&name)) {
            restore(&folder, &top.join(&name), root)?;
        }
    }
    Ok(())
}

fn is_of_bench(name: &OsStr) -> bool {
    name.as_bytes().starts_with(PREFIX.as_bytes())
}

/// Each folder in it may have ledgers.
fn restore(folder: &Dir, path: &Path, root: &Root) -> Result<(), Failure> {
    for name in folder.names().map_err(failed)? {
        if folder.dir(&name).is_err() {
            continue;
        }
        let report = restore_all(&path.join(&name), root)?;
        let held = report.held.first().map(ToString::to_string);
        let live = report.live.first().map(|one| format!("`{}` is running", one.run_id));
        let open = report.ledgers.iter().find(|ledger| !ledger.complete);
        let open = open.map(|ledger| format!("`{}` could not be restored", ledger.run_id));
        if let Some(why) = held.or(live).or(open) {
            let remedy = "restore it with `ASSAY_STATE=THAT/FOLDER assay restore`";
            let place = path.join(&name);
            return Err(failed(format!("{}: {why}\n  hint: {remedy}", place.display())));
        }
    }
    std::fs::remove_dir_all(path).map_err(|cause| failed(format!("{}: {cause}", path.display())))
}

fn failed(reason: impl std::fmt::Display) -> Failure {
    Failure::Failed(reason.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use assay_host::Ledger;

    use super::*;

    #[test]
    fn groups_and_folder_of_a_dead_bench_are_removed_and_others_are_left_alone() {
        let (tree, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, top) = (Root::at(tree.path()), temporary.path());
        fs::create_dir_all(tree.path().join("sys/fs/cgroup")).unwrap();
        let folder = |name: &str| {
            let folder = top.join(name);
            fs::create_dir_all(folder.join("state")).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
            folder
        };
        let dead = folder("assay-bench-dead");
        let mut ledger = Ledger::begin(&dead.join("state"), "bench-1").unwrap();
        ledger.make_groups(&root, &["/sys/fs/cgroup/assay-bench-1".into()]).unwrap();
        drop(ledger);
        let other = folder("assay-other");
        let shared = folder("assay-bench-shared");
        fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
        symlink(&other, top.join("assay-bench-link")).unwrap();
        assert!(tree.path().join("sys/fs/cgroup/assay-bench-1").exists());
        remove(top, &root).unwrap();
        assert!(!tree.path().join("sys/fs/cgroup/assay-bench-1").exists() && !dead.exists());
        assert!(other.join("state").exists() && shared.exists());
    }
}
