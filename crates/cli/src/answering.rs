//! Whether the file systems of what the command line names answer. Where one does not (FUSE, NFS), a lookup waits in the kernel,
//! beyond SIGKILL. So a process of its own looks first; this one waits for it where any signal ends it.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_host::state_dir;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::fork::{Forked, exit_immediately, fork};
use assay_sys::kernel::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

/// How long that of the ledgers may take, and then all others together.
const LEDGERS: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(60);

/// Refuses a command line that names a path whose file system does not answer, or whose ledgers are on one.
pub(crate) fn refuse_silent(words: &[OsString], keeps_ledger: bool) -> Result<(), Error> {
    let ledgers = state_dir().join("ledger");
    let first = keeps_ledger.then_some(&*ledgers);
    let named: Vec<&Path> = first.into_iter().chain(named(words)).collect();
    // Without the process it is not known, and the command looks itself.
    let Ok((mut answers, mut to)) = std::io::pipe() else { return Ok(()) };
    let pid = match fork() {
        Err(_) => return Ok(()),
        Ok(Forked::Child) => {
            // What it leaves open, its readers would wait for.
            let _ = rustix::stdio::dup2_stdin(&to);
            let _ = rustix::stdio::dup2_stdout(&to);
            let _ = rustix::stdio::dup2_stderr(&to);
            for path in &named {
                let _ = path.metadata();
                if *path == ledgers {
                    // Attributes may be known without an answer.
                    let _ = path.read_dir().map(Iterator::count);
                }
                let _ = to.write(b".");
            }
            exit_immediately(0)
        }
        Ok(Forked::Parent(pid)) => pid,
    };
    drop(to);
    let (begun, mut answered) = (Instant::now(), 0);
    while answered < named.len() {
        let is_ledgers = named[answered] == ledgers;
        let longest = if is_ledgers { LEDGERS } else { LONGEST };
        let left = longest.saturating_sub(begun.elapsed());
        let left =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let ready = poll(&mut [PollFd::new(&answers, PollFlags::IN)], Some(&left)).unwrap_or(0);
        match (ready > 0).then(|| answers.read(&mut [0; 64])) {
            Some(Ok(0) | Err(_)) => break,
            Some(Ok(count)) => answered += count,
            None if begun.elapsed() < longest => {}
            None => {
                let _ = process::send(pid, Signal::KILL);
                let path = named[answered].display();
                let error = Error::host(format!(
                    "{path}: its file system did not answer within {longest:?}; nothing was changed"
                ));
                // What an earlier run has left is not known.
                let code = if is_ledgers { Code::RestoreIncomplete } else { error.code };
                return Err(Error { code, ..error });
            }
        }
    }
    let _ = waitpid(pid.try_into().ok().and_then(Pid::from_raw), WaitOptions::empty());
    Ok(())
}

/// The words that may be paths: of a command to start only its program.
fn named(words: &[OsString]) -> Vec<&Path> {
    let end = words.iter().position(|word| word == "--").map_or(words.len(), |at| at + 2);
    words.iter().take(end).skip(1).filter_map(|word| path(word)).collect()
}

/// A word, or the value of an option.
fn path(word: &OsStr) -> Option<&Path> {
    let bytes = word.as_bytes();
    let value = match bytes.starts_with(b"-") {
        true => &bytes[bytes.iter().position(|byte| *byte == b'=')? + 1..],
        false => bytes,
    };
    Some(Path::new(OsStr::from_bytes(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_path_is_looked_at() {
        let words = ["assay", "exec", "--out", "a", "--set=b", "-q", "--", "c", "d"];
        let words = words.map(OsString::from);
        assert_eq!(named(&words), ["exec", "a", "b", "c"].map(Path::new));
        assert_eq!(named(&words[..1]), [""; 0].map(Path::new));
    }
}
