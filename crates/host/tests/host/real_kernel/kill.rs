//! SIGKILL at several moments of a run that makes every kind of change, then restore.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_host::{restore_all, unfinished};
use assay_sys::kernel::Root;

use crate::real_kernel::place::{group_for_tests, host_lock};
use assay_test_support::{HostSnapshot, entries};

/// The example is built with the tests, into the folder beside theirs.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples/prepare_and_wait");
    assert!(path.exists(), "cargo build -p assay-host --example prepare_and_wait");
    path
}

fn start(work: &Path, group: &Path) -> Child {
    Command::new(example())
        .arg(work.join("state"))
        .arg(work)
        .arg(group)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the run has made all its changes.
fn wait_until_ready(child: &mut Child) {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
}

/// Starts a run, kills it when `wait` returns, restores and compares.
fn kill_and_restore(wait: impl FnOnce(&mut Child), when: &str) -> usize {
    let work = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
    let state = work.path().join("state");
    let group = group_for_tests();
    let before = HostSnapshot::take();
    let mut child = start(work.path(), &group);
    wait(&mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let changes = unfinished(&state).unwrap().iter().map(|ledger| ledger.changes).sum();
    let report = restore_all(&state, &Root::real()).unwrap();
    assert!(report.is_complete(), "{when}: {report:?}");
    assert!(report.live.is_empty(), "{when}: {report:?}");
    assert_eq!(unfinished(&state).unwrap(), [], "{when}");
    assert!(!group.exists(), "{when}");
    HostSnapshot::assert_same(&before, when);
    let remaining = entries(work.path());
    assert!(remaining.iter().all(|path| *path == state), "{when}: {remaining:?}");
    changes
}

#[test]
fn a_run_killed_at_any_moment_is_restored() {
    let Some(_lock) = host_lock("kill at several moments") else { return };
    let begun = Instant::now();
    let all = kill_and_restore(wait_until_ready, "when everything is changed");
    assert!(all > 10, "{all} changes");
    let whole = begun.elapsed();
    let mut counts = std::collections::BTreeSet::new();
    for part in 0..12 {
        let pause = whole * part / 14;
        let changes = kill_and_restore(|_| sleep(pause), &format!("after {pause:?}"));
        counts.insert(changes);
    }
    assert!(counts.len() > 2, "killed at too few different moments: {counts:?}");
}

#[test]
fn an_active_run_is_not_touched() {
    let Some(_lock) = host_lock("an active run") else { return };
    let work = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
    let state = work.path().join("state");
    let mut child = start(work.path(), &group_for_tests());
    wait_until_ready(&mut child);
    let during = HostSnapshot::take();
    let report = restore_all(&state, &Root::real()).unwrap();
    assert_eq!(report.live.len(), 1);
    assert_eq!(report.live[0].pid, Some(child.id()));
    HostSnapshot::assert_same(&during, "beside an active run");
    child.kill().unwrap();
    child.wait().unwrap();
    sleep(Duration::from_millis(10));
    assert!(restore_all(&state, &Root::real()).unwrap().is_complete());
}
