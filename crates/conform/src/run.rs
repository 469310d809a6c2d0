//! Runs cases one after the other, each in fresh groups and for a limited time, all under one ledger.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_host::facts::{HostFacts, Layout};
use assay_sys::kernel::{Error, Root, process, signal};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::case::{Case, Need, hierarchies};
use crate::document::{CaseRecord, Document, SCHEMA};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// What to run, where and how.
#[derive(Debug)]
pub struct Request<'r> {
    /// The cases in their order.
    pub cases: Vec<&'r Case>,
    /// The host.
    pub facts: HostFacts,
    /// Directory of ledgers.
    pub state_dir: PathBuf,
    /// The run's id, `20261121T120000Z-4711`; the ledger and the groups are named after it.
    pub id: String,
    /// The program whose command `probe` starts probes: this one.
    pub program: PathBuf,
    /// Factor by which windows and limits are longer than usual.
    pub patience: f64,
    /// Start time, RFC 3339.
    pub started_at: String,
    /// The command line.
    pub command: String,
}

/// The result of a run.
#[derive(Debug)]
pub struct Finished {
    /// The document, as far as the run got.
    pub document: Document,
    /// Changes that could not be restored.
    pub not_restored: Vec<Error>,
    /// The signal that requested the stop, if any.
    pub interrupted: Option<&'static str>,
}

/// Runs the cases and restores the host after each. `progress` is called for each case before it
/// starts (without a record) and after it ended (with one). Fails only if no ledger can be created,
/// before anything is changed.
pub fn run(
    request: &Request,
    progress: &mut dyn FnMut(&Case, Option<&CaseRecord>),
) -> Result<Finished, Error> {
    let root = Root::real();
    let mut ledger = Ledger::begin(&request.state_dir, &format!("conform-{}", request.id))?;
    let mut document = empty_document(request);
    let mut not_restored = Vec::new();
    for case in &request.cases {
        if signal::interrupted_by().is_some() {
            break;
        }
        progress(case, None);
        let began = Instant::now();
        let mark = ledger.mark();
        let outcome = attempt(request, &root, &mut ledger, case);
        not_restored.extend(ledger.restore_to(&root, mark));
        if signal::interrupted_by().is_some() {
            break;
        }
        let record = record(case, outcome, began.elapsed());
        progress(case, Some(&record));
        document.cases.push(record);
    }
    document.restored = ledger.finish()? && not_restored.is_empty();
    Ok(Finished { document, not_restored, interrupted: signal::interrupted_by() })
}

fn empty_document(request: &Request) -> Document {
    let layout = match request.facts.cgroup.layout {
        Layout::V1 => "v1",
        Layout::V2 => "v2",
        Layout::Hybrid => "hybrid",
        Layout::None => "none",
    };
    Document {
        schema: SCHEMA,
        kernel: request.facts.kernel.clone(),
        layout: layout.to_owned(),
        virtual_machine: request.facts.virtual_machine.clone(),
        started_at: request.started_at.clone(),
        command: request.command.clone(),
        patience: request.patience,
        restored: false,
        cases: Vec::new(),
    }
}

fn record(case: &Case, outcome: Outcome, took: Duration) -> CaseRecord {
    CaseRecord {
        controller: case.controller.to_owned(),
        behaviour: case.behaviour.to_owned(),
        verdict: outcome.verdict,
        reason: outcome.reason,
        evidence: outcome.evidence,
        seconds: (took.as_secs_f64() * 100.0).round() / 100.0,
    }
}

/// Runs one case as far as the host allows. Errors become `void`.
fn attempt(request: &Request, root: &Root, ledger: &mut Ledger, case: &Case) -> Outcome {
    if let Some(why) = case.needs.iter().find_map(|need| need.lacking(&request.facts)) {
        return Outcome::not_available(why);
    }
    let limits = Limits::new(&request.facts, request.patience);
    let top = format!("assay-conform-{}", request.id);
    let hierarchies = hierarchies(case.needs, &request.facts);
    let tree = match Tree::create(root, ledger, &hierarchies, &top) {
        Ok(tree) => tree,
        Err(error) => return failed(&request.facts, &error),
    };
    let mut fixture = Fixture {
        root,
        facts: &request.facts,
        ledger,
        tree,
        hierarchies,
        top,
        program: request.program.clone(),
        patience: request.patience,
        until: Instant::now() + limits.windows,
    };
    if let Some(why) = case.needs.iter().find_map(|need| lacking_in_groups(&fixture, *need)) {
        return Outcome::not_available(why);
    }
    let limit = limits.end;
    let watchdog = match Watchdog::start(root, &fixture.tops(), limit) {
        Ok(watchdog) => watchdog,
        Err(error) => return failed(&request.facts, &error),
    };
    let outcome = (case.run)(&mut fixture);
    match (watchdog.stop(), outcome) {
        (true, _) => {
            Outcome::void(format!("the case hung for {limit:?}; its processes were killed"))
        }
        (false, Ok(outcome)) => outcome,
        (false, Err(Stop::NotAvailable(why))) => Outcome::not_available(why),
        (false, Err(Stop::Failed(error))) => failed(&request.facts, &error),
    }
}

