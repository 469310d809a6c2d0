//! Owners and modes of the state directory and of its files, and files in it that are no ledgers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use assay_sys::kernel::{Error, Root};
use rustix::fs::CWD;

use super::change::Change;
use super::foreign_host_tests::{forged, host, in_memory};
use super::{Ledger, restore_all, set_aside, unfinished};

#[test]
fn a_foreign_state_directory_or_ledger_is_refused_with_owner_mode_and_remedy() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: it takes root to give a file away");
        return;
    }
    let (_tree, root) = host();
    let refused = |state: &Path, says: &str| {
        for error in [
            not_restored(state, &root),
            unfinished(state).map(|_| ()).unwrap_err(),
            Ledger::begin(state, "run").map(|_| ()).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains(says), "{error}");
            assert!(
                error.contains("0755") || error.contains("06") || error.contains("07"),
                "{error}"
            );
            assert!(error.contains("chown"), "{error}");
        }
    };
    let change = || vec![Change::MakeDir { path: "/srv/assay-x".into() }];
    for (part, mode, says) in [
        ("ledger/forged.jsonl", None, "user 65534"),
        ("ledger/forged.jsonl", Some(0o666), "0666"),
        ("ledger", None, "user 65534"),
        ("", Some(0o777), "0777"),
    ] {
        let state = in_memory();
        forged(state.path(), change());
        let path = state.path().join(part);
        match mode {
            Some(mode) => fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap(),
            None => chown(path, Some(65534), None).unwrap(),
        }
        refused(state.path(), says);
    }

    // A link into a home directory, as in the security review.
    let (state, home) = (in_memory(), in_memory());
    forged(home.path(), change());
    fs::create_dir(state.path().join("ledger")).unwrap();
    let (from, to) = ("ledger/forged.jsonl", "ledger/x.jsonl");
    symlink(home.path().join(from), state.path().join(to)).unwrap();
    let error = not_restored(state.path(), &root).to_string();
    assert!(error.contains("it is a link"), "{error}");
}

/// The error with which a restore refused the only ledger.
fn not_restored(state: &Path, root: &Root) -> Error {
    match restore_all(state, root) {
        Err(error) => error,
        Ok(mut report) => {
            assert!(!report.is_complete() && report.ledgers.is_empty());
            report.held.remove(0)
        }
    }
}

/// A file that is not a ledger does not stop the restore of the others.
#[test]
fn an_odd_file_does_not_stop_other_restores_and_can_be_set_aside() {
    let (tree, root) = host();
    for kind in ["directory", "link", "pipe", "second name", "readable by others", "not text"] {
        let state = in_memory();
        let mut ledger = Ledger::begin(state.path(), "m-killed").unwrap();
        ledger.make_dir(&root, Path::new("/srv/assay-x")).unwrap();
        drop(ledger);
        let ledgers = state.path().join("ledger");
        for name in ["a-odd.jsonl", "z-odd.jsonl"] {
            odd(kind, &ledgers, &ledgers.join(name));
        }
        fs::create_dir(ledgers.join("temporary.new")).unwrap();
        let report = restore_all(state.path(), &root).unwrap();
        assert!(!report.is_complete(), "{kind}");
        assert!(report.ledgers.iter().any(|ledger| ledger.complete), "{kind}: {report:?}");
        assert!(!tree.path().join("srv/assay-x").exists(), "{kind}");
        let errors: Vec<String> = report.held.iter().map(ToString::to_string).collect();
        assert!(errors.iter().any(|error| error.contains("temporary.new")), "{errors:?}");
        for name in ["a-odd", "z-odd"] {
            let is_named = errors.iter().any(|error| error.contains(name))
                || report.ledgers.iter().any(|ledger| ledger.run_id == name && !ledger.complete);
            assert!(is_named, "{kind}: {errors:?}");
            set_aside(state.path(), name).unwrap();
        }
        fs::remove_dir(ledgers.join("temporary.new")).unwrap();
        assert!(restore_all(state.path(), &root).unwrap().is_complete(), "{kind}");
        Ledger::begin(state.path(), "next").unwrap();
    }
}

fn odd(kind: &str, ledgers: &Path, path: &Path) {
    let mode = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    match kind {
        "directory" => fs::create_dir(path).unwrap(),
        "link" => symlink("/etc/hostname", path).unwrap(),
        "pipe" => {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
            rustix::fs::mknodat(CWD, path, kind, mode, 0).unwrap();
        }
        "second name" => {
            let other = ledgers.join(format!("{}.other", path.display()));
            fs::write(&other, "").unwrap();
            fs::hard_link(&other, path).unwrap();
        }
        "readable by others" => {
            fs::write(path, "").unwrap();
            mode(0o666);
        }
        _ => {
            fs::write(path, [0xff; 64]).unwrap();
            mode(0o600);
        }
    }
}

/// As left by an older version, or by someone with a wide umask.
#[test]
fn files_open_to_others_are_restricted_to_their_owner() {
    let folder = in_memory();
    let state = folder.path().join("assay");
    fs::create_dir_all(state.join("ledger")).unwrap();
    let mode = |name: &str| state.join(name).metadata().unwrap().permissions().mode() & 0o777;
    let wide = |name: &str, mode| {
        fs::set_permissions(state.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    for name in ["lock", "other.lock"] {
        fs::write(state.join(name), "").unwrap();
        wide(name, 0o644);
    }
    wide("", 0o755);
    wide("ledger", 0o755);
    let ledger = Ledger::begin(&state, "run").unwrap();
    drop(super::lock_file(&super::private_state(&state).unwrap(), "other.lock").unwrap());
    assert_eq!(["", "ledger", "lock", "other.lock"].map(mode), [0o700, 0o700, 0o600, 0o600]);
    assert!(ledger.finish().unwrap());
}

#[test]
fn ledgers_and_their_directory_are_accessible_to_the_owner_only() {
    let state = in_memory();
    let below = state.path().join("new");
    let ledger = Ledger::begin(&below, "run").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&below), 0o700);
    assert_eq!(mode(&below.join("ledger")), 0o700);
    assert_eq!(mode(ledger.path()), 0o600);
    assert!(ledger.finish().unwrap());
}

/// Otherwise a power cut may take them, with a ledger that has begun.
#[test]
fn the_name_of_each_new_directory_is_on_disk_before_a_ledger_counts() {
    let home = in_memory();
    let state = home.path().join(".local/state/assay");
    super::crash_injector::synced_directories();
    let ledger = Ledger::begin(&state, "run").unwrap();
    let synced = super::crash_injector::synced_directories();
    for name in ["", ".local", ".local/state", ".local/state/assay", ".local/state/assay/ledger"] {
        // Without a slash at its end.
        let directory = home.path().join(name).components().collect();
        assert!(synced.contains(&directory), "{name} in {synced:?}");
    }
    assert!(ledger.finish().unwrap());
}

/// S15.
#[test]
fn a_ledger_without_open_changes_does_not_block_a_run() {
    let state = in_memory();
    drop(Ledger::begin(state.path(), "died-before-its-first-change").unwrap());
    assert_eq!(unfinished(state.path()).unwrap(), []);
    drop(Ledger::begin(state.path(), "died").unwrap());
    let next = Ledger::begin(state.path(), "next").unwrap();
    assert!(next.finish().unwrap());
    assert_eq!(fs::read_dir(state.path().join("ledger")).unwrap().count(), 0);
}
