//! Runs a guest from boot to power-off.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_files::Dir;
use assay_kernel::signal;
use assay_run_folder::Guest;

use crate::accelerator::{self, CpuMode};
use crate::cache::{Cache, is_plain};
use crate::console;
use crate::disk_space::{DiskSpace, RESULTS};
use crate::error::{Console, Error};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::process::{self, OutputChunk, Process};
use crate::script;
use crate::shared_dir::SharedDir;
use crate::spec::{Accelerator, GuestSpec};
use crate::task::{GuestTask, ReadOnlyMount};
use crate::tool::{self, Tools};

/// The result of a command in a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; after a signal, 128 plus its number, as in shells.
    pub code: i32,
    /// The guest.
    pub guest: Guest,
    /// Time from the start of QEMU to the start of the command.
    pub boot: Duration,
    /// Time from then until the guest ended.
    pub command: Duration,
    /// The signal with which the user ended the guest.
    pub interrupted: Option<&'static str>,
}

/// Receives output of a guest.
pub trait Watcher {
    /// Bytes of the command's standard output.
    fn output(&mut self, bytes: &[u8]);
    /// Bytes of its standard error.
    fn errors(&mut self, bytes: &[u8]);
    /// A message from the lab itself.
    fn remark(&mut self, text: &str);
}

/// Poll interval for the clock, the guest's files and interruptions by the user.
const TICK: Duration = Duration::from_millis(100);

/// A boot takes 12 s under emulation on an idle machine, and much longer on a busy one.
const BOOT: Duration = Duration::from_secs(600);

/// Time limit for powering off after the command has ended.
const POWER_OFF: Duration = Duration::from_secs(60);

/// Bytes of standard error kept for error messages.
const KEPT_STDERR: usize = 4096;

/// Checks that this host has the programs to run guests. The error names what is missing and how to
/// install it.
pub fn ready(cache: &Cache) -> Result<(), Error> {
    Tools::find(cache).map(|_| ())
}

/// Boots a guest, runs the task in it, and ends it.
pub fn run(
    spec: &GuestSpec,
    task: &GuestTask,
    cache: &Cache,
    watcher: &mut dyn Watcher,
) -> Result<Ended, Error> {
    let prepared = Prepared::new(spec, task, cache, watcher)?;
    let ended = prepared.attempt(prepared.runs, watcher);
    match ended {
        // Inside other virtual machines KVM may fail at some instruction long after the start.
        Err(failure)
            if prepared.runs == CpuMode::Kvm
                && spec.accelerator == Accelerator::Auto
                && !failure.reached =>
        {
            let why = failure.error.what.lines().next().unwrap_or_default().to_owned();
            watcher.remark(&format!("KVM does not work here ({why}); continuing with emulation"));
            prepared.attempt(CpuMode::Emulation, watcher).map_err(|failure| failure.error)
        }
        ended => ended.map_err(|failure| failure.error),
    }
}

/// Boots an interactive guest, ended with `exit` or Ctrl-D.
pub fn shell(
    spec: &GuestSpec,
    task: &GuestTask,
    cache: &Cache,
    watcher: &mut dyn Watcher,
) -> Result<i32, Error> {
    let prepared = Prepared::new(spec, task, cache, watcher)?;
    let mut shared = SharedDir::create(cache)?;
    let disks = Files::make(&mut shared, spec, task)?;
    let guest = prepared.guest(prepared.runs);
    shared.put("init", script::INIT)?;
    shared.put("settings", &script::settings(spec, task, &guest.text()))?;
    shared.put("shell", SHELL)?;
    shared.make_executable("shell")?;
    watcher.remark(&format!("booting {}; `exit` ends it", guest.line()));
    let arguments = prepared.machine(&shared, &disks, prepared.runs, true).arguments();
    let mut space = DiskSpace::new();
    let (virtme, qemu) = (&prepared.tools.virtme, &prepared.tools.qemu);
    let status = process::at_the_terminal(virtme, qemu, &arguments, &mut || space.check(&shared))?;
    if shared.read("reached").is_none() {
        return Err(Failure::new("the guest did not come up", &shared, "", false).error);
    }
    Ok(status.code().unwrap_or(1))
}

/// The user's shell in virtme: the lab's init step, then an interactive shell.
const SHELL: &str = "#!/bin/bash\ninteractive=yes\n. /run/assay/lab/init\n\
                     [ -f /run/assay/lab/notes ] && cat /run/assay/lab/notes\nexec bash -i\n";

/// Everything determined before a guest's folder is created.
struct Prepared<'p> {
    spec: &'p GuestSpec,
    task: &'p GuestTask,
    cache: &'p Cache,
    tools: Tools,
    kernel: Kernel,
    runs: CpuMode,
    /// The mounts of the task, and its directory.
    mounts: Vec<ReadOnlyMount>,
}

