//! Interruption by the user or by the system.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::kernel::signal_forwarding;

static RECEIVED: AtomicI32 = AtomicI32::new(0);
static CTRL_C: AtomicU32 = AtomicU32::new(0);

/// Signals that request the end of this process.
const TERMINATION: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

extern "C" fn note(signal: i32) {
    // Only the first signal is reported; only atomic operations are allowed here.
    let _ = RECEIVED.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    if signal == libc::SIGINT {
        CTRL_C.fetch_add(1, Ordering::SeqCst);
    }
}

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are recorded instead of ending the process. Blocking
/// system calls are interrupted (no SA_RESTART), so that loops notice immediately. A signal that was
/// ignored when the program began stays ignored (except SIGTERM): nohup(1) ignores SIGHUP, and a shell
/// SIGINT and SIGQUIT for background processes.
pub fn note_interruptions() {
    for signal in TERMINATION {
        // SAFETY: a zeroed sigaction is a valid one, both structures live through the calls, and `note`
        // only stores to atomics.
        unsafe {
            let mut current: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut current);
            if current.sa_sigaction == libc::SIG_IGN && signal != libc::SIGTERM {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(i32) as usize;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// The name of the signal that requested the end of this process, if any.
#[must_use]
pub fn interrupted_by() -> Option<&'static str> {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => None,
        libc::SIGINT => Some("SIGINT"),
        libc::SIGTERM => Some("SIGTERM"),
        libc::SIGQUIT => Some("SIGQUIT"),
        _ => Some("SIGHUP"),
    }
}

/// Whether the end of this process has been requested, and is not left to the command that it has started.
pub(crate) fn is_asked_to_end() -> bool {
    interrupted_by().is_some() || signal_forwarding::is_asked_to_end()
}

/// Whether the end of this process has ever been requested, also where that was passed on to a command.
#[must_use]
pub fn was_asked_to_end() -> bool {
    interrupted_by().is_some() || signal_forwarding::was_asked_to_end()
}

/// Whether SIGINT has been received a second time: the user does not want to wait for anything. Other
/// signals do not count, since a closing terminal sends some of them twice.
#[must_use]
pub fn interrupted_twice() -> bool {
    CTRL_C.load(Ordering::SeqCst) > 1
}

/// Restores the default actions of the signals with which Assay ends workloads, even if Assay was
/// itself started by a shell that ignores them. SIGHUP is not changed: under nohup(1) workloads survive
/// the terminal as Assay does. Async-signal-safe, for use between fork and exec.
pub(crate) fn restore_defaults() {
    set_default(&[libc::SIGINT, libc::SIGTERM, libc::SIGQUIT]);
}

fn set_default(signals: &[libc::c_int]) {
    for signal in signals {
        // SAFETY: SIG_DFL is a valid action.
        unsafe { libc::signal(*signal, libc::SIG_DFL) };
    }
}
