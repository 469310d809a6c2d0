//! Ledgers held by an active run or left behind by a dead one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use assay_sys::kernel::{Error, Root};

use super::inside::Inside;
use super::journal::{self, Journal, TEMPORARY};
use super::line::{Contents, Damaged};
use super::lock::{LockGuard, lock_of_dead};
use super::step_threads::StepThreads;
use super::{ChangeReport, Entries, Entry, Ledger, Mark, boot_id, restore_change};
use super::{allowed, check_owner};

/// A ledger that is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Its run.
    pub run_id: String,
    /// Its file.
    pub path: PathBuf,
    /// Whether its run, or a restore, still holds it.
    pub live: bool,
    /// The process that created it; `None` if it died before it wrote that down.
    pub pid: Option<u32>,
    /// Changes not restored yet.
    pub changes: usize,
    /// Lines that cannot be trusted, so that their meaning is unknown.
    pub damaged: usize,
}

impl Unfinished {
    /// Describes the open changes of this ledger.
    #[must_use]
    pub fn describe_open_changes(&self) -> String {
        match (self.changes, self.damaged) {
            (changes, 0) => format!("{changes} changes"),
            (changes, damaged) => format!("{changes} changes, {damaged} damaged lines"),
        }
    }
}

/// The result of [`restore_all`] for one ledger.
#[derive(Debug)]
pub struct LedgerRestore {
    /// Its run.
    pub run_id: String,
    /// Its file; removed when everything was restored.
    pub path: PathBuf,
    /// Every change that was open, in the order they were made.
    pub changes: Vec<ChangeReport>,
    /// Lines of the file that could not be trusted. While there are any the file is kept, because only
    /// a person can find out what they meant ([`set_aside`]).
    pub damaged: Vec<Damaged>,
    /// The format of the file, if this version does not support it; then nothing was touched.
    pub newer_format: Option<u32>,
    /// Whether everything was restored and the file removed.
    pub complete: bool,
}

/// The result of [`restore_all`].
#[derive(Debug, Default)]
pub struct RestoreReport {
    /// Ledgers of dead runs.
    pub ledgers: Vec<LedgerRestore>,
    /// Ledgers that were not touched because their run is active.
    pub live: Vec<Unfinished>,
    /// Errors in opening, reading or locking: ledgers of dead runs that another process holds, with its
    /// name, and files that are not ledgers. None of their entries was carried out.
    pub held: Vec<Error>,
}

impl RestoreReport {
    /// Whether no dead run has left changes on this host.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.held.is_empty() && self.ledgers.iter().all(|ledger| ledger.complete)
    }
}

/// The directory of ledgers in the state directory.
pub(super) fn directory(state_dir: &Path) -> PathBuf {
    state_dir.join("ledger")
}

/// Checks the owner of the directory: root carries out what a ledger contains.
fn check_directory(state_dir: &Path, directory: &Path) -> Result<(), Error> {
    // Files in it are opened by path, which only root can redirect.
    drop(check_owner(state_dir, directory)?);
    Ok(())
}

/// All ledgers below `state_dir`, sorted by run. Empty if the directory does not exist.
pub fn unfinished(state_dir: &Path) -> Result<Vec<Unfinished>, Error> {
    let _inside = Inside::of(state_dir);
    let directory = directory(state_dir);
    if !directory.exists() {
        return Ok(Vec::new());
    }
    check_directory(state_dir, &directory)?;
    let _lock = LockGuard::acquire(&directory)?;
    list(&directory)
}

/// Every file named like a ledger; for one that cannot be read only the name.
fn list_all(directory: &Path) -> Result<Vec<Unfinished>, Error> {
    let all = files(directory, FINAL)?.into_iter().map(|path| {
        let read = Journal::open(&path, "").and_then(|mut journal| Ok((journal.read()?, journal)));
        let Ok((contents, journal)) = read else {
            return Ok(describe(&path, false, &Contents::default()));
        };
        Ok(describe(&path, !lock_of_dead(&journal, &contents)?, &contents))
    });
    all.collect()
}

