//! Interruption by the user or by the system.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

static RECEIVED: AtomicI32 = AtomicI32::new(0);
static CTRL_C: AtomicU32 = AtomicU32::new(0);

extern "C" fn note(signal: i32) {
    // The first signal is the one that is reported; stores are all that is allowed here.
    let _ = RECEIVED.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    if signal == libc::SIGINT {
        CTRL_C.fetch_add(1, Ordering::SeqCst);
    }
}

/// From now on SIGINT, SIGTERM and SIGHUP are noted instead of ending the process. System calls
/// that wait are interrupted (no SA_RESTART), so that loops see the note at once.
pub fn note_interruptions() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: a zeroed sigaction is a valid one, and `note` only stores to an atomic.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(i32) as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// The name of the signal that asked this process to stop, if one has.
#[must_use]
pub fn interrupted_by() -> Option<&'static str> {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => None,
        libc::SIGINT => Some("SIGINT"),
        libc::SIGTERM => Some("SIGTERM"),
        _ => Some("SIGHUP"),
    }
}

/// Whether SIGINT has come a second time: the user does not want to wait for what others still
/// write. A closed terminal sends other signals, and some of them twice, so that those do not
/// count.
#[must_use]
pub fn insisted() -> bool {
    CTRL_C.load(Ordering::SeqCst) > 1
}
