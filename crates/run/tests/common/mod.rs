//! Groups of known load, for the tests of `assay blame`.

use std::path::Path;

use assay_host::gather;
use assay_run::exec::{Leftover, Request};
use assay_sys::kernel::Root;
use assay_test_support::{HostLock, Need, host_measured, skip};

/// A weight that leaves little to processes outside the groups of the test.
pub(crate) const HEAVY: &str = "cpu.weight=10000";

/// The lock of a test on two CPUs.
pub(crate) fn lock(test: &str) -> Option<HostLock> {
    let lock = host_measured(test, &[Need::Controller("cpu")])?;
    let cpus = gather(&Root::real()).unwrap().cpus.online;
    if cpus.contains(0) && cpus.contains(1) {
        return Some(lock);
    }
    skip(test, "it needs the CPUs 0 and 1");
    None
}

/// A thread that computes on each of these CPUs, or one that sleeps, while a file exists.
pub(crate) fn script(cpus: &[&str], file: &Path) -> String {
    let exists = format!("[ -e {} ]", file.display());
    let one = |cpu: &&str| format!("taskset -c {cpu} sh -c 'while {exists}; do :; done' &");
    match cpus {
        [] => format!("while {exists}; do sleep 0.1; done"),
        cpus => format!("{} wait", cpus.iter().map(one).collect::<Vec<_>>().join(" ")),
    }
}

/// A shell script in a group of its own with these settings.
pub(crate) fn request(folder: &Path, name: &str, settings: &[&str], script: &str) -> Request {
    Request {
        command: ["sh", "-c", script].map(Into::into).into(),
        settings: settings.iter().map(|setting| setting.parse().unwrap()).collect(),
        memory: None,
        disk: None,
        leftover: Leftover::Wait,
        keep_going: false,
        state_dir: folder.join(name),
        run_id: format!("test-{name}-{}", std::process::id()),
    }
}
