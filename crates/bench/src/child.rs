//! Waiting for a program that measures or is measured.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use assay_kernel::{process, signal};
use rustix::process::Signal;

use crate::trouble::Trouble;

/// Waits until `child` has ended. When the user asks to stop, the child is asked too and waited
/// for: a run puts its host back before it ends.
pub(crate) fn wait(child: &mut Child) -> Result<ExitStatus, Trouble> {
    let mut asked = false;
    loop {
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
