//! For tests: ledgers written by someone who knows the format, on a host with files of someone else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assay_sys::kernel::Root;
use tempfile::TempDir;

use super::change::Change;
use super::line::{FORMAT, Header, Line};
use super::{LedgerRestore, restore_all};

pub(super) fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A host in a folder, with files of someone else on it.
pub(super) fn host() -> (TempDir, Root) {
    let tree = in_memory();
    for folder in
        ["srv/theirs/inner", "sys/fs/cgroup/foreign", "sys/block", "etc", "proc/sys/kernel"]
    {
        fs::create_dir_all(tree.path().join(folder)).unwrap();
    }
    for file in ["srv/theirs/inner/file", "etc/shadow", "proc/sys/kernel/core_pattern"] {
        fs::write(tree.path().join(file), "theirs").unwrap();
    }
    fs::write(tree.path().join("sys/fs/cgroup/release_agent"), "theirs").unwrap();
    let root = Root::at(tree.path());
    (tree, root)
}

pub(super) fn assert_foreign_files_unchanged(tree: &TempDir) {
    for file in ["srv/theirs/inner/file", "etc/shadow", "proc/sys/kernel/core_pattern"] {
        assert_eq!(fs::read_to_string(tree.path().join(file)).unwrap(), "theirs", "{file}");
    }
    let agent = tree.path().join("sys/fs/cgroup/release_agent");
    assert_eq!(fs::read_to_string(agent).unwrap(), "theirs");
    assert!(tree.path().join("sys/fs/cgroup/foreign").is_dir());
}

/// A ledger written by someone who knows the format, including the seals.
pub(super) fn forged(state: &Path, changes: Vec<Change>) {
    let is_tree = |change: &Change| {
        matches!(change, Change::MakeTree { .. } | Change::MakeFile { .. }).then_some((0, 0))
    };
    forged_as(state, changes, &is_tree);
}

/// The same, with a claimed device and inode for what each change created.
pub(super) fn forged_as(
    state: &Path,
    changes: Vec<Change>,
    made: &dyn Fn(&Change) -> Option<(u64, u64)>,
) {
    let header = Header {
        format: FORMAT,
        run: "forged".to_owned(),
        pid: 1 << 30,
        started: None,
        boot: super::boot_id(&Root::real()),
    };
    let mut text = Line::Begin(header).to_text().unwrap();
    for (entry, change) in (0..).zip(changes) {
        let made = made(&change);
        text += &Line::Intend { entry, boot: String::new(), change }.to_text().unwrap();
        if let Some((device, inode)) = made {
            text += &Line::Made { entry, device, inode }.to_text().unwrap();
        }
    }
    let ledgers = state.join("ledger");
    fs::create_dir_all(&ledgers).unwrap();
    fs::set_permissions(&ledgers, fs::Permissions::from_mode(0o700)).unwrap();
    let file = ledgers.join("forged.jsonl");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
}

pub(super) fn restore(state: &Path, root: &Root) -> LedgerRestore {
    restore_all(state, root).unwrap().ledgers.remove(0)
}
