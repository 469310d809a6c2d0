//! Restores the host in place of a thread that hangs in the kernel: its run folder, its output or its ledger is on a file
//! system that does not answer (FUSE, NFS, frozen), and no signal reaches it there.
//!
//! Nothing is written to the ledger meanwhile. It is removed once everything is restored, unless the thread hangs in the
//! middle of a change: what that does when it goes on, the next `assay restore` takes back.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::Duration;

use assay_sys::kernel::blocked::{HangWatch, describe_thread};
use assay_sys::kernel::{Error, Root, signal};

use super::inside;
use super::journal::{self, Journal};
use super::{Entries, Entry, Ledger, Mark};
use crate::poll_until::shorten_waits;

/// How long a file system may take for an answer after a signal that asks for the end. Also for the removal of a ledger.
const AFTER_SIGNAL: Duration = Duration::from_secs(2);

/// The same for a ledger, without a signal; and, after a signal, for a disk that may only be slow.
const ANSWER: Duration = Duration::from_secs(15);

/// The ledger of this process: its file, and what is not restored yet.
static OPEN: Mutex<Option<(PathBuf, Entries)>> = Mutex::new(None);

/// What another thread has done for the one that hangs.
#[derive(Debug)]
pub struct Replaced {
    /// Where that one hangs.
    pub hangs: String,
    /// Changes that could not be restored.
    pub not_restored: Vec<Error>,
    /// A ledger that stays, or the place of ledgers that does not answer.
    pub ledger: Option<PathBuf>,
}

/// From now on a thread looks whether the first one hangs after a signal, or in a ledger. Then it restores the host and calls
/// `end`, which ends this process.
pub fn start_stand_in(end: fn(&Replaced)) {
    // Where this fails, the process ends when what it waits for has answered.
    let Ok(journal) = Journal::nowhere() else { return };
    let _ = Builder::new().name("stand-in".to_owned()).spawn(move || {
        let root = Root::real();
        let tid = wait_for_hang(&root);
        end(&replace(&root, tid, journal));
    });
}

fn wait_for_hang(root: &Root) -> u32 {
    const LOOK: Duration = Duration::from_millis(250);
    let mut watch = HangWatch::default();
    loop {
        sleep(LOOK);
        let (limit, long) = match (signal::was_asked_to_end(), inside::place()) {
            (true, _) => (AFTER_SIGNAL, ANSWER),
            (false, Some(_)) => (ANSWER, Duration::MAX),
            (false, None) => {
                watch = HangWatch::default();
                continue;
            }
        };
        if let Some(tid) = watch.stuck_thread(root, limit, long) {
            return tid;
        }
    }
}

fn replace(root: &Root, tid: u32, journal: Journal) -> Replaced {
    inside::replace();
    let (hangs, place) = (describe_thread(root, tid), inside::place());
    let open = lock(&OPEN).clone();
    let (not_restored, ledger) = match open {
        Some(open) => restore(root, open, place.is_some(), journal),
        None => (Vec::new(), place),
    };
    Replaced { hangs, not_restored, ledger }
}

/// What could not be restored, and the ledger if it stays.
fn restore(
    root: &Root,
    (path, entries): (PathBuf, Entries),
    hangs_inside: bool,
    journal: Journal,
) -> (Vec<Error>, Option<PathBuf>) {
    shorten_waits();
    let copies = lock(&entries).iter_mut().map(Entry::take_over).collect();
    let mut ledger = Ledger { journal, entries: Entries::new(Mutex::new(copies)) };
    let not_restored = ledger.restore_own(root, Mark(0));
    let is_over = not_restored.is_empty() && !hangs_inside && is_removed(path.clone());
    (not_restored, (!is_over).then_some(path))
}

fn is_removed(path: PathBuf) -> bool {
    let (to, removed) = channel();
    let begun = Builder::new().spawn(move || drop(to.send(journal::remove(&path))));
    begun.is_ok() && matches!(removed.recv_timeout(AFTER_SIGNAL), Ok(Ok(())))
}

impl Entry {
    /// The same entry, with the step that was left behind.
    fn take_over(&mut self) -> Self {
        Self {
            number: self.number,
            change: self.change.clone(),
            made: self.made,
            boot: self.boot.clone(),
            restored: self.restored.clone(),
            left: self.left.take(),
        }
    }
}

/// Notes the ledger of this process.
pub(super) fn open(path: &Path, entries: &Entries) {
    *lock(&OPEN) = Some((path.to_owned(), Entries::clone(entries)));
}

/// The ledger is removed.
pub(super) fn close() {
    *lock(&OPEN) = None;
}

/// A panic elsewhere leaves no half of a value.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn another_thread_restores_and_keeps_the_ledger_if_the_first_one_hangs_inside() {
        let root = Root::real();
        for hangs_inside in [false, true] {
            let temp = tempfile::tempdir().unwrap();
            let mut own = Ledger::begin(&temp.path().join("state"), "run").unwrap();
            let made = ["one", "two"].map(|name| temp.path().join(name));
            for path in &made {
                own.make_dir(&root, path).unwrap();
            }
            let (path, entries) = (own.path().to_owned(), Entries::clone(&own.entries));
            let before = fs::read(&path).unwrap();
            let (errors, left) =
                restore(&root, (path.clone(), entries), hangs_inside, Journal::nowhere().unwrap());
            assert_eq!(errors, []);
            assert!(made.iter().all(|path| !path.exists()));
            assert_eq!(left, hangs_inside.then(|| path.clone()));
            assert_eq!(fs::read(&path).ok(), hangs_inside.then_some(before));
        }
    }

    #[test]
    fn what_cannot_be_restored_is_named_and_stays_in_the_ledger() {
        let root = Root::real();
        let temp = tempfile::tempdir().unwrap();
        let mut own = Ledger::begin(&temp.path().join("state"), "run").unwrap();
        let made = ["one", "two"].map(|name| temp.path().join(name));
        for path in &made {
            own.make_dir(&root, path).unwrap();
        }
        fs::write(made[1].join("foreign"), "").unwrap();
        let open = (own.path().to_owned(), Entries::clone(&own.entries));
        let (errors, left) = restore(&root, open, false, Journal::nowhere().unwrap());
        assert!(errors.len() == 1 && errors[0].path == made[1], "{errors:?}");
        assert!(!made[0].exists() && left.is_some_and(|path| path.exists()));
    }
}
