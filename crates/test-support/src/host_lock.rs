//! Tests take turns on the host, and those that cannot run are counted, with the reason, and never
//! taken for passed.
//!
//! `assay-suite` runs every test binary twice. In the first pass tests that ask for the host are only
//! written down, so that all others run side by side at once; in the second those
//! that were written down run one after the other. A test that never asks for the
//! host runs in the first pass alone. Under plain `cargo test` tests wait for the host by a lock.

use std::env;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use assay_facts::{Available, HostFacts};
use assay_kernel::{Root, filesystem};

/// What a test needs of the host besides root.
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

/// Held by the one test that changes the host now, also against tests of other crates.
#[derive(Debug)]
pub struct HostLock {
    _lock: File,
}

/// What else may run while a test has the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// Nothing: the test measures.
    Nothing,
    /// Tests that only compute.
    Computing,
    /// All but those that measure: the test has a guest or a root of its own, and asks nothing of the
    /// host.
    All,
}

impl Beside {
    const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "quiet",
            Self::Computing => "busy",
            Self::All => "guest",
        }
    }
}

/// Waits for this test's turn to change the host, with nothing else running that `assay-suite` has
/// started; `None`, said and counted, where the host cannot do it.
#[must_use]
pub fn host_lock(test: &str, needs: &[Need]) -> Option<HostLock> {
    take(test, needs, Beside::Nothing)
}

/// The same for a test that judges nothing which a busy CPU could change: tests that only compute
/// may run beside it.
#[must_use]
pub fn busy_host_lock(test: &str, needs: &[Need]) -> Option<HostLock> {
    take(test, needs, Beside::Computing)
}

fn take(test: &str, needs: &[Need], beside: Beside) -> Option<HostLock> {
    if is_put_off(beside) {
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

/// Looks at the host while no test has it. Each gives it back as it was, so that two such looks
/// must see the same, however many tests had it in between.
pub fn with_host_lock<T>(look: impl FnOnce() -> T) -> T {
    let _lock = wait();
    look()
}

/// Whether a test that has a guest, and needs nothing of the host but its CPUs, is put off; it then
/// returns at once. Such tests run beside all others but those that measure.
#[must_use]
pub fn is_for_guests() -> bool {
    is_put_off(Beside::All)
}

/// The same for a test that changes nothing of the host either, but takes long or needs more than this
/// clone.
#[must_use]
pub fn is_for_later() -> bool {
    is_put_off(Beside::All)
}

/// Writes a test that asks down under the name that libtest gave its thread, where
/// `assay-suite` wants that.
fn is_put_off(beside: Beside) -> bool {
    let Some(path) = env::var_os("ASSAY_TEST_LATER") else { return false };
    append(Path::new(&path), &format!("{} {}", beside.word(), name_of_test()));
    true
}

fn name_of_test() -> String {
    let thread = thread::current();
    thread.name().expect("a test asks in the thread that libtest gave it").to_owned()
}

/// Says that a test, or a part of it, did not run and why; `make test` adds these up.
pub fn skip(test: &str, reason: &str) {
    eprintln!("SKIPPED {test}: {reason}");
    if let Some(path) = env::var_os("ASSAY_TEST_SKIPS") {
        append(Path::new(&path), &format!("{} {test}: {reason}", name_of_test()));
    }
}

/// One write, so that lines of several processes do not mix.
fn append(path: &Path, line: &str) {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// What is asked of the host does not change while tests run, and asking starts a dozen programs.
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
        Need::Controller(name) => facts.cgroup.homes([name]).1.remove(name),
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
