//! A guest from its start to its end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_files::{Budget, Dir};
use assay_kernel::signal;
use assay_run_folder::Guest;
use assay_units::Bytes;

use crate::accelerator::{self, Runs};
use crate::cache::{Cache, is_plain};
use crate::console;
use crate::error::{Console, Error};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::process::{self, Process, Sound};
use crate::script::{self, Shown};
use crate::shared_dir::SharedDir;
use crate::spec::{Accelerator, GuestSpec};
use crate::tool::{self, Tools};

/// What is to be done in a guest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errand {
    /// The command, word by word. No shell looks at it.
    pub command: Vec<Word>,
    /// Its working directory; root's home where the guest has no such directory.
    pub directory: Option<PathBuf>,
    /// Its environment besides PATH, HOME and what the lab sets.
    pub environment: Vec<(String, String)>,
    /// Folders of the host at other places in the guest, read-only.
    pub shown: Vec<Shown>,
    /// What is copied out of the guest when the command has ended.
    pub back: Option<Back>,
    /// The size of a disk of its own behind [`crate::WORK`], formatted with ext4, where images
    /// of scratch disks find room; without one that folder is in the guest's memory.
    pub work: Option<Bytes>,
}

/// A word of a command in a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// As it stands.
    Text(String),
    /// `block:` and the device node that the disk with this number, from 1, has in the guest.
    Disk(usize),
}

/// Results that a guest leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Back {
    /// A folder of the guest.
    pub from: String,
    /// The folder of the host that its regular files are copied to.
    pub to: PathBuf,
}

/// How a command in a guest ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; 128 and the signal's number after a signal, as shells say it.
    pub code: i32,
    /// The guest.
    pub guest: Guest,
    /// From the start of QEMU until the command began.
    pub boot: Duration,
    /// From then until the guest was gone.
    pub command: Duration,
    /// The signal that ended the guest at the user's wish.
    pub interrupted: Option<&'static str>,
}

/// Someone who listens to a guest.
pub trait Watcher {
    /// Bytes of the command's standard output.
    fn output(&mut self, bytes: &[u8]);
    /// Bytes of its standard error.
    fn errors(&mut self, bytes: &[u8]);
    /// Something that the lab itself has to say.
    fn remark(&mut self, text: &str);
}

/// How often the lab looks at the clock, the guest's files and the user's wishes.
const TICK: Duration = Duration::from_millis(100);

/// A boot takes 12 s under emulation on an idle machine, and many times that on a busy one.
const BOOT: Duration = Duration::from_secs(600);

/// How long a guest may take to power off once its command has ended.
const POWER_OFF: Duration = Duration::from_secs(60);

/// The most that is brought back of a guest, whose root decides how much it leaves and how long the files
/// say that they are.
const RESULTS: Budget = Budget { bytes: 4 << 30, names: 100_000 };

/// What is kept of standard error for the message of a failure.
const REMEMBERED: usize = 4096;

/// Whether this host can run guests at all: the programs are there. The error says what is
/// missing and how to get it.
pub fn ready(cache: &Cache) -> Result<(), Error> {
    Tools::find(cache).map(|_| ())
}

/// Boots a guest, runs the errand in it, and ends it.
pub fn run(
    spec: &GuestSpec,
    errand: &Errand,
    cache: &Cache,
    watcher: &mut dyn Watcher,
) -> Result<Ended, Error> {
    let prepared = Prepared::new(spec, errand, cache, watcher)?;
    let ended = prepared.attempt(prepared.runs, watcher);
    match ended {
        // Inside other virtual machines KVM may fail at some instruction long after it began.
        Err(failure)
            if prepared.runs == Runs::Kvm
                && spec.accelerator == Accelerator::Auto
                && !failure.reached =>
        {
            let why = failure.error.what.lines().next().unwrap_or_default().to_owned();
            watcher.remark(&format!("KVM does not work here ({why}); going on with emulation"));
            prepared.attempt(Runs::Emulation, watcher).map_err(|failure| failure.error)
        }
        ended => ended.map_err(|failure| failure.error),
    }
}