/// Image files of a guest's disks on the host.
struct Files {
    disks: Vec<(usize, PathBuf)>,
    swap: Option<PathBuf>,
    work: Option<PathBuf>,
}

/// A failed attempt, and whether the guest had booted.
struct Failure {
    error: Error,
    reached: bool,
}

impl<'p> Prepared<'p> {
    fn new(
        spec: &'p GuestSpec,
        task: &'p GuestTask,
        cache: &'p Cache,
        watcher: &mut dyn Watcher,
    ) -> Result<Self, Error> {
        spec.check().map_err(Error::new)?;
        if let Some(mount) = task.mounts.iter().find(|mount| !is_plain(&mount.host)) {
            let what =
                format!("QEMU options cannot contain the folder path {}", mount.host.display());
            return Err(Error::new(what).hint("use only letters, digits and `_+-.` in its path"));
        }
        let tools = Tools::find(cache)?;
        let kernel = Kernel::provide(&spec.kernel, cache, false, &mut |text| watcher.remark(text))?;
        let runs = accelerator::choose(spec.accelerator, &tools.qemu)?;
        let mounts = task.mounts.iter().cloned().chain(script::directory(task)).collect();
        Ok(Self { spec, task, cache, tools, kernel, runs, mounts })
    }

    fn guest(&self, runs: CpuMode) -> Guest {
        Guest {
            kernel: self.kernel.release.clone(),
            layout: self.spec.layout.word().to_owned(),
            accelerator: runs.word().to_owned(),
            nodes: self.spec.nodes,
        }
    }

    fn machine<'m>(
        &'m self,
        shared: &'m SharedDir,
        files: &'m Files,
        runs: CpuMode,
        interactive: bool,
    ) -> Machine<'m> {
        Machine {
            spec: self.spec,
            kernel: &self.kernel,
            runs,
            share: shared.share(),
            console: shared.console(),
            mounts: &self.mounts,
            disks: &files.disks,
            swap: files.swap.as_deref(),
            work: files.work.as_deref(),
            interactive,
        }
    }

    /// Runs one guest, from its folder to its exit code.
    fn attempt(&self, runs: CpuMode, watcher: &mut dyn Watcher) -> Result<Ended, Failure> {
        let mut shared = SharedDir::create(self.cache)?;
        let files = Files::make(&mut shared, self.spec, self.task)?;
        let guest = self.guest(runs);
        shared.put("init", script::INIT)?;
        shared.put("settings", &script::settings(self.spec, self.task, &guest.text()))?;
        shared.put("command", &script::command(&self.task.command))?;
        watcher.remark(&format!("booting {}", guest.line()));
        let arguments = self.machine(&shared, &files, runs, false).arguments();
        let process = Process::start(&self.tools.virtme, &self.tools.qemu, &arguments)?;
        let mut running = RunningGuest {
            shared: &shared,
            process,
            limit: self.spec.timeout,
            began: Instant::now(),
            ready: None,
            stderr: String::new(),
            space: DiskSpace::new(),
        };
        let interrupted = running.wait_for_end(watcher)?;
        let code = match interrupted {
            Some(_) => 130,
            None => running.code()?,
        };
        self.copy_results(&shared, interrupted.is_some(), watcher)?;
        let boot = running.ready.unwrap_or_else(|| running.began.elapsed());
        Ok(Ended {
            code,
            guest,
            boot,
            command: running.began.elapsed().saturating_sub(boot),
            interrupted,
        })
    }

    /// Copies the results. Their tree is controlled by the guest's root. Results of a guest that
    /// the user ended are copied as well, unless the user interrupts again.
    fn copy_results(
        &self,
        shared: &SharedDir,
        was_interrupted: bool,
        watcher: &mut dyn Watcher,
    ) -> Result<(), Error> {
        let Some(results) = &self.task.results else { return Ok(()) };
        let Some(from) = shared.results() else { return Ok(()) };
        let stop = || match was_interrupted {
            true => signal::interrupted_twice(),
            false => signal::interrupted_by().is_some(),
        };
        let left_out = Dir::open(&results.to)?.copy_in(&from, RESULTS, &stop)?;
        if let Some(first) = left_out.first() {
            let first = first.strip_prefix(from.path()).unwrap_or(first);
            watcher.remark(&format!(
                "note: {} results of the guest are not regular files and were not copied, such as \
                 {}",
                left_out.len(),
                first.display()
            ));
        }
        Ok(())
    }
}

