//! Waits for child processes.

use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use assay_kernel::parse::keyed;
use assay_kernel::{Root, process, signal};
use rustix::process::Signal;

use crate::failure::Failure;

/// Between two looks at a program.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a short program to its end; returns its stdout.
pub(crate) fn stdout(command: &mut Command) -> Result<String, Failure> {
    let failed = |cause: &dyn std::fmt::Display, command: &Command| {
        Failure::Failed(format!("{command:?}: {cause}"))
    };
    let ended = output(command).map_err(|cause| failed(&cause, command))?;
    let output = ended?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(failed(&format!("{}: {}", output.status, stderr.trim()), command));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program to its end, which an interruption by the user brings about, and returns what it wrote. The outer error is that
/// it could not be started.
pub(crate) fn output(command: &mut Command) -> std::io::Result<Result<Output, Failure>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let (id, has_ended) = (child.id(), AtomicBool::new(false));
    let output = scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::SeqCst) {
                if signal::interrupted_by().is_some() {
                    // A child that has just ended needs no signal.
                    let _ = process::send(id, Signal::TERM);
                    return;
                }
                std::thread::sleep(LOOK);
            }
        });
        let output = child.wait_with_output();
        has_ended.store(true, Ordering::SeqCst);
        output
    })?;
    Ok(match signal::interrupted_by() {
        Some(signal) => Err(Failure::Interrupted(signal)),
        None => Ok(output),
    })
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
        std::thread::sleep(LOOK);
    }
    Err(Failure::Interrupted(signal::interrupted_by().unwrap_or("a signal")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_writes_is_returned_however_long() {
        let long = "head -c 300000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero >&2";
        let output = output(Command::new("sh").args(["-c", long])).unwrap().unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 300_000));
        assert!(super::output(&mut Command::new("/no/such/program")).is_err());
    }
}