/// Boots a guest for a person at the terminal, who ends it with `exit` or Ctrl-D.
pub fn shell(
    spec: &GuestSpec,
    errand: &Errand,
    cache: &Cache,
    watcher: &mut dyn Watcher,
) -> Result<i32, Error> {
    let prepared = Prepared::new(spec, errand, cache, watcher)?;
    let exchange = SharedDir::create(cache)?;
    let disks = Files::make(&exchange, spec, errand)?;
    let guest = prepared.guest(prepared.runs);
    exchange.put("init", script::INIT)?;
    exchange.put("settings", &script::settings(spec, errand, &guest.text()))?;
    exchange.put("shell", SHELL)?;
    exchange.make_executable("shell")?;
    watcher.remark(&format!("booting {}; `exit` ends it", guest.line()));
    let arguments = prepared.machine(&exchange, &disks, prepared.runs, true).arguments();
    let status =
        process::at_the_terminal(&prepared.tools.virtme, &prepared.tools.qemu, &arguments)?;
    if exchange.said("reached").is_none() {
        return Err(Failure::of("the guest did not come up", &exchange, "", false).error);
    }
    Ok(status.code().unwrap_or(1))
}

/// What virtme starts as the user's shell: the lab's init step, then a shell that can be used.
const SHELL: &str = "#!/bin/bash\ninteractive=yes\n. /run/assay/lab/init\n\
                     [ -f /run/assay/lab/notes ] && cat /run/assay/lab/notes\nexec bash -i\n";

/// Everything that is known before a guest's folder is made.
struct Prepared<'p> {
    spec: &'p GuestSpec,
    errand: &'p Errand,
    cache: &'p Cache,
    tools: Tools,
    kernel: Kernel,
    runs: Runs,
    /// Those of the errand, and its directory.
    shown: Vec<Shown>,
}

/// Files of the host behind a guest's disks.
struct Files {
    disks: Vec<(usize, PathBuf)>,
    swap: Option<PathBuf>,
    work: Option<PathBuf>,
}

/// A failed attempt, and whether the guest had come up by then.
struct Failure {
    error: Error,
    reached: bool,
}

impl<'p> Prepared<'p> {
    fn new(
        spec: &'p GuestSpec,
        errand: &'p Errand,
        cache: &'p Cache,
        watcher: &mut dyn Watcher,
    ) -> Result<Self, Error> {
        spec.check().map_err(Error::new)?;
        if let Some(shown) = errand.shown.iter().find(|shown| !is_plain(&shown.host)) {
            let what = format!("QEMU cannot be told of a folder named {}", shown.host.display());
            return Err(Error::new(what).hint("choose letters, digits and `_+-.` for its path"));
        }
        let tools = Tools::find(cache)?;
        let kernel = Kernel::provide(&spec.kernel, cache, false, &mut |text| watcher.remark(text))?;
        let runs = accelerator::choose(spec.accelerator, &tools.qemu)?;
        let shown = errand.shown.iter().cloned().chain(script::directory(errand)).collect();
        Ok(Self { spec, errand, cache, tools, kernel, runs, shown })
    }

    fn guest(&self, runs: Runs) -> Guest {
        Guest {
            kernel: self.kernel.release.clone(),
            layout: self.spec.layout.word().to_owned(),
            accelerator: runs.word().to_owned(),
            nodes: self.spec.nodes,
        }
    }

