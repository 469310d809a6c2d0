//! Interruption by the user or by the system.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

static RECEIVED: AtomicI32 = AtomicI32::new(0);
static CTRL_C: AtomicU32 = AtomicU32::new(0);

/// What asks this process to end.
const ENDS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

extern "C" fn note(signal: i32) {
    // The first signal is the one that is reported; stores are all that is allowed here.
    let _ = RECEIVED.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    if signal == libc::SIGINT {
        CTRL_C.fetch_add(1, Ordering::SeqCst);
    }
}

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are noted instead of ending the process. System
/// calls that wait are interrupted (no SA_RESTART), so that loops see the note at once. Of these,
/// one that was ignored when the program began stays ignored: nohup(1) ignores SIGHUP, and a shell
/// SIGINT and SIGQUIT for what it starts in the background.
pub fn note_interruptions() {
    for signal in ENDS {
        // SAFETY: a zeroed sigaction is a valid one, both structures live through the calls, and
        // `note` only stores to atomics.
        unsafe {
            let mut found: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut found);
            if found.sa_sigaction == libc::SIG_IGN && signal != libc::SIGTERM {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as extern "C" fn(i32) as usize;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
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
        libc::SIGQUIT => Some("SIGQUIT"),
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

/// What workloads begin with: Assay ends them with these signals, also where it was itself started
/// by a shell that ignores them. SIGHUP stays as it was found: under nohup(1) workloads survive the
/// terminal as Assay does. Async-signal-safe, for between fork and exec.
pub(crate) fn restore_defaults() {
    set_default(&[libc::SIGINT, libc::SIGTERM, libc::SIGQUIT]);
}

/// Ignores none of the signals that ask this process to end, whatever it was started with, so that
/// programs that it starts can be tested with them.
pub fn ignore_none() {
    set_default(&ENDS);
}

fn set_default(signals: &[libc::c_int]) {
    for signal in signals {
        // SAFETY: SIG_DFL is a valid action.
        unsafe { libc::signal(*signal, libc::SIG_DFL) };
    }
}
