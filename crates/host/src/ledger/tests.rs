//! Ledger rules that do not involve crashes.

use std::fs;
use std::path::Path;

use assay_sys::kernel::Root;
use tempfile::TempDir;

use super::change::Area;
use super::queue::value_of;
use super::recovery::restore_in_boot;
use super::{Ledger, restore_all, set_aside, unfinished};

fn tree() -> (TempDir, Root) {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("sys/block/sda/queue")).unwrap();
    fs::create_dir_all(tree.path().join("sys/fs/cgroup")).unwrap();
    fs::write(tree.path().join("sys/block/sda/queue/scheduler"), "mq-deadline").unwrap();
    fs::write(tree.path().join("sys/block/sda/queue/nr_requests"), "256").unwrap();
    let root = Root::at(tree.path());
    (tree, root)
}

fn in_use() -> &'static Path {
    Path::new("/sys/block/sda/queue/scheduler")
}

#[test]
fn the_value_of_a_list_of_choices_is_the_active_one() {
    assert_eq!(value_of("none [mq-deadline] bfq\n"), "mq-deadline");
    assert_eq!(value_of("write back\n"), "write back");
    assert_eq!(value_of("none\n"), "none");
}

#[test]
fn an_unchanged_value_is_not_written() {
    let (_tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    ledger.write_file(&root, in_use(), "mq-deadline").unwrap();
    assert_eq!(ledger.changes(), []);
    ledger.write_file(&root, in_use(), "bfq").unwrap();
    let changes = ledger.changes();
    assert_eq!(changes[0].before.as_deref(), Some("mq-deadline"));
    assert_eq!(changes[0].set.as_deref(), Some("bfq"));
    assert_eq!(changes[0].restored, None);
}

#[test]
fn a_file_that_shows_another_text_than_was_written_is_restored() {
    let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    let path = format!("/proc/{}/oom_score_adj", child.id());
    let (path, root) = (Path::new(&path), Root::real());
    let before = root.read(path).unwrap();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    // Raising it needs no privilege, nor does going back.
    ledger.write_file(&root, path, "0x3e8").unwrap();
    let during = root.read(path).unwrap();
    let failed = ledger.restore(&root);
    let after = root.read(path).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(during.trim(), "1000", "the kernel shows its own form");
    assert_eq!(failed, []);
    assert_eq!(after, before);
}

#[test]
fn a_file_that_was_empty_is_restored() {
    // The name of this thread, which only its own process can set (proc_pid_comm(5)).
    let thread = rustix::thread::gettid().as_raw_nonzero();
    let path = format!("/proc/self/task/{thread}/comm");
    let (path, root) = (Path::new(&path), Root::real());
    root.write(path, "").unwrap();
    assert_eq!(root.read(path).unwrap(), "\n");
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    ledger.write_file(&root, path, "set").unwrap();
    assert_eq!(ledger.changes()[0].before.as_deref(), Some(""));
    assert_eq!(root.read(path).unwrap(), "set\n");
    assert_eq!(ledger.restore(&root), []);
    assert_eq!(root.read(path).unwrap(), "\n");
}

#[test]
fn no_run_begins_while_another_is_active() {
    let state = tempfile::tempdir().unwrap();
    let first = Ledger::begin(state.path(), "first").unwrap();
    let ledgers = unfinished(state.path()).unwrap();
    assert!(ledgers[0].live);
    assert_eq!(ledgers[0].pid, Some(std::process::id()));
    let error = Ledger::begin(state.path(), "second").unwrap_err().to_string();
    assert!(error.contains(&format!("in progress, pid {}", std::process::id())), "{error}");
    assert!(first.finish().unwrap());
    assert!(Ledger::begin(state.path(), "second").is_ok());
}

#[test]
fn a_dead_run_must_be_restored_before_the_next() {
    let (tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "first").unwrap();
    ledger.write_file(&root, in_use(), "bfq").unwrap();
    drop(ledger);
    let error = Ledger::begin(state.path(), "second").unwrap_err().to_string();
    assert!(error.contains("assay restore"), "{error}");
    let report = restore_all(state.path(), &root).unwrap();
    assert_eq!(report.ledgers[0].run_id, "first");
    assert_eq!(report.ledgers[0].changes[0].restored, Some(Ok(())));
    let value = fs::read_to_string(tree.path().join("sys/block/sda/queue/scheduler")).unwrap();
    assert_eq!(value, "mq-deadline");
    assert!(Ledger::begin(state.path(), "second").is_ok());
}

#[test]
fn a_change_that_cannot_be_restored_stays_and_stops_no_other() {
    let (tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    ledger.write_file(&root, in_use(), "bfq").unwrap();
    ledger.make_dir(&root, Path::new("/sys/fs/cgroup/assay-ours")).unwrap();
    fs::write(tree.path().join("sys/fs/cgroup/assay-ours/theirs"), "").unwrap();
    ledger.write_file(&root, Path::new("/sys/block/sda/queue/nr_requests"), "512").unwrap();
    let errors = ledger.restore(&root);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].path.ends_with("sys/fs/cgroup/assay-ours"), "{}", errors[0]);
    assert_eq!(root.read("/sys/block/sda/queue/nr_requests").unwrap(), "256");
    assert_eq!(root.read(in_use()).unwrap(), "mq-deadline");
    assert!(!ledger.finish().unwrap());

    let report = restore_all(state.path(), &root).unwrap();
    assert!(!report.is_complete());
    assert_eq!(unfinished(state.path()).unwrap()[0].changes, 1);
    fs::remove_file(tree.path().join("sys/fs/cgroup/assay-ours/theirs")).unwrap();
    assert!(restore_all(state.path(), &root).unwrap().is_complete());
    assert!(!root.exists("/sys/fs/cgroup/assay-ours"));
}

