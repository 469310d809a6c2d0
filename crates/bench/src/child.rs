//! Waiting for a program that measures or is measured.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use assay_kernel::parse::keyed;
use assay_kernel::{Root, process, signal};
use rustix::process::Signal;

use crate::failure::Failure;

/// Runs a short program to its end; what it said on stdout.
pub(crate) fn said(command: &mut Command) -> Result<String, Failure> {
    let failed = |cause: &dyn std::fmt::Display, command: &Command| {
        Failure::Failed(format!("{command:?}: {cause}"))
    };
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(|cause| failed(&cause, command))?;
    if let Some(signal) = signal::interrupted_by() {
        return Err(Failure::Interrupted(signal));
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(&format!("{}: {}", output.status, said.trim()), command));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Waits until `child` has ended. When the user asks to stop, the child is asked too and waited
/// for: a run puts its host back before it ends.
pub(crate) fn wait(child: &mut Child) -> Result<ExitStatus, Failure> {
    wait_watching(child, |_| ())
}

/// The same, and the most memory that it ever had, in bytes (`VmHWM`, proc_pid_status(5)), as last
/// seen before it ended.
pub(crate) fn wait_with_peak(child: &mut Child) -> Result<(ExitStatus, u64), Failure> {
    let mut peak = 0;
    let look = |pid: u32| {
        let status = Root::real().read(format!("/proc/{pid}/status")).unwrap_or_default();
        peak = keyed::kibibytes(&status, "VmHWM").unwrap_or(peak);
    };
    wait_watching(child, look).map(|status| (status, peak))
}

fn wait_watching(child: &mut Child, mut look: impl FnMut(u32)) -> Result<ExitStatus, Failure> {
    let mut asked = false;
    loop {
        look(child.id());
        match child.try_wait() {
            Ok(Some(_)) if asked => break,
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(cause) => return Err(Failure::Failed(format!("cannot wait: {cause}"))),
        }
        if signal::interrupted_by().is_some() && !asked {
            // One that has just ended needs no signal.
            let _ = process::send(child.id(), Signal::TERM);
            asked = true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Failure::Interrupted(signal::interrupted_by().unwrap_or("a signal")))
}