    fn machine<'m>(
        &'m self,
        exchange: &'m SharedDir,
        files: &'m Files,
        runs: Runs,
        interactive: bool,
    ) -> Machine<'m> {
        Machine {
            spec: self.spec,
            kernel: &self.kernel,
            runs,
            share: exchange.share(),
            console: exchange.console(),
            shown: &self.shown,
            disks: &files.disks,
            swap: files.swap.as_deref(),
            work: files.work.as_deref(),
            interactive,
        }
    }

    /// One guest, from its folder to its exit code.
    fn attempt(&self, runs: Runs, watcher: &mut dyn Watcher) -> Result<Ended, Failure> {
        let exchange = SharedDir::create(self.cache)?;
        let files = Files::make(&exchange, self.spec, self.errand)?;
        let guest = self.guest(runs);
        exchange.put("init", script::INIT)?;
        exchange.put("settings", &script::settings(self.spec, self.errand, &guest.text()))?;
        exchange.put("command", &script::command(&self.errand.command))?;
        watcher.remark(&format!("booting {}", guest.line()));
        let arguments = self.machine(&exchange, &files, runs, false).arguments();
        let process = Process::start(&self.tools.virtme, &self.tools.qemu, &arguments)?;
        let mut visit = Visit {
            exchange: &exchange,
            process,
            limit: self.spec.timeout,
            began: Instant::now(),
            ready: None,
            said: String::new(),
        };
        let interrupted = visit.accompany(watcher)?;
        let code = match interrupted {
            Some(_) => 130,
            None => visit.code()?,
        };
        self.bring_back(&exchange, interrupted.is_some(), watcher)?;
        let boot = visit.ready.unwrap_or_else(|| visit.began.elapsed());
        Ok(Ended {
            code,
            guest,
            boot,
            command: visit.began.elapsed().saturating_sub(boot),
            interrupted,
        })
    }

    /// What the guest has left is any tree that its root could make on this host's file system. Of a guest
    /// that the user has ended it comes back all the same, unless the user insists.
    fn bring_back(
        &self,
        exchange: &SharedDir,
        was_interrupted: bool,
        watcher: &mut dyn Watcher,
    ) -> Result<(), Error> {
        let Some(back) = &self.errand.back else { return Ok(()) };
        let Some(from) = exchange.results() else { return Ok(()) };
        let stop = || match was_interrupted {
            true => signal::insisted(),
            false => signal::interrupted_by().is_some(),
        };
        let left_out = Dir::open(&back.to)?.copy_in(&from, RESULTS, &stop)?;
        if let Some(first) = left_out.first() {
            let first = first.strip_prefix(from.path()).unwrap_or(first);
            watcher.remark(&format!(
                "note: {} things that the guest has left are no regular files and stay there, {} \
                 among them",
                left_out.len(),
                first.display()
            ));
        }
        Ok(())
    }
}

impl Files {
    fn make(exchange: &SharedDir, spec: &GuestSpec, errand: &Errand) -> Result<Self, Error> {
        let mut disks = Vec::new();
        for (index, disk) in spec.disks.iter().enumerate() {
            let number = index + 1;
            if let Some(size) = GuestSpec::file_size(disk) {
                disks.push((number, exchange.disk(&format!("disk-{number}"), size)?));
            }
        }
        let swap = spec.swap.map(|size| exchange.disk("swap", size)).transpose()?;
        let work = errand.work.map(|size| exchange.disk("work", size)).transpose()?;
        if let Some(file) = &work {
            // Formatted here, where it takes a moment, and not in the guest, where it takes many.
            let words = ["-q".as_ref(), "-F".as_ref(), file.as_os_str()];
            tool::succeed("mkfs.ext4", &words, Path::new("/"))?;
        }
        Ok(Self { disks, swap, work })
    }
}

/// A guest that runs, as seen from outside.
struct Visit<'v> {
    exchange: &'v SharedDir,
    process: Process,
    limit: Duration,
    began: Instant,
    /// How long it took until the command began.
    ready: Option<Duration>,
    /// The last of its standard error.
    said: String,
}