/// A case that could not be carried out. A missing privilege shows nothing about the kernel.
fn failed(facts: &HostFacts, error: &Error) -> Outcome {
    let forbidden = error.is(Errno::ACCESS) || error.is(Errno::PERM);
    match facts.root.reason() {
        Some(why) if forbidden => {
            Outcome::not_available(format!("needs root, because of this: {error}; {why}"))
        }
        _ => Outcome::void(error.to_string()),
    }
}

/// Needs that host facts cannot answer.
fn lacking_in_groups(fixture: &Fixture, need: Need) -> Option<String> {
    match need {
        Need::File(file) => lacking_file(fixture, file),
        Need::FileBy(v1, v2) => lacking_file(fixture, fixture.by_version(v1, v2)),
        Need::Loop if !fixture.root.exists("/dev/loop-control") => {
            Some("no loop devices: `modprobe loop` may help".to_owned())
        }
        _ => None,
    }
}

fn lacking_file(fixture: &Fixture, file: &str) -> Option<String> {
    let version = fixture.version();
    (!fixture.has("", file))
        .then(|| format!("this kernel has no {file} in a group of cgroup {version}"))
}

/// Times from the start of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// From then on no more windows are read for a result that is undecided.
    pub(crate) windows: Duration,
    /// From then on its processes are killed.
    pub(crate) end: Duration,
}

impl Limits {
    /// The limits on this machine, longer by `patience`. What a few windows of an emulated CPU do not decide,
    /// more of them rarely do: it waits for the CPUs of its host, and dozens of cases wait one after the
    /// other.
    pub(crate) fn new(facts: &HostFacts, patience: f64) -> Self {
        let (windows, end) = if facts.is_emulated() { (10, 30) } else { (40, 40) };
        let long = |seconds| Duration::from_secs(seconds).mul_f64(patience);
        Self { windows: long(windows), end: long(end) }
    }
}

/// A thread that kills all processes below a case's groups when the case takes too long. The case
/// then finds its probes ended, and ends itself.
#[derive(Debug)]
pub struct Watchdog {
    done: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Watchdog {
    /// Watches these group directories for at most `limit`.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub fn start(root: &Root, tops: &[PathBuf], limit: Duration) -> Result<Self, Error> {
        let (done, stopped) = channel();
        let (root, tops) = (root.clone(), tops.to_vec());
        let thread = Builder::new().spawn(move || watch(&root, &tops, limit, &stopped));
        let thread = thread.map_err(|cause| Error::new("start", Path::new("a thread"), &cause))?;
        Ok(Self { done, thread })
    }

    /// Stops watching; returns whether the case had to be killed.
    #[must_use]
    pub fn stop(self) -> bool {
        drop(self.done);
        self.thread.join().unwrap_or(false)
    }
}

fn watch(root: &Root, tops: &[PathBuf], limit: Duration, stopped: &Receiver<()>) -> bool {
    if stopped.recv_timeout(limit) != Err(RecvTimeoutError::Timeout) {
        return false;
    }
    // Processes may fork meanwhile, so killing is repeated until the case ends.
    loop {
        for top in tops {
            kill_below(root, top);
        }
        kill_children(root);
        if stopped.recv_timeout(Duration::from_millis(50)) != Err(RecvTimeoutError::Timeout) {
            return true;
        }
    }
}

/// Probes are children of this process, wherever the owner of a delegated group has moved them meanwhile.
fn kill_children(root: &Root) {
    let threads = Path::new("/proc/self/task");
    for thread in root.directories(threads).unwrap_or_default() {
        let text = root.read(threads.join(thread).join("children")).unwrap_or_default();
        for pid in text.split_whitespace().filter_map(|id| id.parse().ok()) {
            let _ = process::send(pid, Signal::KILL);
        }
    }
}

/// Errors are ignored: what has vanished needs no killing.
fn kill_below(root: &Root, group: &Path) {
    let _ = root.write(group.join("freezer.state"), "THAWED");
    let _ = root.write(group.join("cgroup.kill"), "1");
    let text = root.read(group.join("cgroup.procs")).unwrap_or_default();
    for pid in text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != 0) {
        let _ = process::send(pid, Signal::KILL);
    }
    for name in root.list(group).unwrap_or_default() {
        let inside = group.join(name);
        if root.resolve(&inside).is_dir() {
            kill_below(root, &inside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_somebody_moved_out_of_the_groups_is_killed_as_well() {
        let watchdog = Watchdog::start(&Root::real(), &[], Duration::from_millis(10)).unwrap();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(watchdog.stop());
    }

    #[test]
    fn an_emulated_machine_gives_up_sooner_on_what_is_undecided() {
        let facts = assay_test_support::hosts::host(true);
        let of = |machine: &str, patience| {
            let facts = HostFacts { virtual_machine: Some(machine.to_owned()), ..facts.clone() };
            let limits = Limits::new(&facts, patience);
            (limits.windows.as_secs(), limits.end.as_secs())
        };
        assert_eq!(of("KVM", 1.0), (40, 40));
        assert_eq!(of("QEMU", 3.0), (30, 90));
        assert_eq!(of("QEMU", 6.0), (60, 180));
    }
}
