//! Kills a case that hangs.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_kernel::{Root, process};
use rustix::process::Signal;

/// A thread that kills all processes below a case's groups when the case takes too long. The case
/// then finds its probes ended, and ends itself.
#[derive(Debug)]
pub(crate) struct Watchdog {
    done: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Watchdog {
    /// Watches these group directories for at most `limit`.
    pub(crate) fn start(root: &Root, tops: &[PathBuf], limit: Duration) -> Self {
        let (done, stopped) = channel();
        let (root, tops) = (root.clone(), tops.to_vec());
        Self { done, thread: std::thread::spawn(move || watch(&root, &tops, limit, &stopped)) }
    }

    /// Stops watching; returns whether the case had to be killed.
    pub(crate) fn stop(self) -> bool {
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
        if stopped.recv_timeout(Duration::from_millis(50)) != Err(RecvTimeoutError::Timeout) {
            return true;
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