impl Visit<'_> {
    /// Listens until the guest is gone; ends it when it takes too long, fails, or is no longer
    /// wanted. Returns the signal by which the user said so.
    fn accompany(&mut self, watcher: &mut dyn Watcher) -> Result<Option<&'static str>, Failure> {
        let mut done: Option<Instant> = None;
        loop {
            if let Some(sound) = self.process.next(TICK) {
                self.pass_on(&sound, watcher);
            }
            self.notice_ready(watcher);
            if self.process.ended()?.is_some() {
                break;
            }
            if let Some(signal) = signal::interrupted_by() {
                self.process.end();
                return Ok(Some(signal));
            }
            if self.exchange.said("exit").is_some_and(|code| !code.is_empty()) {
                // A guest that has said how its command ended has nothing more to tell.
                if done.get_or_insert_with(Instant::now).elapsed() > POWER_OFF {
                    self.process.end();
                    break;
                }
                continue;
            }
            if let Some(why) = self.overdue() {
                self.process.end();
                return Err(self.failure(&why));
            }
        }
        for sound in self.process.rest() {
            self.pass_on(&sound, watcher);
        }
        Ok(None)
    }

    fn pass_on(&mut self, sound: &Sound, watcher: &mut dyn Watcher) {
        match sound {
            Sound::Output(bytes) => watcher.output(bytes),
            Sound::Errors(bytes) => {
                self.said.push_str(&String::from_utf8_lossy(bytes));
                let spare = self.said.len().saturating_sub(REMEMBERED);
                if let Some(cut) =
                    (spare..self.said.len()).find(|at| self.said.is_char_boundary(*at))
                {
                    self.said.drain(..cut);
                }
                // Before the command begins, only the machine itself can be speaking.
                if self.ready.is_some() {
                    watcher.errors(bytes);
                }
            }
        }
    }

    fn notice_ready(&mut self, watcher: &mut dyn Watcher) {
        if self.ready.is_some() || self.exchange.said("ready").is_none() {
            return;
        }
        let boot = self.began.elapsed();
        self.ready = Some(boot);
        watcher.remark(&format!("the guest is up after {:.1} s", boot.as_secs_f64()));
        for note in self.exchange.said("notes").unwrap_or_default().lines() {
            watcher.remark(&format!("note: {note}"));
        }
    }

    /// Why the guest must be ended, if it must.
    fn overdue(&self) -> Option<String> {
        let elapsed = self.began.elapsed();
        let reached = self.exchange.said("reached").is_some();
        if !reached && self.said.contains("KVM internal error") {
            return Some("KVM met an instruction that it cannot run".to_owned());
        }
        if elapsed > self.limit {
            let seconds = self.limit.as_secs();
            return Some(if self.ready.is_some() {
                format!("the command was not done within the time limit of {seconds} s")
            } else {
                format!("the guest was not up within the time limit of {seconds} s")
            });
        }
        (!reached && elapsed > BOOT).then(|| {
            format!("the guest did not reach the lab's init step within {} s", BOOT.as_secs())
        })
    }

    /// The exit code that the guest has left, or why there is none.
    fn code(&self) -> Result<i32, Failure> {
        if let Some(why) = self.exchange.said("failed") {
            return Err(self.failure(&format!("the guest could not be set up: {why}")));
        }
        let said = self.exchange.said("exit").unwrap_or_default();
        if let Ok(code) = said.parse() {
            return Ok(code);
        }
        let cause = console::cause(&self.exchange.console());
        let when = match (self.ready, self.exchange.said("reached")) {
            (Some(_), _) => "before its command was done",
            (None, Some(_)) => "while the lab set it up",
            (None, None) => "before it reached the lab's init step",
        };
        Err(self.failure(&match cause {
            Some(cause) => format!("the guest ended {when}: {cause}"),
            None => format!("the guest ended {when}"),
        }))
    }

    fn failure(&self, what: &str) -> Failure {
        let reached = self.exchange.said("reached").is_some();
        Failure::of(what, self.exchange, &self.said, reached)
    }
}

impl Failure {
    fn of(what: &str, exchange: &SharedDir, said: &str, reached: bool) -> Self {
        let tail = console::tail(&exchange.console(), said);
        let log = exchange.keep_console();
        let hint = if what.contains("time limit") {
            "give it longer with --timeout; under emulation everything takes many times longer"
        } else {
            "`assay lab shell` with the same options shows the guest from inside"
        };
        let error = Error::new(what).console(Console { log, tail }).hint(hint);
        Self { error, reached }
    }
}

impl From<Error> for Failure {
    /// A failure of the host, which another accelerator would not mend.
    fn from(error: Error) -> Self {
        Self { error, reached: true }
    }
}
