//! Waiting for a program that measures or is measured.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use assay_kernel::parse::keyed;
use assay_kernel::{Root, process, signal};
use rustix::process::Signal;

use crate::trouble::Trouble;

/// Waits until `child` has ended. When the user asks to stop, the child is asked too and waited
/// for: a run puts its host back before it ends.
pub(crate) fn wait(child: &mut Child) -> Result<ExitStatus, Trouble> {
    wait_watching(child, |_| ())
}

/// The same, and the most memory that it ever had, in bytes (`VmHWM`, proc_pid_status(5)), as last
/// seen before it ended.
pub(crate) fn wait_with_peak(child: &mut Child) -> Result<(ExitStatus, u64), Trouble> {
    let mut peak = 0;
    let look = |pid: u32| {
        let status = Root::real().read(format!("/proc/{pid}/status")).unwrap_or_default();
        peak = keyed::kibibytes(&status, "VmHWM").unwrap_or(peak);
    };
    wait_watching(child, look).map(|status| (status, peak))
}

fn wait_watching(child: &mut Child, mut look: impl FnMut(u32)) -> Result<ExitStatus, Trouble> {
    let mut asked = false;
    loop {
        look(child.id());
        match child.try_wait() {
            Ok(Some(_)) if asked => break,
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(cause) => return Err(Trouble::Failed(format!("cannot wait: {cause}"))),
        }
        if signal::interrupted_by().is_some() && !asked {
            // One that has just ended needs no signal.
            let _ = process::send(child.id(), Signal::TERM);
            asked = true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Trouble::Interrupted(signal::interrupted_by().unwrap_or("a signal")))
}
