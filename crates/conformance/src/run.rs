//! Runs cases one after the other, each in fresh groups, all under one ledger.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_cgroup::Tree;
use assay_facts::{HostFacts, Layout, UsedHierarchy};
use assay_host::Ledger;
use assay_kernel::{Error, Root, signal};
use rustix::io::Errno;

use crate::case::Case;
use crate::document::{CaseRecord, Document, SCHEMA};
use crate::fixture::Fixture;
use crate::limits::Limits;
use crate::need::{Need, hierarchies, to_mount};
use crate::outcome::{Outcome, Stop};
use crate::watchdog::Watchdog;

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
    let hierarchies = match all_hierarchies(request, root, ledger, case, &top) {
        Ok(hierarchies) => hierarchies,
        Err(error) => return Outcome::not_available(error.to_string()),
    };
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
    let watchdog = Watchdog::start(root, &fixture.tops(), limit);
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

/// The hierarchies of a case; one is mounted if no hierarchy has its controller.
fn all_hierarchies(
    request: &Request,
    root: &Root,
    ledger: &mut Ledger,
    case: &Case,
    top: &str,
) -> Result<Vec<UsedHierarchy>, Error> {
    let mut hierarchies = hierarchies(case.needs, &request.facts);
    if let Some(controller) = to_mount(case.needs, &request.facts) {
        let mount = Path::new("/run").join(top);
        ledger.make_dir(root, &mount)?;
        ledger.mount_v1(controller, &mount)?;
        hierarchies.push(UsedHierarchy {
            is_v2: false,
            mount: mount.clone(),
            base: mount,
            controllers: BTreeSet::from([controller.to_owned()]),
        });
    }
    Ok(hierarchies)
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
