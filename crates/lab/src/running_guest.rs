//! A running guest, watched from the host until it has ended.

use std::time::{Duration, Instant};

use assay_sys::kernel::signal;

use crate::accelerator::CpuMode;
use crate::console;
use crate::disk_space::DiskSpace;
use crate::error::{Console, Error};
use crate::forward::Forwarder;
use crate::process::{MAX_CHUNKS, OutputChunk, Process};
use crate::shared_dir::SharedDir;

/// Poll interval for the clock, the guest's files and interruptions by the user.
const TICK: Duration = Duration::from_millis(100);

/// A boot takes 12 s under emulation on an idle machine, and much longer on a busy one.
const BOOT: Duration = Duration::from_secs(600);

/// How long a booting guest may print nothing. Emulated on a machine with 15 runnable tasks for each CPU it was 20 s at
/// most.
const SILENCE: Duration = Duration::from_secs(15);
const SILENCE_EMULATED: Duration = Duration::from_secs(120);

/// Time limit for powering off after the command has ended.
const POWER_OFF: Duration = Duration::from_secs(60);

/// Bytes of standard error kept for error messages.
const KEPT_STDERR: usize = 4096;

/// A running guest, observed from the host.
pub(crate) struct RunningGuest<'v> {
    pub(crate) shared: &'v SharedDir,
    pub(crate) process: Process,
    pub(crate) limit: Duration,
    pub(crate) progress: Progress,
    pub(crate) began: Instant,
    /// Time until the command started.
    pub(crate) ready: Option<Duration>,
    /// The end of its standard error.
    pub(crate) stderr: String,
    pub(crate) space: DiskSpace,
}

/// A failed attempt.
pub(crate) struct Failure {
    pub(crate) error: Error,
}

/// Whether a guest gets on with its boot: it prints what it does.
pub(crate) struct Progress {
    printed: u64,
    since: Instant,
    patience: Duration,
}

impl Progress {
    pub(crate) fn new(runs: CpuMode) -> Self {
        let patience = match runs {
            CpuMode::Kvm => SILENCE,
            CpuMode::Emulation => SILENCE_EMULATED,
        };
        Self { printed: 0, since: Instant::now(), patience }
    }

    /// Notes how much was printed so far, and returns whether nothing new came for too long.
    fn has_stopped(&mut self, printed: u64) -> bool {
        if printed != self.printed {
            (self.printed, self.since) = (printed, Instant::now());
        }
        self.since.elapsed() > self.patience
    }
}

