//! Busy processes beside a run.

use std::process::{Child, Command, Stdio};

use crate::failure::Failure;
use crate::pairs::Pair;

/// A busy process bound to a CPU, which ends with this value.
pub(super) struct Hog(Child);

/// It ends with the program that started it, however that ends.
const BUSY: &str = "while [ -e /proc/$PPID ]; do :; done";

impl Hog {
    /// One on each of these CPUs of a pair. Each has a session of its own: where the kernel groups processes by
    /// session, all of one together would have the weight of one process.
    pub(super) fn start(on: &[usize], cpus: Pair) -> Result<Vec<Self>, Failure> {
        let one = |cpu: &usize| {
            let mut command = Command::new("setsid");
            command.args(["taskset", "-c", &cpus[*cpu].to_string(), "sh", "-c", BUSY]);
            let child = command.stdin(Stdio::null()).spawn();
            let failed = |cause| Failure::Failed(format!("cannot start {command:?}: {cause}"));
            child.map(Self).map_err(failed)
        };
        on.iter().map(one).collect()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        // It may have been killed by hand.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
