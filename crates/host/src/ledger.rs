//! The ledger: every change of the host is written down, with the value found, before it is
//! made, so that it can be taken back even after SIGKILL at any instant (docs/safety.md).

mod allowed;
mod change;
mod controllers;
mod crash_point;
mod disk;
mod freezer;
mod group;
mod inverse;
mod journal;
mod line;
mod lock;
mod loop_device;
mod make;
mod queue;
mod recovery;
mod setting;
mod undo;
mod v1_mount;

use std::path::{Path, PathBuf};

use assay_files::{Checked, Dir, Identity, Trust};
use assay_kernel::{Error, Root, process};

pub use change::{Area, Change};
pub use disk::DiskIdentity;
pub(crate) use disk::whole_disk;
pub use group::{is_frozen, why_it_lives};
pub use line::{Damaged, look};
pub use loop_device::LoopDevice;
pub use recovery::{LedgerRestore, RestoreReport, Unfinished, restore_all, set_aside, unfinished};

use crash_point::crash_point;
use journal::Journal;
use line::{FORMAT, Header};

/// The changes of one run. While it lives its file is locked; when the process ends without
/// [`Ledger::finish`], the file stays for `assay restore`.
#[derive(Debug)]
pub struct Ledger {
    journal: Journal,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    number: u32,
    change: Change,
    /// Which directory or file it made, where that is known.
    made: Option<Identity>,
    /// The boot in which it was made; `None` for this one.
    boot: Option<String>,
    restored: Option<Result<(), Error>>,
}

/// A point in the ledger to which changes can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(usize);

/// One change for the record of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeReport {
    /// The change in words.
    pub what: String,
    /// The value found, where there is one.
    pub before: Option<String>,
    /// The value set, where there is one.
    pub set: Option<String>,
    /// `None` while it stands, else whether taking it back succeeded.
    pub restored: Option<Result<(), Error>>,
}

impl ChangeReport {
    fn new(change: &Change, restored: Option<Result<(), Error>>) -> Self {
        Self {
            what: change.describe(),
            before: change.before().map(str::to_owned),
            set: change.set().map(str::to_owned),
            restored,
        }
    }
}

/// Where ledgers are kept: `ASSAY_STATE`, or /var/lib/assay, which survives a reboot; for users
/// other than root `$XDG_STATE_HOME/assay`, by default `~/.local/state/assay`.
#[must_use]
pub fn state_dir() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(state) = named("ASSAY_STATE") {
        return PathBuf::from(state);
    }
    let of_user = || {
        let home = || named("HOME").map(|home| Path::new(&home).join(".local/state"));
        Some(named("XDG_STATE_HOME").map(PathBuf::from).or_else(home)?.join("assay"))
    };
    let is_root = rustix::process::geteuid().is_root();
    let of_user = if is_root { None } else { of_user() };
    of_user.unwrap_or_else(|| PathBuf::from("/var/lib/assay"))
}

impl Ledger {
    /// Opens the ledger of a new run below `state_dir`. Refuses while another run lives and
    /// when an earlier one left changes behind, since what is found now would then be taken
    /// for what the host's owner had set.
    pub fn begin(state_dir: &Path, run_id: &str) -> Result<Self, Error> {
        let directory = recovery::directory(state_dir);
        make_directories(state_dir)?;
        let path = directory.join(format!("{}.jsonl", checked_name(run_id)?));
        // Until the ledger has its name and its lock, no other run may look for it.
        let _gate = lock::LockGuard::close(&directory)?;
        recovery::refuse_if_any(state_dir)?;
        let header = Header {
            format: FORMAT,
            run: run_id.to_owned(),
            pid: std::process::id(),
            started: process::started(&Root::real(), std::process::id()),
            boot: boot_id(&Root::real()),
        };
        let journal = Journal::create(&path, header).map_err(|error| {
            let hint = "ASSAY_STATE names another place for ledgers; it must survive a reboot";
            error.with_hint(hint)
        })?;
        Ok(Self::over(journal, Vec::new()))
    }

    fn over(journal: Journal, entries: Vec<Entry>) -> Self {
        Self { journal, entries }
    }

