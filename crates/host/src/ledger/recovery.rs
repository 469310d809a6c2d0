//! Ledgers that a live run holds or a dead one left behind.

use std::fs;
use std::path::{Path, PathBuf};

use assay_kernel::{Error, Root};

use super::journal::{self, Journal, UNBORN};
use super::line::{Contents, Damaged};
use super::lock::{LockGuard, lock_of_dead};
use super::{ChangeReport, Entry, Ledger, Mark, boot_id, undo};
use super::{allowed, check_owner};

/// A ledger that is not at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The run it belongs to.
    pub run_id: String,
    /// Its file.
    pub path: PathBuf,
    /// Whether the process that made it, or another that restores it, still holds it.
    pub live: bool,
    /// The process that made it; `None` when it died before it wrote that down.
    pub pid: Option<u32>,
    /// Changes that are not taken back.
    pub changes: usize,
    /// Lines that cannot be trusted, so that nobody knows what they stood for.
    pub damaged: usize,
}

impl Unfinished {
    /// What stands between this ledger and its end, in words.
    #[must_use]
    pub fn what_is_left(&self) -> String {
        match (self.changes, self.damaged) {
            (changes, 0) => format!("{changes} changes"),
            (changes, damaged) => format!("{changes} changes, {damaged} damaged lines"),
        }
    }
}

/// What [`restore_all`] did with one ledger.
#[derive(Debug)]
pub struct LedgerRestore {
    /// The run it belongs to.
    pub run_id: String,
    /// Its file; it is gone when all is back.
    pub path: PathBuf,
    /// Every change that was open, in the order of its making.
    pub changes: Vec<ChangeReport>,
    /// Lines of the file that could not be trusted. While there are any the file stays, because
    /// nobody but a person can tell what they stood for ([`set_aside`]).
    pub damaged: Vec<Damaged>,
    /// The format of the file, when it is one that this version does not know; then nothing was
    /// touched.
    pub newer_format: Option<u32>,
    /// Whether everything is back and the file removed.
    pub complete: bool,
}

/// What [`restore_all`] did.
#[derive(Debug, Default)]
pub struct RestoreReport {
    /// Ledgers of dead runs.
    pub ledgers: Vec<LedgerRestore>,
    /// Ledgers that were left alone because their run is alive.
    pub live: Vec<Unfinished>,
    /// What could not be opened, read or locked: ledgers of dead runs that another process holds,
    /// with its name, and files that are none. Nothing that they say was done.
    pub held: Vec<Error>,
}

impl RestoreReport {
    /// Whether no dead run has anything left on this host.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.held.is_empty() && self.ledgers.iter().all(|ledger| ledger.complete)
    }
}

/// Where ledgers are below the state directory.
pub(super) fn directory(state_dir: &Path) -> PathBuf {
    state_dir.join("ledger")
}

/// Looks at what is there: what a ledger says is done by root.
fn look(state_dir: &Path, directory: &Path) -> Result<(), Error> {
    // What lies in there is opened by path, which nobody but root can make stand for something else.
    drop(check_owner(state_dir, directory)?);
    Ok(())
}

/// All ledgers below `state_dir`, by the names of their runs. None when there is no such
/// directory.
pub fn unfinished(state_dir: &Path) -> Result<Vec<Unfinished>, Error> {
    let directory = directory(state_dir);
    if !directory.exists() {
        return Ok(Vec::new());
    }
    look(state_dir, &directory)?;
    let _gate = LockGuard::close(&directory)?;
    list(&directory)
}

/// Every file that has the name of a ledger: of one that cannot be read the name alone.
fn every(directory: &Path) -> Result<Vec<Unfinished>, Error> {
    let every = files(directory, BORN)?.into_iter().map(|path| {
        let read = Journal::open(&path, "").and_then(|mut journal| Ok((journal.read()?, journal)));
        let Ok((contents, journal)) = read else {
            return Ok(describe(&path, false, &Contents::default()));
        };
        Ok(describe(&path, !lock_of_dead(&journal, &contents)?, &contents))
    });
    every.collect()
}

fn list(directory: &Path) -> Result<Vec<Unfinished>, Error> {
    let mut found = Vec::new();
    for path in files(directory, BORN)? {
        let mut journal = Journal::open(&path, "")?;
        let contents = journal.read()?;
        let live = !lock_of_dead(&journal, &contents)?;
        if !live && contents.asks_for_nothing() {
            // Its run died before its first change or after its last; it hinders nobody. Where it
            // cannot be removed it is passed over all the same.
            let _ = journal.remove();
            continue;
        }
        found.push(describe(&path, live, &contents));
    }
    Ok(found)
}

/// What the file of a run ends with.
const BORN: &str = "jsonl";

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

/// An error when there is any ledger. The caller holds the gate.
pub(super) fn refuse_if_any(state_dir: &Path) -> Result<(), Error> {
    let Some(found) = list(&directory(state_dir))?.into_iter().max_by_key(|found| found.live)
    else {
        return Ok(());
    };
    let hint = match (found.live, found.pid) {
        (true, Some(pid)) => format!("another run is in progress, pid {pid}"),
        (true, None) => "another run is in progress".to_owned(),
        (false, _) => format!(
            "run `{}` ended without putting the host back ({}): run `assay restore` first",
            found.run_id,
            found.what_is_left()
        ),
    };
    Err(Error::unexpected("begin a run beside", &found.path, hint))
}

