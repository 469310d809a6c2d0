//! Runs a program to its end, within limits of time and output.

use std::fmt;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgid};

use crate::kernel::child::{ExitWatch, ends_within};
use crate::kernel::process;

/// Time for a killed program to end.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// Polling interval of `Limits::stop`.
const TICK: Duration = Duration::from_millis(50);

/// Limits of a program.
#[derive(Clone, Copy)]
pub struct Limits<'l> {
    /// Time until it and everyone who holds its output have ended.
    pub time: Duration,
    /// Bytes of its standard output, and of its standard error.
    pub output: u64,
    /// Polled regularly; `true` ends it.
    pub stop: &'l dyn Fn() -> bool,
}

/// Why there is no output of a program.
#[derive(Debug)]
pub enum Unfinished {
    /// It could not be started, or its output not be read.
    Failed(io::Error),
    /// It was killed.
    Killed {
        /// Its process id, valid only if it survived.
        pid: u32,
        /// The reason.
        why: Excess,
        /// Time since its start.
        after: Duration,
        /// Whether it did not end after SIGKILL.
        survived: bool,
    },
}

/// The limit that a program has exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// Its time.
    Time,
    /// The bytes of its output.
    Output(u64),
    /// `Limits::stop` returned `true`.
    Stopped,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(cause) => cause.fmt(f),
            Self::Killed { why, after, .. } => {
                if let Excess::Output(bytes) = why {
                    write!(f, "it printed more than {bytes} bytes, and ")?;
                }
                write!(f, "it was killed after {:.1} s", after.as_secs_f64())
            }
        }
    }
}

/// A part of what is waited for.
enum Part {
    Output(io::Result<Vec<u8>>),
    Errors(io::Result<Vec<u8>>),
    TooLong,
}

/// Runs a program with `input` on its standard input, in the process group that `command` requests; if
/// that is a new one, all of it is killed when a limit is exceeded. A program that survives SIGKILL is
/// left behind.
pub fn run(command: &mut Command, input: &str, limits: &Limits<'_>) -> Result<Output, Unfinished> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Unfinished::Failed)?;
    let begun = Instant::now();
    let (sender, parts) = channel();
    let mut threads: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    if let Some(mut standard_input) = child.stdin.take() {
        let input = input.to_owned();
        // A program that reads no input closes the pipe, or blocks only this thread.
        threads.push(Box::new(move || drop(standard_input.write_all(input.as_bytes()))));
    }
    threads.push(reader(child.stdout.take(), limits.output, &sender, Part::Output));
    threads.push(reader(child.stderr.take(), limits.output, &sender, Part::Errors));
    let begin = |body| Builder::new().spawn(body).map(drop).map_err(Stop::Failed);
    // It is reaped only after both streams have ended, so that its process id stays valid until then.
    let ended = threads
        .into_iter()
        .try_for_each(begin)
        .and_then(|()| collect(&parts, limits, begun))
        .and_then(|(stdout, stderr)| Ok((wait(&mut child, limits, begun)?, stdout, stderr)));
    match ended {
        Ok((status, stdout, stderr)) => Ok(Output { status, stdout, stderr }),
        Err(Stop::Failed(cause)) => {
            kill(&mut child);
            Err(Unfinished::Failed(cause))
        }
        Err(Stop::Exceeded(why)) => {
            let (pid, after) = (child.id(), begun.elapsed());
            let survived = !kill(&mut child);
            Err(Unfinished::Killed { pid, why, after, survived })
        }
    }
}

/// Why waiting for a program ended early.
enum Stop {
    Failed(io::Error),
    Exceeded(Excess),
}

impl Limits<'_> {
    /// The limit that has been exceeded apart from that of the output, if any.
    fn exceeded(&self, begun: Instant) -> Result<(), Stop> {
        if begun.elapsed() >= self.time {
            return Err(Stop::Exceeded(Excess::Time));
        }
        if (self.stop)() { Err(Stop::Exceeded(Excess::Stopped)) } else { Ok(()) }
    }
}

/// Reads a stream: for a thread of its own, which is left behind if another process keeps the pipe open.
fn reader(
    pipe: Option<impl Read + Send + 'static>,
    limit: u64,
    to: &Sender<Part>,
    wrap: fn(io::Result<Vec<u8>>) -> Part,
) -> Box<dyn FnOnce() + Send> {
    let to = to.clone();
    Box::new(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| pipe.take(limit + 1).read_to_end(&mut bytes));
        let is_too_long = bytes.len() as u64 > limit;
        // The receiver may be gone.
        let _ = to.send(if is_too_long { Part::TooLong } else { wrap(read.map(|_| bytes)) });
    })
}