    /// The ledger's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.journal.path()
    }

    /// This point, for [`Ledger::restore_to`].
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.entries.len())
    }

    /// All changes of this run in the order of their making.
    #[must_use]
    pub fn changes(&self) -> Vec<ChangeReport> {
        self.entries
            .iter()
            .map(|entry| ChangeReport::new(&entry.change, entry.restored.clone()))
            .collect()
    }

    /// Takes every change back, the last one first. One that cannot be taken back does not stop
    /// the others; the errors are returned and kept for [`Ledger::changes`].
    pub fn restore(&mut self, root: &Root) -> Vec<Error> {
        self.restore_to(root, Mark(0))
    }

    /// Takes back the changes made since `mark`.
    pub fn restore_to(&mut self, root: &Root, mark: Mark) -> Vec<Error> {
        self.take_back(mark, |entry| undo::undo(root, &entry.change, entry.made))
    }

    /// What fails is tried once more at the end: it may have hung on something that has gone
    /// since, as an attribute hangs on its loop device.
    fn take_back(&mut self, mark: Mark, undo: impl Fn(&Entry) -> Result<(), Error>) -> Vec<Error> {
        if self.pass(mark, &undo).is_empty() { Vec::new() } else { self.pass(mark, &undo) }
    }

    fn pass(&mut self, mark: Mark, undo: &impl Fn(&Entry) -> Result<(), Error>) -> Vec<Error> {
        let mut errors = Vec::new();
        for index in (mark.0.min(self.entries.len())..self.entries.len()).rev() {
            if matches!(self.entries[index].restored, Some(Ok(()))) {
                continue;
            }
            let result = self.take_back_one(index, undo);
            if let Err(error) = &result {
                errors.push(error.clone());
            }
            self.entries[index].restored = Some(result);
        }
        errors
    }

    fn take_back_one(
        &mut self,
        index: usize,
        undo: &impl Fn(&Entry) -> Result<(), Error>,
    ) -> Result<(), Error> {
        crash_point()?;
        undo(&self.entries[index])?;
        // Only a note: a full disk must not make a change that is back count as one that stands.
        // Without the note it is taken back once more, which does nothing.
        let _ = self.journal.back(self.entries[index].number);
        Ok(())
    }

    /// Removes the ledger's file if every change is back, and says whether that was so.
    pub fn finish(self) -> Result<bool, Error> {
        if !self.entries.iter().all(|entry| matches!(entry.restored, Some(Ok(())))) {
            return Ok(false);
        }
        self.journal.remove().map(|()| true)
    }

    /// Writes `change` down, then makes it.
    fn record<T>(
        &mut self,
        change: Change,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let whole = change.all_or_nothing();
        self.intend(vec![change])?;
        let result = make();
        crash_point()?;
        if result.is_err() && whole {
            self.forget_last()?;
        }
        result
    }

    /// Writes changes down that are about to be made, and returns when they are on the disk.
    fn intend(&mut self, changes: Vec<Change>) -> Result<(), Error> {
        crash_point()?;
        let next = self.entries.last().map_or(0, |entry| entry.number + 1);
        let numbered: Vec<(u32, Change)> = (next..).zip(changes).collect();
        self.journal.intend(&numbered)?;
        self.entries.extend(numbered.into_iter().map(|(number, change)| Entry {
            number,
            change,
            made: None,
            boot: None,
            restored: None,
        }));
        crash_point()?;
        Ok(())
    }

    /// Writes down which directory or file the last change has made; on the disk before anything
    /// is put into it.
    fn note_made(&mut self, identity: Identity) -> Result<(), Error> {
        let Some(entry) = self.entries.last_mut() else { return Ok(()) };
        self.journal.made(entry.number, identity)?;
        entry.made = Some(identity);
        Ok(())
    }

    /// Strikes the last entry out: the kernel refused it as a whole.
    fn forget_last(&mut self) -> Result<(), Error> {
        if let Some(entry) = self.entries.pop() {
            self.journal.back(entry.number)?;
        }
        Ok(())
    }
}

/// Identifies the time since the last boot; empty where the kernel does not tell.
fn boot_id(root: &Root) -> String {
    root.read_trimmed("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// What stands in a ledger is done by root: nobody else may have written it. Nobody is trusted here
/// who may be trusted with a run folder.
fn check_owner(state_dir: &Path, place: &Path) -> Result<Checked, Error> {
    assay_files::check(place, None, Trust::Checked).map_err(|error| {
        let hint = format!(
            "{}: what a ledger says is done by root, so that it must be root's alone: name another \
             directory with ASSAY_STATE, or look into this one and make it yours (`chown`, `chmod \
             go-w`)",
            error.cause
        );
        Error::unexpected("trust", state_dir, hint)
    })
}

fn checked_name(run_id: &str) -> Result<&str, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:+".contains(c);
    if run_id.is_empty() || run_id.starts_with('.') || !run_id.chars().all(plain) {
        let hint = "a run id is made of letters, digits and `-_.:+`";
        return Err(Error::unexpected("begin a ledger for", Path::new(run_id), hint));
    }
    Ok(run_id)
}

/// Makes the directory of ledgers, for its owner alone.
fn make_directories(state_dir: &Path) -> Result<(), Error> {
    drop(private_state(state_dir)?);
    let path = &recovery::directory(state_dir);
    let made = check_owner(state_dir, path)?.make_private().and_then(|dir| dir.keep_to_owner());
    made.map_err(|error| Error::from(error).with_hint(ELSEWHERE))?;
    // The new directories themselves must be on the disk before a ledger in them counts.
    for directory in path.ancestors().take(3).filter(|directory| directory.is_dir()) {
        journal::sync_directory(directory)?;
    }
    Ok(())
}

const ELSEWHERE: &str = "set ASSAY_STATE to a directory that can be written and survives a reboot";

/// The state directory, made where it is missing, in which only its owner can change anything. One
/// that an older version has made for all to read becomes its owner's alone.
pub fn private_state(state_dir: &Path) -> Result<Dir, Error> {
    let made = check_owner(state_dir, state_dir)?.make_private();
    let dir = made.map_err(|error| Error::from(error).with_hint(ELSEWHERE))?;
    // Another name may be that of a directory which others have to read, such as a home.
    if state_dir.ends_with("assay") {
        dir.keep_to_owner()?;
    }
    Ok(dir)
}

/// Opens a file of the state directory whose lock means something, and lets only its owner open it:
/// who can open it can hold the lock.
pub fn lock_file(state: &Dir, name: &str) -> Result<std::fs::File, Error> {
    let file = state.append(name).map_err(|error| Error::from(error).with_hint(ELSEWHERE))?;
    lock::keep_to_owner(&file, &state.path().join(name))?;
    Ok(file)
}

#[cfg(test)]
mod crash_injector;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod fake_run;
#[cfg(test)]
mod forged_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
