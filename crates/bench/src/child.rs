//! Waits for child processes.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use assay_kernel::parse::keyed;
use assay_kernel::{Root, process, signal};
use rustix::process::Signal;

use crate::failure::Failure;

/// Runs a short program to its end; returns its stdout.
pub(crate) fn stdout(command: &mut Command) -> Result<String, Failure> {
    let failed = |cause: &dyn std::fmt::Display, command: &Command| {
        Failure::Failed(format!("{command:?}: {cause}"))
    };
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(|cause| failed(&cause, command))?;
    if let Some(signal) = signal::interrupted_by() {
        return Err(Failure::Interrupted(signal));
    }
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(failed(&format!("{}: {}", output.status, stderr.trim()), command));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

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
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Failure::Interrupted(signal::interrupted_by().unwrap_or("a signal")))
}