impl RunningGuest<'_> {
    /// Forwards output until the guest has ended; ends it on a timeout, a failure or an
    /// interruption. Returns the signal of the interruption, if any.
    pub(crate) fn wait_for_end(
        &mut self,
        forwarder: &mut Forwarder,
    ) -> Result<Option<&'static str>, Failure> {
        let mut done: Option<Instant> = None;
        loop {
            // Otherwise the guest waits as well.
            if forwarder.is_ready(TICK)
                && let Some(chunk) = self.process.next(TICK)
            {
                self.forward(chunk, forwarder);
            }
            self.notice_ready(forwarder);
            if self.process.ended()?.is_some() {
                break;
            }
            if let Some(signal) = signal::interrupted_by() {
                self.end(forwarder);
                return Ok(Some(signal));
            }
            if let Err(error) = self.space.check(self.shared, self.process.id()) {
                self.end(forwarder);
                return Err(error.into());
            }
            if self.shared.read("exit").is_some_and(|code| !code.is_empty()) {
                // A guest that has reported its exit code has nothing more to report.
                if done.get_or_insert_with(Instant::now).elapsed() > POWER_OFF {
                    self.end(forwarder);
                    break;
                }
                continue;
            }
            if let Some(why) = self.timeout_reason() {
                self.end(forwarder);
                return Err(self.failure(&why));
            }
        }
        let end = Instant::now();
        // No more than waits in both pipes and in the channel.
        for _ in 0..2 * MAX_CHUNKS {
            let Some(chunk) = self.process.next_after(end) else { break };
            self.forward(chunk, forwarder);
        }
        Ok(None)
    }

    fn end(&mut self, forwarder: &mut Forwarder) {
        if let Some(survivor) = self.process.end() {
            forwarder.remark(&survivor);
        }
    }

    fn forward(&mut self, chunk: OutputChunk, forwarder: &mut Forwarder) {
        if let OutputChunk::Errors(bytes) = &chunk {
            self.stderr.push_str(&String::from_utf8_lossy(bytes));
            let spare = self.stderr.len().saturating_sub(KEPT_STDERR);
            if let Some(cut) =
                (spare..self.stderr.len()).find(|at| self.stderr.is_char_boundary(*at))
            {
                self.stderr.drain(..cut);
            }
            // Before the command starts, all output comes from the machine itself.
            if self.ready.is_none() {
                return;
            }
        }
        forwarder.chunk(chunk);
    }

    fn notice_ready(&mut self, forwarder: &mut Forwarder) {
        if self.ready.is_some() || self.shared.read("ready").is_none() {
            return;
        }
        let boot = self.began.elapsed();
        self.ready = Some(boot);
        forwarder.remark(&format!("the guest is up after {:.1} s", boot.as_secs_f64()));
        for note in self.shared.read("notes").unwrap_or_default().lines() {
            forwarder.remark(&format!("note: {note}"));
        }
    }

    /// Why the guest must be ended, if it must.
    fn timeout_reason(&mut self) -> Option<String> {
        let elapsed = self.began.elapsed();
        let reached = self.shared.read("reached").is_some();
        if !reached && self.stderr.contains("KVM internal error") {
            return Some("KVM met an instruction that it cannot run".to_owned());
        }
        if elapsed > self.limit {
            let seconds = self.limit.as_secs();
            return Some(if self.ready.is_some() {
                format!("the command did not finish within the time limit of {seconds} s")
            } else {
                format!("the guest did not boot within the time limit of {seconds} s")
            });
        }
        if reached {
            return None;
        }
        let console = self.shared.console().metadata().map_or(0, |file| file.len());
        if self.progress.has_stopped(console + self.stderr.len() as u64) {
            let patience = self.progress.patience.as_secs();
            return Some(format!(
                "the guest stopped booting: it has printed nothing for {patience} s"
            ));
        }
        (elapsed > BOOT).then(|| {
            format!("the guest did not reach the lab's init step within {} s", BOOT.as_secs())
        })
    }

    /// The exit code reported by the guest, or why there is none.
    pub(crate) fn code(&self) -> Result<i32, Failure> {
        if let Some(why) = self.shared.read("failed") {
            return Err(self.failure(&format!("the guest could not be set up: {why}")));
        }
        let code = self.shared.read("exit").unwrap_or_default();
        if let Ok(code) = code.parse() {
            return Ok(code);
        }
        let cause = console::cause(&self.shared.console());
        let when = match (self.ready, self.shared.read("reached")) {
            (Some(_), _) => "before its command finished",
            (None, Some(_)) => "during setup by the lab",
            (None, None) => "before it reached the lab's init step",
        };
        Err(self.failure(&match cause {
            Some(cause) => format!("the guest ended {when}: {cause}"),
            None => format!("the guest ended {when}"),
        }))
    }

    fn failure(&self, what: &str) -> Failure {
        Failure::new(what, self.shared, &self.stderr)
    }
}

impl Failure {
    pub(crate) fn new(what: &str, shared: &SharedDir, stderr: &str) -> Self {
        let tail = console::tail(&shared.console(), stderr);
        let log = shared.keep_console();
        let hint = if what.contains("time limit") {
            "increase --timeout; under emulation everything takes many times longer"
        } else {
            "`assay lab shell` with the same options opens a shell in the guest"
        };
        let error = Error::new(what).console(Console { log, tail }).hint(hint);
        Self { error }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::cache::Cache;
    use crate::forward::Watcher;

    /// A reader that reads nothing until the sender of the channel is gone.
    struct Stopped(Receiver<()>);

    impl Watcher for Stopped {
        fn output(&mut self, _: &[u8]) {
            let _ = self.0.recv();
        }

        fn errors(&mut self, _: &[u8]) {}

        fn remark(&mut self, _: &str) {}
    }

    #[test]
    fn a_reader_that_stops_reading_suspends_no_limit() {
        let place = tempfile::tempdir().unwrap();
        let shared = SharedDir::create(&Cache::at(place.path())).unwrap();
        shared.put("reached", "").unwrap();
        shared.put("ready", "").unwrap();
        let machine = place.path().join("machine");
        fs::write(&machine, "#!/bin/sh\nexec yes\n").unwrap();
        fs::set_permissions(&machine, Permissions::from_mode(0o755)).unwrap();
        let mut running = RunningGuest {
            shared: &shared,
            process: Process::start(&machine, Path::new("qemu"), &[], place.path()).unwrap(),
            limit: Duration::from_secs(1),
            progress: Progress::new(CpuMode::Emulation),
            began: Instant::now(),
            ready: None,
            stderr: String::new(),
            space: DiskSpace::new(),
        };
        let (_reader, stopped) = channel();
        let mut forwarder = Forwarder::start(Stopped(stopped));
        let failure = running.wait_for_end(&mut forwarder).map(|_| ()).map_err(|why| why.error);
        let what = failure.unwrap_err().what;
        assert!(what.contains("within the time limit of 1 s"), "{what}");
        assert!(running.process.ended().unwrap().is_some(), "the guest has ended");
    }
}
