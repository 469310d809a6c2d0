//! Starting a program that lies on a file system that may not answer.

use std::io::{self, ErrorKind};
use std::process::{Child, Command};
use std::sync::mpsc::{RecvTimeoutError, SendError, channel};
use std::time::{Duration, Instant};

use crate::kernel::signal;

/// How long a file system may take for a program.
const LONGEST: Duration = Duration::from_secs(60);

/// Starts a command from a thread of its own. Until its execve(2) has returned nothing ends the wait for it, not even a signal,
/// where a file system does not answer (FUSE, NFS): the thread is then left behind.
///
/// # Errors
/// Of the start; or there was no answer for a minute, or until the process was asked to end.
pub fn start_answered(command: &mut Command) -> io::Result<Child> {
    let mut own = std::mem::replace(command, Command::new(""));
    let (to, result) = channel();
    std::thread::Builder::new().spawn(move || {
        let started = own.spawn();
        // Nobody follows what starts after that.
        if let Err(SendError((_, Ok(mut child)))) = to.send((own, started)) {
            let _ = child.kill();
        }
    })?;
    let begun = Instant::now();
    loop {
        match result.recv_timeout(Duration::from_millis(50)) {
            Ok((own, started)) => {
                *command = own;
                return started;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the thread that starts it has failed"));
            }
            Err(RecvTimeoutError::Timeout) => {
                if signal::is_asked_to_end() || begun.elapsed() > LONGEST {
                    let why = "its file system does not answer";
                    return Err(io::Error::new(ErrorKind::TimedOut, why));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use rustix::process::{Signal, getpid, kill_process};

    use super::*;
    use crate::kernel::signal_forwarding;

    #[test]
    fn a_start_without_an_answer_is_given_up_when_asked() {
        signal_forwarding::note_signals();
        let mut command = Command::new("true");
        let wait = || {
            std::thread::sleep(Duration::from_secs(2));
            Ok(())
        };
        // SAFETY: `wait` does not allocate and makes one system call.
        unsafe { command.pre_exec(wait) };
        let begun = Instant::now();
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            kill_process(getpid(), Signal::TERM).unwrap();
        });
        let error = start_answered(&mut command).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
        let _ = signal_forwarding::take();
        // Its end, and that of the thread.
        std::thread::sleep(Duration::from_secs(3));
    }

    #[test]
    fn a_command_can_be_started_again() {
        let mut command = Command::new("true");
        for _ in 0..2 {
            assert!(start_answered(&mut command).unwrap().wait().unwrap().success());
        }
    }
}