/// Takes back what dead runs left behind, the last change first, and removes the ledgers that
/// are at their end. Calling it again after a crash or a failure goes on where it ended.
pub fn restore_all(state_dir: &Path, root: &Root) -> Result<RestoreReport, Error> {
    restore_in_boot(state_dir, root, &boot_id(&Root::real()))
}

/// The same in the boot of this id.
pub(super) fn restore_in_boot(
    state_dir: &Path,
    root: &Root,
    boot: &str,
) -> Result<RestoreReport, Error> {
    let mut report = RestoreReport::default();
    let directory = directory(state_dir);
    if !directory.exists() {
        return Ok(report);
    }
    look(state_dir, &directory)?;
    for (mut journal, contents) in claim(&directory, &mut report)? {
        report.ledgers.push(match contents.newer_format() {
            Some(format) => leave_alone(&journal, &contents, format),
            None => {
                // Where not even this fits on the disk, taking back still does.
                let _ = journal.end_torn_line(&contents);
                restore_one(journal, contents, root, boot)
            }
        });
    }
    Ok(report)
}

/// Locks the ledgers of dead runs, so that no other `assay restore` works on the same ones, and
/// removes what runs left that died before their ledger had its name, hence before any change.
fn claim(directory: &Path, report: &mut RestoreReport) -> Result<Vec<(Journal, Contents)>, Error> {
    let _gate = LockGuard::close(directory)?;
    for path in files(directory, UNBORN)? {
        let removed = journal::directory(&path)?.remove_file(journal::name_of(&path));
        report.held.extend(removed.err().map(Error::from));
    }
    let mut claimed = Vec::new();
    for path in files(directory, BORN)? {
        // One that nobody can make sense of stops the restore of no other.
        match claim_one(&path, report) {
            Ok(journal) => claimed.extend(journal),
            Err(error) => report.held.push(error),
        }
    }
    Ok(claimed)
}

/// The ledger and what it says, if its run is dead.
fn claim_one(
    path: &Path,
    report: &mut RestoreReport,
) -> Result<Option<(Journal, Contents)>, Error> {
    let mut journal = Journal::open(path, "")?;
    let contents = journal.read()?;
    if lock_of_dead(&journal, &contents)? {
        // Once more: its run may have written until it died.
        let contents = journal.read()?;
        return Ok(Some((journal, contents)));
    }
    report.live.push(describe(path, true, &contents));
    Ok(None)
}

fn leave_alone(journal: &Journal, contents: &Contents, format: u32) -> LedgerRestore {
    let found = describe(journal.path(), false, contents);
    LedgerRestore {
        run_id: found.run_id,
        path: found.path,
        changes: Vec::new(),
        damaged: Vec::new(),
        newer_format: Some(format),
        complete: false,
    }
}

fn restore_one(journal: Journal, contents: Contents, root: &Root, boot: &str) -> LedgerRestore {
    let found = describe(journal.path(), false, &contents);
    let entries = contents
        .open
        .into_iter()
        .map(|(number, open)| Entry {
            number,
            change: open.change,
            made: open.made,
            boot: open.boot,
            restored: None,
        })
        .collect();
    let mut ledger = Ledger::over(journal, entries);
    ledger.take_back(Mark(0), |entry| {
        allowed::check(root, &entry.change)?;
        match &entry.boot {
            Some(made_in) if made_in != boot => {
                undo::undo_after_boot(root, &entry.change, entry.made)
            }
            _ => undo::undo(root, &entry.change, entry.made),
        }
    });
    let changes = ledger.changes();
    // A file that cannot be removed is found again by the next restore, which says so.
    let complete = contents.damaged.is_empty() && matches!(ledger.finish(), Ok(true));
    LedgerRestore {
        run_id: found.run_id,
        path: found.path,
        changes,
        damaged: contents.damaged,
        newer_format: None,
        complete,
    }
}

/// Puts the ledger of a dead run aside, after a person has looked at the host and cleaned up what
/// Assay could not: it is renamed to `<run>.set-aside`, hinders no run any more, and stays to be
/// read. Returns its new path.
pub fn set_aside(state_dir: &Path, run_id: &str) -> Result<PathBuf, Error> {
    let directory = directory(state_dir);
    let unknown = |known: &[String]| {
        let hint = if known.is_empty() {
            "there is no ledger at all, and nothing hinders a run".to_owned()
        } else {
            format!("ledgers of: {}", known.join(", "))
        };
        Error::unexpected("find the ledger of", Path::new(run_id), hint)
    };
    if !directory.exists() {
        return Err(unknown(&[]));
    }
    look(state_dir, &directory)?;
    let _gate = LockGuard::close(&directory)?;
    let found = every(&directory)?;
    let Some(ledger) = found.iter().find(|ledger| ledger.run_id == run_id) else {
        let known: Vec<String> = found.into_iter().map(|ledger| ledger.run_id).collect();
        return Err(unknown(&known));
    };
    if ledger.live {
        let hint = "its run is in progress: interrupt it, and it puts the host back itself";
        return Err(Error::unexpected("set aside", &ledger.path, hint));
    }
    let path = ledger.path.with_extension("set-aside");
    let names = [&ledger.path, &path].map(|path| journal::name_of(path));
    journal::directory(&path)?.rename(names[0], names[1])?;
    journal::sync_directory(&directory)?;
    Ok(path)
}
