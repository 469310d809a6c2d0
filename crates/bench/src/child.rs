//! Waits for child processes.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use assay_sys::kernel::parse::keyed;
use assay_sys::kernel::{Root, process, signal};
use rustix::process::Signal;

use crate::failure::Failure;

/// Between two looks at a program.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until `child` has ended. An interruption by the user is forwarded to the child, which is
/// waited for: a run restores its host before it ends.
pub(crate) fn wait(child: &mut Child) -> Result<ExitStatus, Failure> {
    wait_watching(child, |_| ())
}

/// The same, also returning the peak memory in bytes (`VmHWM`, proc_pid_status(5)), as last read
/// before the end.
pub(crate) fn wait_with_peak(child: &mut Child) -> Result<(ExitStatus, u64), Failure> {
    let mut peak = 0;
    let look = |pid: u32| {
        let status = Root::real().read(format!("/proc/{pid}/status")).unwrap_or_default();
        peak = keyed::kibibytes(&status, "VmHWM").unwrap_or(peak);
    };
    wait_watching(child, look).map(|status| (status, peak))
}

fn wait_watching(child: &mut Child, mut look: impl FnMut(u32)) -> Result<ExitStatus, Failure> {
    let mut stop_sent = false;
    loop {
        look(child.id());
        match child.try_wait() {
            Ok(Some(_)) if stop_sent => break,
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(cause) => return Err(Failure::Failed(format!("cannot wait: {cause}"))),
        }
        if signal::interrupted_by().is_some() && !stop_sent {
            // A child that has just ended needs no signal.
            let _ = process::send(child.id(), Signal::TERM);
            stop_sent = true;
        }
        std::thread::sleep(LOOK);
    }
    Err(Failure::Interrupted(signal::interrupted_by().unwrap_or("a signal")))
}
