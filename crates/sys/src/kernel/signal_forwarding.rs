//! Recording of signals, to be forwarded to a command that this process has started.

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;

/// Signals sent only to this process, as bits by number.
static SENT: AtomicU32 = AtomicU32::new(0);

/// Signals sent by the terminal to its whole foreground process group, as bits by number.
static FROM_TERMINAL: AtomicU32 = AtomicU32::new(0);

/// All of both, whether taken or not.
static EVER: AtomicU32 = AtomicU32::new(0);

/// `si_code` of a signal sent by the kernel itself (sigaction(2)).
const SI_KERNEL: i32 = 0x80;

/// The signals that are forwarded: termination signals, and those that a command may define itself.
const FORWARDED: [Signal; 6] =
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

extern "C" fn note(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo_t; only atomic stores happen, which are
    // async-signal-safe.
    let code = unsafe { info.as_ref() }.map_or(0, |info| info.si_code);
    let noted = if code == SI_KERNEL { &FROM_TERMINAL } else { &SENT };
    noted.fetch_or(bit(signal), Ordering::SeqCst);
    EVER.fetch_or(bit(signal), Ordering::SeqCst);
}

fn bit(signal: i32) -> u32 {
    u32::try_from(signal).ok().and_then(|number| 1u32.checked_shl(number)).unwrap_or(0)
}

/// From now on SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are recorded instead of ending
/// this process. An ignored signal stays ignored (nohup(1)), for the command too. A command started
/// later has the default actions, since execve(2) resets handlers.
pub fn note_signals() {
    for signal in FORWARDED {
        // SAFETY: a zeroed sigaction is a valid one, both structures live through the calls, and `note`
        // has the signature that SA_SIGINFO requires.
        unsafe {
            let mut current: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal.as_raw(), std::ptr::null(), &mut current);
            if current.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction =
                note as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(signal.as_raw(), &action, std::ptr::null_mut());
        }
    }
}

/// Signals received since the last call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceivedSignals {
    /// Sent only to this process, so that only this process can forward them.
    pub sent: Vec<Signal>,
    /// Sent by the terminal (Ctrl-C, Ctrl-\, hang-up) to all processes in its foreground; a command in
    /// the same process group has received them too.
    pub from_terminal: Vec<Signal>,
}

impl ReceivedSignals {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.from_terminal.is_empty()
    }

    /// The first termination signal: any but SIGUSR1 and SIGUSR2.
    #[must_use]
    pub fn termination(&self) -> Option<Signal> {
        let all = self.sent.iter().chain(&self.from_terminal);
        all.copied().find(|signal| *signal != Signal::USR1 && *signal != Signal::USR2)
    }
}

/// Whether a termination signal has been received and not been taken.
pub(crate) fn is_asked_to_end() -> bool {
    has_termination(SENT.load(Ordering::SeqCst) | FROM_TERMINAL.load(Ordering::SeqCst))
}

/// Whether a termination signal has been received, taken or not.
pub(crate) fn was_asked_to_end() -> bool {
    has_termination(EVER.load(Ordering::SeqCst))
}

fn has_termination(bits: u32) -> bool {
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT]
        .iter()
        .any(|signal| bits & bit(signal.as_raw()) != 0)
}

/// Returns and clears the received signals.
#[must_use]
pub fn take() -> ReceivedSignals {
    let list = |noted: &AtomicU32| {
        let bits = noted.swap(0, Ordering::SeqCst);
        FORWARDED.into_iter().filter(|signal| bits & bit(signal.as_raw()) != 0).collect()
    };
    ReceivedSignals { sent: list(&SENT), from_terminal: list(&FROM_TERMINAL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_sent_to_this_process_is_reported_once() {
        note_signals();
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, Signal::USR1).unwrap();
        // A signal to a process of many threads may reach another thread slightly later.
        let mut noted = take();
        for _ in 0..1000 {
            if !noted.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            noted = take();
        }
        assert_eq!(noted.sent, [Signal::USR1]);
        assert_eq!(noted.termination(), None);
        assert!(take().is_empty());
    }
}