impl Files {
    fn make(shared: &mut SharedDir, spec: &GuestSpec, task: &GuestTask) -> Result<Self, Error> {
        let mut disks = Vec::new();
        for (index, disk) in spec.disks.iter().enumerate() {
            let number = index + 1;
            if let Some(size) = GuestSpec::file_size(disk) {
                disks.push((number, shared.disk(&format!("disk-{number}"), size)?));
            }
        }
        let swap = spec.swap.map(|size| shared.disk("swap", size)).transpose()?;
        let work = task.work.map(|size| shared.disk("work", size)).transpose()?;
        if let Some(file) = &work {
            // Formatted on the host, which is much faster than in the guest.
            let arguments = ["-q".as_ref(), "-F".as_ref(), file.as_os_str()];
            tool::succeed("mkfs.ext4", &arguments, Path::new("/"))?;
        }
        Ok(Self { disks, swap, work })
    }
}

/// A running guest, observed from the host.
struct RunningGuest<'v> {
    shared: &'v SharedDir,
    process: Process,
    limit: Duration,
    began: Instant,
    /// Time until the command started.
    ready: Option<Duration>,
    /// The end of its standard error.
    stderr: String,
    space: DiskSpace,
}

impl RunningGuest<'_> {
    /// Forwards output until the guest has ended; ends it on a timeout, a failure or an
    /// interruption. Returns the signal of the interruption, if any.
    fn wait_for_end(&mut self, watcher: &mut dyn Watcher) -> Result<Option<&'static str>, Failure> {
        let mut done: Option<Instant> = None;
        loop {
            if let Some(chunk) = self.process.next(TICK) {
                self.forward(&chunk, watcher);
            }
            self.notice_ready(watcher);
            if self.process.ended()?.is_some() {
                break;
            }
            if let Some(signal) = signal::interrupted_by() {
                self.end(watcher);
                return Ok(Some(signal));
            }
            if let Err(error) = self.space.check(self.shared) {
                self.end(watcher);
                return Err(error.into());
            }
            if self.shared.read("exit").is_some_and(|code| !code.is_empty()) {
                // A guest that has reported its exit code has nothing more to report.
                if done.get_or_insert_with(Instant::now).elapsed() > POWER_OFF {
                    self.end(watcher);
                    break;
                }
                continue;
            }
            if let Some(why) = self.timeout_reason() {
                self.end(watcher);
                return Err(self.failure(&why));
            }
        }
        let end = Instant::now();
        while let Some(chunk) = self.process.next_after(end) {
            self.forward(&chunk, watcher);
        }
        Ok(None)
    }

    fn end(&mut self, watcher: &mut dyn Watcher) {
        if let Some(survivor) = self.process.end() {
            watcher.remark(&survivor);
        }
    }

    fn forward(&mut self, chunk: &OutputChunk, watcher: &mut dyn Watcher) {
        match chunk {
            OutputChunk::Output(bytes) => watcher.output(bytes),
            OutputChunk::Errors(bytes) => {
                self.stderr.push_str(&String::from_utf8_lossy(bytes));
                let spare = self.stderr.len().saturating_sub(KEPT_STDERR);
                if let Some(cut) =
                    (spare..self.stderr.len()).find(|at| self.stderr.is_char_boundary(*at))
                {
                    self.stderr.drain(..cut);
                }
                // Before the command starts, all output comes from the machine itself.
                if self.ready.is_some() {
                    watcher.errors(bytes);
                }
            }
        }
    }

    fn notice_ready(&mut self, watcher: &mut dyn Watcher) {
        if self.ready.is_some() || self.shared.read("ready").is_none() {
            return;
        }
        let boot = self.began.elapsed();
        self.ready = Some(boot);
        watcher.remark(&format!("the guest is up after {:.1} s", boot.as_secs_f64()));
        for note in self.shared.read("notes").unwrap_or_default().lines() {
            watcher.remark(&format!("note: {note}"));
        }
    }

    /// Why the guest must be ended, if it must.
    fn timeout_reason(&self) -> Option<String> {
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
        (!reached && elapsed > BOOT).then(|| {
            format!("the guest did not reach the lab's init step within {} s", BOOT.as_secs())
        })
    }

    /// The exit code reported by the guest, or why there is none.
    fn code(&self) -> Result<i32, Failure> {
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
        let reached = self.shared.read("reached").is_some();
        Failure::new(what, self.shared, &self.stderr, reached)
    }
}

impl Failure {
    fn new(what: &str, shared: &SharedDir, stderr: &str, reached: bool) -> Self {
        let tail = console::tail(&shared.console(), stderr);
        let log = shared.keep_console();
        let hint = if what.contains("time limit") {
            "increase --timeout; under emulation everything takes many times longer"
        } else {
            "`assay lab shell` with the same options opens a shell in the guest"
        };
        let error = Error::new(what).console(Console { log, tail }).hint(hint);
        Self { error, reached }
    }
}

impl From<Error> for Failure {
    /// A failure of the host, which another accelerator would not fix.
    fn from(error: Error) -> Self {
        Self { error, reached: true }
    }
}