/// Both streams, when they have ended.
fn collect(
    parts: &Receiver<Part>,
    limits: &Limits<'_>,
    begun: Instant,
) -> Result<(Vec<u8>, Vec<u8>), Stop> {
    let (mut stdout, mut stderr) = (None, None);
    loop {
        match parts.recv_timeout(TICK.min(limits.time.saturating_sub(begun.elapsed()))) {
            Ok(Part::Output(bytes)) => stdout = Some(bytes.map_err(Stop::Failed)?),
            Ok(Part::Errors(bytes)) => stderr = Some(bytes.map_err(Stop::Failed)?),
            Ok(Part::TooLong) => return Err(Stop::Exceeded(Excess::Output(limits.output))),
            Err(RecvTimeoutError::Timeout) => limits.exceeded(begun)?,
            // Both threads send before they end.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Stop::Failed(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        if let (Some(stdout), Some(stderr)) = (&mut stdout, &mut stderr) {
            return Ok((std::mem::take(stdout), std::mem::take(stderr)));
        }
    }
}

fn wait(child: &mut Child, limits: &Limits<'_>, begun: Instant) -> Result<ExitStatus, Stop> {
    let end = ExitWatch::new(child);
    loop {
        if let Some(status) = child.try_wait().map_err(Stop::Failed)? {
            return Ok(status);
        }
        limits.exceeded(begun)?;
        end.wait(TICK);
    }
}

/// Kills a program that was not reaped, with its process group if it leads one, and reaps it. Returns whether
/// it has ended.
fn kill(child: &mut Child) -> bool {
    let leads = getpgid(Some(Pid::from_child(child))) == Ok(Pid::from_child(child));
    // One that has just ended needs no signal.
    let _ = match leads {
        true => process::send_to_group(child.id(), Signal::KILL),
        false => process::send(child.id(), Signal::KILL),
    };
    ends_within(child, AFTER_KILL)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    const LIMITS: Limits<'_> =
        Limits { time: Duration::from_secs(60), output: 1 << 20, stop: &|| false };

    fn shell(script: &str, input: &str, limits: &Limits<'_>) -> Result<Output, Unfinished> {
        run(Command::new("sh").args(["-c", script]).process_group(0), input, limits)
    }

    fn why(script: &str, limits: Limits<'_>) -> Excess {
        let begun = Instant::now();
        let error = shell(script, "", &limits).unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        let Unfinished::Killed { pid, why, survived: false, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(process::state(&crate::kernel::Root::real(), pid), None, "it is reaped");
        why
    }

    #[test]
    fn the_output_and_the_status_of_a_program_are_returned() {
        let ended = shell("cat; echo bad >&2; exit 3", "input", &LIMITS).unwrap();
        assert_eq!((ended.stdout, ended.stderr), (b"input".to_vec(), b"bad\n".to_vec()));
        assert_eq!(ended.status.code(), Some(3));
        // Input that nobody reads is more than a pipe holds.
        let ended = shell("exit 0", &"x".repeat(1 << 20), &LIMITS).unwrap();
        assert!(ended.status.success());
        let missing = run(&mut Command::new("/nowhere/program"), "", &LIMITS).unwrap_err();
        assert!(matches!(missing, Unfinished::Failed(_)), "{missing:?}");
    }

    #[test]
    fn a_program_that_exceeds_its_time_is_killed_with_its_group() {
        let limits = Limits { time: Duration::from_millis(200), ..LIMITS };
        for script in [
            "exec sleep 100",
            "sleep 100 & exit",
            "exec sleep 100 >&- 2>&-",
            "trap '' TERM; exec sleep 100",
        ] {
            assert_eq!(why(script, limits), Excess::Time, "{script}");
        }
        // Input that nobody reads does not block either.
        let begun = Instant::now();
        assert!(shell("exec sleep 100", &"x".repeat(1 << 20), &limits).is_err());
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_program_that_prints_too_much_is_killed() {
        for script in ["yes", "yes >&2", "yes & yes >&2"] {
            let limits = Limits { output: 1 << 16, ..LIMITS };
            assert_eq!(why(script, limits), Excess::Output(1 << 16), "{script}");
        }
    }

    #[test]
    fn a_program_ends_when_its_caller_wants_it_to() {
        assert_eq!(why("exec sleep 100", Limits { stop: &|| true, ..LIMITS }), Excess::Stopped);
    }
}
