//! A probe running inside a group.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use assay_sys::kernel::process::{Membership, send};
use assay_sys::kernel::{Error, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::Signal;

use crate::errno_name::errno_numbered;

/// A process started by a case. It is killed on drop.
#[derive(Debug)]
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    name: String,
    /// When its life is over, and it has nothing more to say.
    over: Instant,
}

impl Running {
    /// Starts a probe of `program` inside the groups and waits for its first line, `ready`.
    pub fn start(program: &Path, words: &[String], membership: &Membership) -> Result<Self, Error> {
        let mut command = Command::new(program);
        command
            .arg(crate::probe::COMMAND)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = membership.spawn(&mut command)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let name = words.join(" ");
        let over = Instant::now() + crate::probe::lifetime(words);
        let output = output.ok_or_else(|| failed("read", &name, "no output pipe"))?;
        let mut running = Self { child, input, output: BufReader::new(output), name, over };
        match running.line()?.as_deref() {
            Some("ready") => Ok(running),
            Some(other) => {
                Err(failed("start", &running.name, &format!("unexpected output `{other}`")))
            }
            None => Err(failed("start", &running.name, "it ended before it was ready")),
        }
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads the next line of output; `None` after the end. A hanging probe is killed by the case's watchdog. If it waits for a
    /// disk, it does not die of that: after its lifetime it is given up.
    pub fn line(&mut self) -> Result<Option<String>, Error> {
        let mut line = String::new();
        while self.output.buffer().is_empty() && !self.is_readable()? {
            if Instant::now() > self.over {
                return Err(failed("wait for", &self.name, "it does not end"));
            }
        }
        let read = self
            .output
            .read_line(&mut line)
            .map_err(|cause| Error::new("read", Path::new(&self.name), &cause))?;
        Ok((read > 0).then(|| line.trim_end().to_owned()))
    }

    /// Whether there is output, or its end, within a second.
    fn is_readable(&self) -> Result<bool, Error> {
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        let mut polled = [PollFd::new(self.output.get_ref(), PollFlags::IN)];
        let ready = retry_on_intr(|| poll(&mut polled, Some(&second)))
            .map_err(|cause| Error::new("poll", Path::new(&self.name), &cause.into()))?;
        Ok(ready > 0)
    }

    /// The kernel's error in a next line `refused ERRNO`; `None` for any other line.
    pub fn refusal(&mut self) -> Result<Option<Errno>, Error> {
        let line = self.line()?.unwrap_or_default();
        let number = line.strip_prefix("refused ").and_then(|text| text.parse().ok());
        Ok(number.map(errno_numbered))
    }

    /// Sends a line. If the probe has ended, the line is dropped without an error.
    pub fn send(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{line}");
            let _ = input.flush();
        }
    }

    /// Sends a line and reads the next line of output; `None` if the probe has ended.
    pub fn ask(&mut self, line: &str) -> Result<Option<String>, Error> {
        self.send(line);
        self.line()
    }

    /// Whether the probe `echo` repeats a line.
    pub fn answers(&mut self) -> Result<bool, Error> {
        const WORDS: &str = "are you there";
        Ok(self.ask(WORDS)?.is_some_and(|line| line == WORDS))
    }

    /// The number in the next line, which begins with `word`.
    pub fn value<T: FromStr>(&mut self, word: &str) -> Result<T, Error> {
        let line = self.line()?.unwrap_or_default();
        line.strip_prefix(word).and_then(|text| text.parse().ok()).ok_or_else(|| {
            failed("understand", &self.name, &format!("`{line}` instead of `{word}NUMBER`"))
        })
    }

    /// CPU time that the process has used, in nanoseconds, by its own clock.
    pub fn cpu_ns(&self) -> Result<u64, Error> {
        clock::process_cpu_ns(self.pid()).ok_or_else(|| self.ended())
    }

    /// The error of a CPU clock that cannot be read.
    #[must_use]
    pub fn ended(&self) -> Error {
        failed("read the CPU clock of", &self.name, "the process has ended")
    }

    /// Kills the process and waits until it is gone.
    pub fn end(&mut self) -> Result<(), Error> {
        self.signal(Signal::KILL)?;
        match self.ended_within(Duration::from_secs(2)) {
            Some(_) => Ok(()),
            None => Err(failed("end", &self.name, "it still runs after SIGKILL")),
        }
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        send(self.pid(), signal)
    }

    /// The exit status, if it ends within `limit`.
    pub fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Running {
    /// A process in a frozen v1 group dies of SIGKILL only when it is thawed, which removing the
    /// group does; so this wait is bounded.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.ended_within(Duration::from_millis(300));
    }
}

fn failed(operation: &'static str, name: &str, hint: &str) -> Error {
    Error::unexpected(operation, Path::new(&format!("probe {name}")), hint)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use assay_sys::kernel::Root;

    use super::*;

    #[test]
    fn a_probe_that_says_nothing_is_given_up_after_its_life() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("silent");
        std::fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let membership = Membership::open(&Root::real(), &[]).unwrap();
        let words = ["echo", "patience=0.01"].map(str::to_owned);
        let error = Running::start(&program, &words, &membership).unwrap_err();
        assert!(error.to_string().contains("it does not end"), "{error}");
    }
}
