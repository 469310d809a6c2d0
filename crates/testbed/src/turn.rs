//! Tests that cannot run here are counted, with the reason, and never taken for passed.

use std::fs::File;
use std::io::Write;
use std::path::Path;

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
pub struct Turn {
    _lock: File,
}

/// Waits for this test's turn to change the host; `None`, said and counted, where the host cannot
/// do it.
#[must_use]
pub fn turn(test: &str, needs: &[Need]) -> Option<Turn> {
    let facts = assay_host::gather(&Root::real()).unwrap();
    if let Some(reason) = why_not(&facts, needs) {
        skip(test, &reason);
        return None;
    }
    let path = Path::new("/tmp/assay-tests.lock");
    let lock = File::options().create(true).append(true).open(path).unwrap();
    filesystem::lock(&lock, path).unwrap();
    Some(Turn { _lock: lock })
}

/// Says that a test did not run and why; `make test` adds these lines up.
pub fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}");
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

fn why_not(facts: &HostFacts, needs: &[Need]) -> Option<String> {
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
