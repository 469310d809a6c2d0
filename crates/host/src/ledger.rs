//! The ledger: every change of the host is written down, with the previous value, before it is made, so
//! that the host can be restored even after SIGKILL at any moment (docs/safety.md).

mod allowed;
mod change;
mod controllers;
mod crash_point;
mod disk;
mod foreign_group;
mod group;
mod hanging_step;
mod inside;
mod inverse;
mod journal;
mod layer;
mod line;
mod lock;
mod loop_device;
mod make;
mod queue;
mod recovery;
mod restore_change;
mod setting;
mod stacked_disk;
mod stand_in;
mod step_threads;
mod while_busy;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_sys::files::{Checked, Dir, Identity, Trust};
use assay_sys::kernel::{Error, Root, process};

pub use change::{Area, Change};
pub use disk::DiskIdentity;
pub(crate) use disk::whole_disk;
pub use layer::Layer;
pub use line::{Damaged, count_changes};
pub use loop_device::LoopDevice;
pub use recovery::{LedgerRestore, RestoreReport, Unfinished, restore_all, set_aside, unfinished};
pub use stand_in::{Replaced, start_stand_in};

use crash_point::crash_point;
use hanging_step::{RunningStep, Step};
use inside::Inside;
use journal::Journal;
use line::{FORMAT, Header};
use step_threads::StepThreads;

/// The changes of one run. Its file is locked while this value lives; if the process ends without
/// [`Ledger::finish`], the file stays for `assay restore`.
#[derive(Debug)]
pub struct Ledger {
    journal: Journal,
    entries: Entries,
}

/// The changes, which another thread restores if this one hangs (`stand_in.rs`).
type Entries = Arc<Mutex<Vec<Entry>>>;

#[derive(Debug)]
struct Entry {
    number: u32,
    change: Change,
    /// Device and inode of the directory or file it created, where known.
    made: Option<Identity>,
    /// The boot in which it was made; `None` for the present one.
    boot: Option<String>,
    restored: Option<Result<(), Error>>,
    /// The step that was to restore it, if that was left behind.
    left: Option<RunningStep>,
}

impl Entry {
    fn new(number: u32, change: Change) -> Self {
        Self { number, change, made: None, boot: None, restored: None, left: None }
    }
}

/// A position in the ledger to which changes can be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(usize);

/// One change, for the record of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeReport {
    /// A description of the change.
    pub what: String,
    /// The previous value, if any.
    pub before: Option<String>,
    /// The new value, if any.
    pub set: Option<String>,
    /// `None` while the change is in force, else the result of restoring it.
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

