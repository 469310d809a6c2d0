//! Signals for processes that may have ended.

use std::collections::HashSet;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{identified, send, started};
use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// A process that need not be a child of ours, and is never mistaken for a later one with its id.
#[derive(Debug)]
pub struct ProcessHandle {
    pid: u32,
    identity: Identity,
}

#[derive(Debug)]
enum Identity {
    /// pidfd_open(2), Linux 5.3.
    Descriptor(OwnedFd),
    /// On older kernels when it was started, in ticks since boot, which leaves a tiny race.
    Started(Option<u64>),
}

impl ProcessHandle {
    /// Opens the process that has this id now.
    pub fn open(pid: u32) -> Result<Self, Error> {
        let (id, path) = identified(pid)?;
        let identity = match pidfd_open(id, PidfdFlags::empty()) {
            Ok(descriptor) => Identity::Descriptor(descriptor),
            Err(Errno::NOSYS) => Identity::Started(started(&Root::real(), pid)),
            Err(cause) => return Err(Error::new("pidfd_open", &path, &cause.into())),
        };
        Ok(Self { pid, identity })
    }

    /// Its id, which may belong to another process once it has ended.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// Sends it a signal; an error if it has ended.
    pub fn send(&self, signal: Signal) -> Result<(), Error> {
        let (_, path) = identified(self.pid)?;
        let sent = match &self.identity {
            Identity::Descriptor(descriptor) => pidfd_send_signal(descriptor, signal),
            Identity::Started(then) if *then == started(&Root::real(), self.pid) => {
                return send(self.pid, signal);
            }
            Identity::Started(_) => Err(Errno::SRCH),
        };
        sent.map_err(|cause| Error::new("signal", &path, &cause.into()))
    }
}

/// Sends a signal to every process that `list` names, each through a handle and only if it is named once more when
/// that is open: until then a process may have ended, and its id may have been reused. Some may end meanwhile.
pub fn send_to_all(list: impl Fn() -> Vec<u32>, signal: Signal) {
    /// Reading the list again for each process would take minutes if there are tens of thousands.
    const AT_ONCE: usize = 128;
    for pids in list().chunks(AT_ONCE) {
        let handles: Vec<ProcessHandle> =
            pids.iter().filter_map(|pid| ProcessHandle::open(*pid).ok()).collect();
        let named: HashSet<u32> = list().into_iter().collect();
        for process in handles.iter().filter(|process| named.contains(&process.id())) {
            let _ = process.send(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    /// Whether a signal for a process that has ended reaches the next one with its id. In a pid namespace of its
    /// own, whose next id can be chosen (`ns_last_pid`, with CONFIG_CHECKPOINT_RESTORE).
    #[test]
    fn a_signal_never_reaches_a_later_process_with_the_same_id() {
        if !rustix::process::geteuid().is_root() || !Path::new(LAST_PID).exists() {
            return;
        }
        let name = "kernel::process::handle::tests::in_a_namespace";
        let output = Command::new("unshare")
            .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", name])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }

    #[test]
    fn only_a_process_that_is_still_named_gets_the_signal() {
        let sleep = || Command::new("sleep").arg("100").stdin(Stdio::null()).spawn().unwrap();
        let [mut stays, mut leaves] = [sleep(), sleep()];
        let is_first = Cell::new(true);
        let list = || match is_first.replace(false) {
            true => vec![leaves.id(), stays.id()],
            false => vec![stays.id()],
        };
        send_to_all(list, Signal::KILL);
        stays.wait().unwrap();
        assert!(leaves.try_wait().unwrap().is_none(), "it is not named any more");
        leaves.kill().unwrap();
        leaves.wait().unwrap();
    }

    const LAST_PID: &str = "/proc/sys/kernel/ns_last_pid";

    #[test]
    #[ignore = "started by the test above"]
    fn in_a_namespace() {
        assert_eq!(std::process::id(), 1, "elsewhere it would choose the next id of the host");
        let sleep = || {
            let mut command = Command::new("sleep");
            command.arg("100").stdin(Stdio::null()).spawn().unwrap()
        };
        let mut first = sleep();
        let handle = ProcessHandle::open(first.id()).unwrap();
        first.kill().unwrap();
        first.wait().unwrap();
        std::fs::write(LAST_PID, (first.id() - 1).to_string()).unwrap();
        let mut second = sleep();
        assert_eq!(second.id(), first.id());
        let sent = handle.send(Signal::KILL);
        assert!(sent.is_err() && second.try_wait().unwrap().is_none());
        second.kill().unwrap();
        second.wait().unwrap();
    }
}
