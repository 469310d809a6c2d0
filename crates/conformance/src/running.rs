//! A probe that runs inside a group.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assay_kernel::process::{Membership, send};
use assay_kernel::{Error, clock};
use rustix::process::Signal;

/// A process that a case has started. It is killed when this value goes away.
#[derive(Debug)]
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    name: String,
}

impl Running {
    /// Starts `program probe WORDS..` inside the groups and waits for its first line, `ready`.
    pub(crate) fn start(
        program: &Path,
        words: &[String],
        membership: &Membership,
    ) -> Result<Self, Error> {
        let mut command = Command::new(program);
        command
            .arg("probe")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = membership.spawn(&mut command)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let name = words.join(" ");
        let output = output.ok_or_else(|| failed("read", &name, "it has no output"))?;
        let mut running = Self { child, input, output: BufReader::new(output), name };
        match running.line()?.as_deref() {
            Some("ready") => Ok(running),
            Some(other) => Err(failed("start", &running.name, &format!("it said `{other}`"))),
            None => Err(failed("start", &running.name, "it ended before it was ready")),
        }
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it says; `None` when it has ended. Waits for it: what hangs is ended by
    /// the case's watchdog.
    pub fn line(&mut self) -> Result<Option<String>, Error> {
        let mut line = String::new();
        let read = self
            .output
            .read_line(&mut line)
            .map_err(|cause| Error::new("read", Path::new(&self.name), &cause))?;
        Ok((read > 0).then(|| line.trim_end().to_owned()))
    }

    /// Says a line to it. One that has ended does not hear it, which is no error.
    pub fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{line}");
            let _ = input.flush();
        }
    }

    /// CPU time that the process has used, in nanoseconds, by its own clock.
    pub fn cpu_ns(&self) -> Result<u64, Error> {
        clock::process_cpu_ns(self.pid())
            .ok_or_else(|| failed("read the CPU clock of", &self.name, "the process has ended"))
    }

    /// Kills the process and waits until it is gone.
    pub fn end(&mut self) -> Result<(), Error> {
        self.signal(Signal::KILL)?;
        match self.ended_within(Duration::from_secs(2)) {
            Some(_) => Ok(()),
            None => Err(failed("end", &self.name, "it was killed and goes on")),
        }
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) -> Result<(), Error> {
        send(self.pid(), signal)
    }

    /// How it ended, if it does so within `limit`.
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
    /// A process in a frozen v1 group hears SIGKILL only when it is thawed, which taking the
    /// group back does; so the wait here has a bound.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.ended_within(Duration::from_millis(300));
    }
}

fn failed(operation: &'static str, name: &str, hint: &str) -> Error {
    Error::unexpected(operation, Path::new(&format!("probe {name}")), hint)
}