fn list(directory: &Path) -> Result<Vec<Unfinished>, Error> {
    let mut ledgers = Vec::new();
    for path in files(directory, FINAL)? {
        let mut journal = Journal::open(&path, "")?;
        let contents = journal.read()?;
        let live = !lock_of_dead(&journal, &contents)?;
        if !live && contents.is_finished() {
            // Its run died before its first change or after its last, so it blocks nothing. It is
            // skipped even if it cannot be removed.
            let _ = journal::remove(&path);
            continue;
        }
        ledgers.push(describe(&path, live, &contents));
    }
    Ok(ledgers)
}

/// Extension of a ledger with its final name.
const FINAL: &str = "jsonl";

fn files(directory: &Path, ending: &str) -> Result<Vec<PathBuf>, Error> {
    let wrong = |cause: &std::io::Error| Error::new("list", directory, cause);
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(|cause| wrong(&cause))? {
        let path = entry.map_err(|cause| wrong(&cause))?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn describe(path: &Path, live: bool, contents: &Contents) -> Unfinished {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Unfinished {
        run_id: contents.header.as_ref().map_or(name, |header| header.run.clone()),
        path: path.to_owned(),
        live,
        pid: contents.header.as_ref().map(|header| header.pid),
        changes: contents.open.len(),
        damaged: contents.damaged.len(),
    }
}

/// Fails if there is any ledger. The caller holds the lock.
pub(super) fn refuse_if_any(state_dir: &Path) -> Result<(), Error> {
    let Some(ledger) = list(&directory(state_dir))?.into_iter().max_by_key(|ledger| ledger.live)
    else {
        return Ok(());
    };
    let hint = match (ledger.live, ledger.pid) {
        (true, Some(pid)) => format!("another run is in progress, pid {pid}"),
        (true, None) => "another run is in progress".to_owned(),
        (false, _) => format!(
            "run `{}` ended without restoring the host ({}): run `assay restore` first",
            ledger.run_id,
            ledger.describe_open_changes()
        ),
    };
    Err(Error::unexpected("begin a run beside", &ledger.path, hint))
}

/// Restores what dead runs left behind, the last change first, and removes finished ledgers. Calling it
/// again after a crash or a failure continues where it stopped.
pub fn restore_all(state_dir: &Path, root: &Root) -> Result<RestoreReport, Error> {
    restore_in_boot(state_dir, root, &boot_id(&Root::real()))
}

/// The same, in the boot of this id.
pub(super) fn restore_in_boot(
    state_dir: &Path,
    root: &Root,
    boot: &str,
) -> Result<RestoreReport, Error> {
    let _inside = Inside::of(state_dir);
    let mut report = RestoreReport::default();
    let directory = directory(state_dir);
    if !directory.exists() {
        return Ok(report);
    }
    check_directory(state_dir, &directory)?;
    StepThreads::shared();
    for (mut journal, contents) in claim(&directory, &mut report)? {
        report.ledgers.push(match contents.newer_format() {
            Some(format) => leave_alone(&journal, &contents, format),
            None => {
                // If even this does not fit on the disk, restoring still works.
                let _ = journal.end_torn_line(&contents);
                restore_one(journal, contents, root, boot)
            }
        });
    }
    Ok(report)
}

/// Locks the ledgers of dead runs, so that no other `assay restore` works on the same ones, and removes
/// temporary ledgers of runs that died before any change.
fn claim(directory: &Path, report: &mut RestoreReport) -> Result<Vec<(Journal, Contents)>, Error> {
    let _lock = LockGuard::acquire(directory)?;
    for path in files(directory, TEMPORARY)? {
        let removed = journal::directory(&path)?.remove_file(journal::name_of(&path));
        report.held.extend(removed.err().map(Error::from));
    }
    let mut claimed = Vec::new();
    for path in files(directory, FINAL)? {
        // An unreadable ledger does not stop the restore of the others.
        match claim_one(&path, report) {
            Ok(journal) => claimed.extend(journal),
            Err(error) => report.held.push(error),
        }
    }
    Ok(claimed)
}

/// The ledger and its contents, if its run is dead.
fn claim_one(
    path: &Path,
    report: &mut RestoreReport,
) -> Result<Option<(Journal, Contents)>, Error> {
    let mut journal = Journal::open(path, "")?;
    let contents = journal.read()?;
    if lock_of_dead(&journal, &contents)? {
        // Read again: its run may have written until it died.
        let contents = journal.read()?;
        return Ok(Some((journal, contents)));
    }
    report.live.push(describe(path, true, &contents));
    Ok(None)
}

fn leave_alone(journal: &Journal, contents: &Contents, format: u32) -> LedgerRestore {
    let ledger = describe(journal.path(), false, contents);
    LedgerRestore {
        run_id: ledger.run_id,
        path: ledger.path,
        changes: Vec::new(),
        damaged: Vec::new(),
        newer_format: Some(format),
        complete: false,
    }
}

fn restore_one(journal: Journal, contents: Contents, root: &Root, boot: &str) -> LedgerRestore {
    let described = describe(journal.path(), false, &contents);
    let entries = contents
        .open
        .into_iter()
        .map(|(number, open)| {
            let entry = Entry::new(number, open.change);
            Entry { made: open.made, boot: open.boot, ..entry }
        })
        .collect();
    let mut ledger = Ledger { journal, entries: Entries::new(Mutex::new(entries)) };
    ledger.restore_entries(root, Mark(0), |entry| {
        let (root, change, made) = (root.clone(), entry.change.clone(), entry.made);
        let is_of_this_boot = entry.boot.as_ref().is_none_or(|made_in| made_in == boot);
        Box::new(move || {
            allowed::check(&root, &change)?;
            match is_of_this_boot {
                true => restore_change::restore(&root, &change, made),
                false => restore_change::restore_after_boot(&root, &change, made),
            }
        })
    });
    let changes = ledger.changes();
    // A file that cannot be removed is found and reported by the next restore.
    let complete = contents.damaged.is_empty() && matches!(ledger.finish(), Ok(true));
    LedgerRestore {
        run_id: described.run_id,
        path: described.path,
        changes,
        damaged: contents.damaged,
        newer_format: None,
        complete,
    }
}

/// Sets the ledger of a dead run aside, after a person has inspected the host and cleaned up what Assay
/// could not: it is renamed to `<run>.set-aside`, blocks no run any more, and is kept for reference.
/// Returns its new path.
pub fn set_aside(state_dir: &Path, run_id: &str) -> Result<PathBuf, Error> {
    let _inside = Inside::of(state_dir);
    let directory = directory(state_dir);
    let unknown = |known: &[String]| {
        let hint = if known.is_empty() {
            "there are no ledgers, and nothing blocks a run".to_owned()
        } else {
            format!("ledgers of: {}", known.join(", "))
        };
        Error::unexpected("find the ledger of", Path::new(run_id), hint)
    };
    if !directory.exists() {
        return Err(unknown(&[]));
    }
    check_directory(state_dir, &directory)?;
    let _lock = LockGuard::acquire(&directory)?;
    let ledgers = list_all(&directory)?;
    let Some(ledger) = ledgers.iter().find(|ledger| ledger.run_id == run_id) else {
        let known: Vec<String> = ledgers.into_iter().map(|ledger| ledger.run_id).collect();
        return Err(unknown(&known));
    };
    if ledger.live {
        let hint = "its run is in progress: interrupt it, and it restores the host itself";
        return Err(Error::unexpected("set aside", &ledger.path, hint));
    }
    let path = ledger.path.with_extension("set-aside");
    let names = [&ledger.path, &path].map(|path| journal::name_of(path));
    journal::directory(&path)?.rename(names[0], names[1])?;
    journal::sync_directory(&directory)?;
    Ok(path)
}
