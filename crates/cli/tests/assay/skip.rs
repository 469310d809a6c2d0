//! Tests that cannot run here are counted, with the reason, and never taken for passed.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use assay_facts::Available;
use assay_kernel::{Root, filesystem};

/// Held by the one test that changes the host now, also against tests of other crates.
pub(crate) struct Turn {
    _lock: File,
}

/// Waits for this test's turn to change the host; `None` where the host cannot do it.
pub(crate) fn turn(test: &str) -> Option<Turn> {
    if let Some(reason) = why_not() {
        skip(test, &reason);
        return None;
    }
    let path = Path::new("/tmp/assay-tests.lock");
    let lock = File::options().create(true).append(true).open(path).unwrap();
    filesystem::lock(&lock, path).unwrap();
    Some(Turn { _lock: lock })
}

/// Says that a test did not run and why; `make test` adds these lines up.
pub(crate) fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}");
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

/// What this host lacks for studies of I/O weights, in the words of `assay host`.
fn why_not() -> Option<String> {
    let facts = assay_host::gather(&Root::real()).unwrap();
    if facts.effective_user != 0 {
        return Some("not root".to_owned());
    }
    if !Path::new("/dev/loop-control").exists() {
        return Some("no loop devices".to_owned());
    }
    if !facts.schedulers.iter().any(|name| name == "bfq") {
        return Some("no queue offers bfq".to_owned());
    }
    facts.tools.iter().filter(|(name, _)| matches!(name.as_str(), "fio" | "mkfs.ext4")).find_map(
        |(name, tool)| match &tool.found {
            Available::Value(_) => None,
            Available::NotAvailable(why) => Some(format!("{name}: {why}")),
        },
    )
}
