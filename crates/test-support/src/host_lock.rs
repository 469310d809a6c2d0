//! Orders tests that use the host, and counts skipped tests with the reason, so that they never count as passed.
//!
//! cargo-nextest runs each test in a process of its own, and `.config/nextest.toml` says which may run at the same
//! time. The lock holds that against a second suite on the same machine and against `cargo test`, whose tests share a
//! process.

use std::env;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use assay_host::facts::{Available, HostFacts};
use assay_sys::kernel::Root;
use rustix::fs::{FlockOperation, flock};

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

/// Held by a test while it uses the host.
#[derive(Debug)]
pub struct HostLock {
    _files: Vec<File>,
}

const HOST: &str = "/tmp/assay-tests.lock";
const MEASURES: &str = "/tmp/assay-measures.lock";

/// Waits until this test may measure on the host, with no other test running; `None`, after counting it as skipped, if
/// the host lacks a requirement.
#[must_use]
pub fn host_alone(test: &str, needs: &[Need]) -> Option<HostLock> {
    assert!(
        is_alone(),
        "a test that takes the host alone is in the group `alone` of .config/nextest.toml"
    );
    take(test, needs, &[(HOST, FlockOperation::LockExclusive)])
}

/// The same for a test that measures what others may slow down but not falsify: one of its kind at a time, beside others
/// unless .config/nextest.toml has it in the group `alone`.
#[must_use]
pub fn host_measured(test: &str, needs: &[Need]) -> Option<HostLock> {
    if is_alone() {
        return host_alone(test, needs);
    }
    take(
        test,
        needs,
        &[(MEASURES, FlockOperation::LockExclusive), (HOST, FlockOperation::LockShared)],
    )
}

/// Whether no other test of this suite runs.
pub(crate) fn is_alone() -> bool {
    env::var("NEXTEST_TEST_GROUP").map_or(true, |group| group == "alone")
}

/// The same for a test that changes the host, or compares it before and after, but whose result others cannot change:
/// other tests may run at the same time.
#[must_use]
pub fn host_lock(test: &str, needs: &[Need]) -> Option<HostLock> {
    let has_own_process = env::var_os("NEXTEST").is_some();
    let operation = match has_own_process {
        true => FlockOperation::LockShared,
        false => FlockOperation::LockExclusive,
    };
    take(test, needs, &[(HOST, operation)])
}

fn take(test: &str, needs: &[Need], locks: &[(&str, FlockOperation)]) -> Option<HostLock> {
    if is_quick(test) {
        return None;
    }
    if let Some(reason) = why_not(needs) {
        skip(test, &reason);
        return None;
    }
    let lock = |(path, operation): &(&str, FlockOperation)| {
        let file = File::options().create(true).append(true).open(path).unwrap();
        rustix::io::retry_on_intr(|| flock(&file, *operation)).unwrap();
        file
    };
    Some(HostLock { _files: locks.iter().map(lock).collect() })
}

/// Whether only tests run that need no root, network or guest (`make test-quick`); then this one counts as skipped.
#[must_use]
pub fn is_quick(test: &str) -> bool {
    let quick = env::var_os("ASSAY_TEST_QUICK").is_some();
    if quick {
        skip(test, "needs the host, a guest or a network: `make test`");
    }
    quick
}

/// Reports that a test, or a part of it, did not run and why; `make test` adds these up.
pub fn skip(test: &str, reason: &str) {
    eprintln!("SKIPPED {test}: {reason}");
    if let Some(path) = env::var_os("ASSAY_TEST_SKIPS") {
        // A single write, so that lines of several processes do not mix.
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{} {test}: {reason}\n", name_of_test()).as_bytes()).unwrap();
    }
}

fn name_of_test() -> String {
    env::var("NEXTEST_TEST_NAME").unwrap_or_else(|_| {
        thread::current().name().expect("a test has a thread of its own").to_owned()
    })
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
            // Else the test would be skipped everywhere, for ever.
            None => panic!("{name} is not a tool that assay host looks for"),
        },
    }
}
