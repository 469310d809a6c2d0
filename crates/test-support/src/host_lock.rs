//! Serialises tests that use the host, and counts skipped tests with the reason, so that they never count as
//! passed.
//!
//! `assay-suite` runs every test binary twice. In the first pass tests that need the host are only recorded,
//! so that all others can run in parallel; in the second pass the recorded ones run one after another. A test
//! that never needs the host runs in the first pass only. Under plain `cargo test` a lock serialises the
//! tests.

use std::env;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use assay_facts::{Available, HostFacts};
use assay_kernel::{Root, filesystem};

/// A requirement of a test on the host, besides root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Some hierarchy that serves this controller, by its v2 name.
    Controller(&'static str),
    /// Loop devices.
    Loop,
    /// The scheduler bfq.
    Bfq,
    /// A program that `assay host` looks for.
    Tool(&'static str),
}

/// Held by the one test that currently changes the host, across all crates.
#[derive(Debug)]
pub struct HostLock {
    _lock: File,
}

/// What may run at the same time as a test with the host lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parallel {
    /// Nothing: the test measures.
    Nothing,
    /// Tests that only compute.
    Computing,
    /// All tests except those that measure: the test uses its own guest or root, and does not use the host.
    All,
}

impl Parallel {
    const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "quiet",
            Self::Computing => "busy",
            Self::All => "guest",
        }
    }
}

/// Waits until this test may change the host, with nothing else running that `assay-suite` started; `None`,
/// after counting it as skipped, if the host lacks a requirement.
#[must_use]
pub fn host_lock(test: &str, needs: &[Need]) -> Option<HostLock> {
    take(test, needs, Parallel::Nothing)
}

/// The same for a test whose result does not depend on a busy CPU: tests that only compute may run at the
/// same time.
#[must_use]
pub fn busy_host_lock(test: &str, needs: &[Need]) -> Option<HostLock> {
    take(test, needs, Parallel::Computing)
}

fn take(test: &str, needs: &[Need], parallel: Parallel) -> Option<HostLock> {
    if is_deferred(parallel) {
        return None;
    }
    if let Some(reason) = why_not(needs) {
        skip(test, &reason);
        return None;
    }
    Some(wait())
}

fn wait() -> HostLock {
    let path = Path::new("/tmp/assay-tests.lock");
    let lock = File::options().create(true).append(true).open(path).unwrap();
    filesystem::lock(&lock, path).unwrap();
    HostLock { _lock: lock }
}

/// Calls `look` while no test holds the host. Every test restores the host, so two such calls must see the
/// same state, however many tests ran in between.
pub fn with_host_lock<T>(look: impl FnOnce() -> T) -> T {
    let _lock = wait();
    look()
}

/// Whether a test that has a guest, and needs only the host's CPUs, is deferred; it then returns at once.
/// Such tests run at the same time as all others except those that measure.
#[must_use]
pub fn is_for_guests() -> bool {
    is_deferred(Parallel::All)
}

/// The same for a test that does not change the host either, but takes long or needs more than this clone.
#[must_use]
pub fn is_for_later() -> bool {
    is_deferred(Parallel::All)
}

/// Records a test that needs the host, by the name of its libtest thread, if `assay-suite` requests it.
fn is_deferred(parallel: Parallel) -> bool {
    let Some(path) = env::var_os("ASSAY_TEST_LATER") else { return false };
    append(Path::new(&path), &format!("{} {}", parallel.word(), name_of_test()));
    true
}

fn name_of_test() -> String {
    let thread = thread::current();
    thread.name().expect("the lock is taken in libtest's thread of the test").to_owned()
}

/// Reports that a test, or a part of it, did not run and why; `make test` adds these up.
pub fn skip(test: &str, reason: &str) {
    eprintln!("SKIPPED {test}: {reason}");
    if let Some(path) = env::var_os("ASSAY_TEST_SKIPS") {
        append(Path::new(&path), &format!("{} {test}: {reason}", name_of_test()));
    }
}

/// Appends with a single write, so that lines of several processes do not mix.
fn append(path: &Path, line: &str) {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Cached: the answer does not change while tests run, and determining it starts a dozen programs.
fn why_not(needs: &[Need]) -> Option<String> {
    static FACTS: OnceLock<HostFacts> = OnceLock::new();
    let facts = FACTS.get_or_init(|| assay_host::gather(&Root::real()).unwrap());
    if facts.effective_user != 0 {
        return Some("not root".to_owned());
    }
    needs.iter().find_map(|need| lacks(facts, *need))
}

fn lacks(facts: &HostFacts, need: Need) -> Option<String> {
    match need {
        Need::Controller(name) => facts.cgroup.hierarchies_with([name]).1.remove(name),
        Need::Loop => {
            (!Path::new("/dev/loop-control").exists()).then(|| "no loop devices".to_owned())
        }
        Need::Bfq => (!facts.schedulers.iter().any(|name| name == "bfq"))
            .then(|| "no queue offers bfq".to_owned()),
        Need::Tool(name) => match facts.tools.get(name).map(|tool| &tool.found) {
            Some(Available::Value(_)) => None,
            Some(Available::NotAvailable(why)) => Some(format!("{name}: {why}")),
            None => Some(format!("{name}: not a tool that assay host looks for")),
        },
    }
}