/// The directory of ledgers: `ASSAY_STATE`, or /var/lib/assay, which survives a reboot; for users other
/// than root `$XDG_STATE_HOME/assay`, by default `~/.local/state/assay`.
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
    /// Opens the ledger of a new run below `state_dir`. Refuses while another run is active and when an
    /// earlier one left changes behind, since the present values would then be mistaken for the owner's
    /// settings.
    pub fn begin(state_dir: &Path, run_id: &str) -> Result<Self, Error> {
        let _inside = Inside::of(state_dir);
        StepThreads::shared();
        let directory = recovery::directory(state_dir);
        make_directories(state_dir)?;
        let path = directory.join(format!("{}.jsonl", checked_name(run_id)?));
        // Until the ledger has its name and its lock, no other run may search for it.
        let _lock = lock::LockGuard::acquire(&directory)?;
        recovery::refuse_if_any(state_dir)?;
        let header = Header {
            format: FORMAT,
            run: run_id.to_owned(),
            pid: std::process::id(),
            started: process::started(&Root::real(), std::process::id()),
            boot: boot_id(&Root::real()),
        };
        let journal = Journal::create(&path, header).map_err(|error| {
            let hint = "ASSAY_STATE sets another directory for ledgers; it must survive a reboot";
            error.with_hint(hint)
        })?;
        let entries = Entries::default();
        stand_in::open(journal.path(), &entries);
        Ok(Self { journal, entries })
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ledger's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.journal.path()
    }

    /// The present position, for [`Ledger::restore_to`].
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.entries().len())
    }

    /// All changes of this run in the order they were made.
    #[must_use]
    pub fn changes(&self) -> Vec<ChangeReport> {
        let entries = self.entries();
        let report = |entry: &Entry| ChangeReport::new(&entry.change, entry.restored.clone());
        entries.iter().map(report).collect()
    }

    /// Restores every change, the last one first. A failure does not stop the others; the errors are
    /// returned and kept for [`Ledger::changes`].
    pub fn restore(&mut self, root: &Root) -> Vec<Error> {
        self.restore_to(root, Mark(0))
    }

    /// Restores the changes made since `mark`.
    pub fn restore_to(&mut self, root: &Root, mark: Mark) -> Vec<Error> {
        let _inside = Inside::of(self.path());
        self.restore_own(root, mark)
    }

    fn restore_own(&mut self, root: &Root, mark: Mark) -> Vec<Error> {
        self.restore_entries(root, mark, |entry| {
            let (root, change, made) = (root.clone(), entry.change.clone(), entry.made);
            Box::new(move || restore_change::restore(&root, &change, made))
        })
    }

    /// Failures are retried once at the end: something that has been removed since may have blocked
    /// them, as a loop device's attributes depend on the device.
    fn restore_entries(
        &mut self,
        root: &Root,
        mark: Mark,
        step: impl Fn(&Entry) -> Step,
    ) -> Vec<Error> {
        let errors = self.pass(root, mark, &step);
        if errors.is_empty() { errors } else { self.pass(root, mark, &step) }
    }

    fn pass(&mut self, root: &Root, mark: Mark, step: &impl Fn(&Entry) -> Step) -> Vec<Error> {
        let mut errors = Vec::new();
        for index in self.restore_order().into_iter().filter(|index| *index >= mark.0) {
            if matches!(self.entries()[index].restored, Some(Ok(()))) {
                continue;
            }
            let result = self.restore_one_entry(root, index, step);
            if let Err(error) = &result {
                errors.push(error.clone());
            }
            self.entries()[index].restored = Some(result);
        }
        errors
    }

    /// The last change first, but frozen groups before all others.
    fn restore_order(&self) -> Vec<usize> {
        let entries = self.entries();
        let mut order: Vec<usize> = (0..entries.len()).rev().collect();
        order.sort_by_key(|index| !entries[*index].change.freezes());
        order
    }

    fn restore_one_entry(
        &mut self,
        root: &Root,
        index: usize,
        step: &impl Fn(&Entry) -> Step,
    ) -> Result<(), Error> {
        crash_point()?;
        let (step, change, number, mut left) = {
            let entry = &mut self.entries()[index];
            (step(entry), entry.change.clone(), entry.number, entry.left.take())
        };
        let result = match root.is_real() && change.may_hang() {
            true => hanging_step::run(StepThreads::shared(), &change.describe(), step, &mut left),
            false => step(),
        };
        self.entries()[index].left = left;
        result?;
        // Only a note: a full disk must not make a restored change count as one in force. Without the
        // note it is restored once more, which has no effect.
        let _ = self.journal.back(number);
        Ok(())
    }

    /// Removes the ledger's file if every change was restored, and returns whether that was so.
    pub fn finish(self) -> Result<bool, Error> {
        let _inside = Inside::of(self.path());
        if !self.entries().iter().all(|entry| matches!(entry.restored, Some(Ok(())))) {
            return Ok(false);
        }
        journal::remove(self.path())?;
        stand_in::close();
        Ok(true)
    }

    /// Writes `change` to the ledger, then makes it.
    fn record<T>(
        &mut self,
        change: Change,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _inside = Inside::of(self.path());
        let whole = change.all_or_nothing();
        self.intend(vec![change])?;
        let result = make();
        crash_point()?;
        if result.is_err() && whole {
            self.forget_last()?;
        }
        result
    }

    /// Writes down changes that are about to be made, and returns once they are on disk.
    fn intend(&mut self, changes: Vec<Change>) -> Result<(), Error> {
        crash_point()?;
        let next = self.entries().last().map_or(0, |entry| entry.number + 1);
        let numbered: Vec<(u32, Change)> = (next..).zip(changes).collect();
        self.journal.intend(&numbered)?;
        let entries = numbered.into_iter().map(|(number, change)| Entry::new(number, change));
        self.entries().extend(entries);
        crash_point()?;
        Ok(())
    }

    /// Writes down the identity of the directory or file that the last change created; on disk before
    /// anything is put into it.
    fn note_made(&mut self, identity: Identity) -> Result<(), Error> {
        let _inside = Inside::of(self.path());
        let Some(number) = self.entries().last().map(|entry| entry.number) else { return Ok(()) };
        self.journal.made(number, identity)?;
        if let Some(entry) = self.entries().last_mut() {
            entry.made = Some(identity);
        }
        Ok(())
    }

    /// Removes the last entry: the kernel refused the whole change.
    fn forget_last(&mut self) -> Result<(), Error> {
        let _inside = Inside::of(self.path());
        let last = self.entries().pop();
        last.map_or(Ok(()), |entry| self.journal.back(entry.number))
    }
}