#[test]
fn an_existing_file_is_refused_and_never_removed() {
    let (_tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    assert!(ledger.make_group(&root, Path::new("/sys/block/sda/queue")).is_err());
    assert!(ledger.make_file(&root, in_use()).is_err());
    assert_eq!(ledger.restore(&root), []);
    assert!(root.exists(in_use()));
}

#[test]
fn a_change_refused_by_the_kernel_is_dropped() {
    let (_tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    assert!(ledger.make_group(&root, Path::new("/sys/no/such/parent")).is_err());
    assert_eq!(ledger.changes(), []);
    assert!(ledger.finish().unwrap());
}

#[test]
fn after_a_reboot_only_changes_on_disk_are_restored() {
    let (tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    ledger.write_file(&root, in_use(), "bfq").unwrap();
    ledger.make_file(&root, Path::new("/assay-x.img")).unwrap();
    drop(ledger);
    assert!(restore_in_boot(state.path(), &root, "another-boot").unwrap().is_complete());
    assert!(!tree.path().join("assay-x.img").exists());
    assert_eq!(root.read(in_use()).unwrap(), "bfq", "the name may belong to another disk now");
}

#[test]
fn a_run_id_that_leads_outside_the_directory_is_refused() {
    let state = tempfile::tempdir().unwrap();
    for name in ["", "../x", "a/b", ".hidden"] {
        assert!(Ledger::begin(state.path(), name).is_err(), "{name}");
    }
}

#[test]
fn after_a_reboot_a_disk_is_wiped_only_if_its_serial_number_matches() {
    let (tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("sys/block/sdz")).unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    let area = Area { start: 0, length: 8 };
    ledger.write_signatures(&root, Path::new("/dev/sdz"), vec![area]).unwrap();
    drop(ledger);
    let report = restore_in_boot(state.path(), &root, "another-boot").unwrap();
    assert!(!report.is_complete());
    let Some(Err(error)) = &report.ledgers[0].changes[0].restored else { panic!("{report:?}") };
    for words in ["had no serial number", "wipefs --all", "--set-aside"] {
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_tree_is_removed_with_its_contents_and_links_are_not_followed() {
    let (tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    ledger.make_tree(&root, Path::new("/data")).unwrap();
    fs::create_dir_all(tree.path().join("data/inner")).unwrap();
    fs::write(tree.path().join("data/inner/file"), "ours").unwrap();
    std::os::unix::fs::symlink(tree.path().join("sys"), tree.path().join("data/link")).unwrap();
    assert_eq!(ledger.restore(&root), []);
    assert!(!root.exists("/data"));
    assert!(root.exists(in_use()), "the target of a link is not ours");
    assert!(ledger.make_tree(&root, Path::new("/sys")).is_err(), "it exists already");
    assert!(ledger.finish().unwrap());
}

#[test]
fn a_ledger_set_aside_blocks_no_run_and_is_kept() {
    let (tree, root) = tree();
    let state = tempfile::tempdir().unwrap();
    assert!(
        set_aside(state.path(), "run").unwrap_err().to_string().contains("there are no ledgers")
    );
    let mut ledger = Ledger::begin(state.path(), "run").unwrap();
    ledger.make_group(&root, Path::new("/sys/fs/cgroup/assay-ours")).unwrap();
    let error = set_aside(state.path(), "run").unwrap_err().to_string();
    assert!(error.contains("in progress"), "{error}");
    drop(ledger);
    let error = set_aside(state.path(), "rum").unwrap_err().to_string();
    assert!(error.contains("ledgers of: run"), "{error}");
    let path = set_aside(state.path(), "run").unwrap();
    assert!(fs::read_to_string(path).unwrap().contains("/sys/fs/cgroup/assay-ours"));
    assert!(tree.path().join("sys/fs/cgroup/assay-ours").exists(), "nothing is touched");
    assert!(Ledger::begin(state.path(), "next").is_ok());
}