/// Identifies the current boot; empty where the kernel does not provide an id.
fn boot_id(root: &Root) -> String {
    root.read_trimmed("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Root carries out what a ledger contains, so nobody else may have written it. Stricter than for run
/// folders: `--allow-shared-dir` has no effect here.
fn check_owner(state_dir: &Path, directory: &Path) -> Result<Checked, Error> {
    assay_sys::files::check(directory, None, Trust::Checked).map_err(|error| {
        let hint = format!(
            "{}: root carries out what a ledger contains, so that nobody else may write it: set another \
             directory with ASSAY_STATE, or inspect this one and make it yours (`chown`, `chmod \
             go-w`)",
            error.cause
        );
        Error::unexpected("trust", state_dir, hint)
    })
}

fn checked_name(run_id: &str) -> Result<&str, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:+".contains(c);
    if run_id.is_empty() || run_id.starts_with('.') || !run_id.chars().all(plain) {
        let hint = "a run id consists of letters, digits and `-_.:+`";
        return Err(Error::unexpected("begin a ledger for", Path::new(run_id), hint));
    }
    Ok(run_id)
}

/// Creates the directory of ledgers, accessible to its owner only.
fn make_directories(state_dir: &Path) -> Result<(), Error> {
    let path = &recovery::directory(state_dir);
    let missing = path.ancestors().take_while(|directory| !directory.is_dir()).count();
    drop(private_state(state_dir)?);
    let made = check_owner(state_dir, path)?.make_private().and_then(|dir| dir.restrict_to_owner());
    made.map_err(|error| Error::from(error).with_hint(ELSEWHERE))?;
    // The new directories themselves must be on disk before a ledger in them counts; three may be of a run that died here.
    let above = path.ancestors().take(3.max(missing + 1));
    for directory in above.filter(|directory| directory.is_dir()) {
        journal::sync_directory(directory)?;
    }
    Ok(())
}

const ELSEWHERE: &str = "set ASSAY_STATE to a directory that can be written and survives a reboot";

/// The state directory, created where it is missing, writable by its owner only. One that an older
/// version made readable for all is restricted to its owner.
fn private_state(state_dir: &Path) -> Result<Dir, Error> {
    let made = check_owner(state_dir, state_dir)?.make_private();
    let dir = made.map_err(|error| Error::from(error).with_hint(ELSEWHERE))?;
    // A directory of another name may have to be readable by others, such as a home.
    if state_dir.ends_with("assay") {
        dir.restrict_to_owner()?;
    }
    Ok(dir)
}

/// Opens a lock file in the state directory and lets only its owner open it: anyone who can open it can
/// hold the lock.
fn lock_file(state: &Dir, name: &str) -> Result<std::fs::File, Error> {
    let file = state.append(name).map_err(|error| Error::from(error).with_hint(ELSEWHERE))?;
    journal::keep_to_owner(&file, &state.path().join(name))?;
    Ok(file)
}

#[cfg(test)]
#[path = "ledger/tests/crash_injector.rs"]
mod crash_injector;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
#[path = "ledger/tests/fake.rs"]
mod fake;
#[cfg(test)]
#[path = "ledger/tests/fake_run.rs"]
mod fake_run;
#[cfg(test)]
mod foreign_host_tests;
#[cfg(test)]
mod forged_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod state_dir_tests;
#[cfg(test)]
mod tests;
