//! Runs a guest from boot to power-off.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_record::run_folder::Guest;
use assay_sys::files::Dir;
use assay_sys::kernel::signal;

use crate::accelerator::{self, CpuMode, KvmAnswer, TRIAL};
use crate::cache::{Cache, is_plain};
use crate::disk_space::{DiskSpace, RESULTS};
use crate::error::Error;
use crate::forward::{Forwarder, Watcher};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::process::{self, Process};
use crate::running_guest::{Failure, Progress, RunningGuest};
use crate::script;
use crate::shared_dir::SharedDir;
use crate::spec::{Accelerator, GuestSpec};
use crate::task::{Argument, GuestTask, ReadOnlyMount};
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

/// Checks that this host has the programs to run guests. The error names what is missing and how to
/// install it.
pub fn ready(cache: &Cache) -> Result<(), Error> {
    Tools::find(cache).map(|_| ())
}

/// Boots a guest, runs the task in it, and ends it. A reader of its output may suspend the guest, but none of its
/// limits.
pub fn run(
    spec: &GuestSpec,
    task: &GuestTask,
    cache: &Cache,
    watcher: impl Watcher + 'static,
) -> Result<Ended, Error> {
    let mut forwarder = Forwarder::start(watcher);
    let ended = attempts(spec, task, cache, &mut forwarder);
    let is_printed = forwarder.finish();
    match (ended, signal::interrupted_by()) {
        (Ok(ended), None) if !is_printed => {
            let what = format!(
                "the end of its output was not printed, since nobody reads it (the guest ended with {})",
                ended.code
            );
            Err(Error::new(what).hint("redirect the output to a file"))
        }
        (Ok(ended), interrupted) if !is_printed => Ok(Ended { interrupted, ..ended }),
        (ended, _) => ended,
    }
}

fn attempts(
    spec: &GuestSpec,
    task: &GuestTask,
    cache: &Cache,
    forwarder: &mut Forwarder,
) -> Result<Ended, Error> {
    let prepared = Prepared::new(spec, task, cache, &mut |text| forwarder.remark(text))?;
    let runs = prepared.cpu_mode(&mut |text| forwarder.remark(text))?;
    prepared.attempt(runs, forwarder).map_err(|failure| failure.error)
}

/// Boots an interactive guest, ended with `exit` or Ctrl-D.
pub fn shell(
    spec: &GuestSpec,
    task: &GuestTask,
    cache: &Cache,
    remark: &mut dyn FnMut(&str),
) -> Result<i32, Error> {
    let prepared = Prepared::new(spec, task, cache, remark)?;
    let mut shared = SharedDir::create(cache)?;
    let disks = Files::make(&mut shared, spec, task)?;
    let runs = prepared.cpu_mode(remark)?;
    let guest = prepared.guest(runs);
    shared.put("init", script::INIT)?;
    shared.put("settings", &script::settings(spec, task, &guest.text()))?;
    shared.put("shell", SHELL)?;
    shared.make_executable("shell")?;
    remark(&format!("booting {}; `exit` ends it", guest.line()));
    let arguments = prepared.machine(&shared, &disks, runs, true).arguments();
    let mut space = DiskSpace::new();
    let (virtme, qemu) = (&prepared.tools.virtme, &prepared.tools.qemu);
    let status =
        process::at_the_terminal(virtme, qemu, &arguments, &mut |pid| space.check(&shared, pid))?;
    if shared.read("reached").is_none() {
        return Err(Failure::new("the guest did not come up", &shared, "").error);
    }
    Ok(status.code().unwrap_or(1))
}

/// The user's shell in virtme: the lab's init step, then an interactive shell.
const SHELL: &str = "#!/bin/bash\ninteractive=yes\n. /run/assay/lab/init\n\
                     [ -f /run/assay/lab/notes ] && cat /run/assay/lab/notes\nexec bash -i\n";

/// What a guest that only shows whether it boots prints is of no interest.
struct Silent;

impl Watcher for Silent {
    fn output(&mut self, _: &[u8]) {}

    fn errors(&mut self, _: &[u8]) {}

    fn remark(&mut self, _: &str) {}
}

/// Everything determined before a guest's folder is created.
struct Prepared<'p> {
    spec: &'p GuestSpec,
    task: &'p GuestTask,
    cache: &'p Cache,
    tools: Tools,
    kernel: Kernel,
    /// The mounts of the task, and its directory.
    mounts: Vec<ReadOnlyMount>,
}

/// Image files of a guest's disks on the host.
struct Files {
    disks: Vec<(usize, PathBuf)>,
    swap: Option<PathBuf>,
    work: Option<PathBuf>,
}

impl<'p> Prepared<'p> {
    fn new(
        spec: &'p GuestSpec,
        task: &'p GuestTask,
        cache: &'p Cache,
        remark: &mut dyn FnMut(&str),
    ) -> Result<Self, Error> {
        spec.check().map_err(Error::new)?;
        if let Some(mount) = task.mounts.iter().find(|mount| !is_plain(&mount.host)) {
            let what =
                format!("QEMU options cannot contain the folder path {}", mount.host.display());
            return Err(Error::new(what).hint("use only letters, digits and `_+-.` in its path"));
        }
        let tools = Tools::find(cache)?;
        let kernel = Kernel::provide(&spec.kernel, cache, false, remark)?;
        let mounts = task.mounts.iter().cloned().chain(script::directory(task)).collect();
        Ok(Self { spec, task, cache, tools, kernel, mounts })
    }

    /// How the guest's processors are run: KVM where it runs this kernel, unless the user decides.
    fn cpu_mode(&self, remark: &mut dyn FnMut(&str)) -> Result<CpuMode, Error> {
        match self.spec.accelerator {
            Accelerator::Emulation => Ok(CpuMode::Emulation),
            Accelerator::Kvm => {
                accelerator::probe(&self.tools.qemu).map(|()| CpuMode::Kvm).map_err(|why| {
                    Error::new(format!("KVM does not work here: {why}"))
                        .hint("omit --accelerator, or use --accelerator tcg for emulation")
                })
            }
            Accelerator::Auto => Ok(match self.kvm_runs_it(remark)? {
                Ok(()) => CpuMode::Kvm,
                Err(why) => {
                    remark(&format!("{} is emulated: no KVM ({why})", self.kernel.release));
                    CpuMode::Emulation
                }
            }),
        }
    }

    /// Whether KVM runs this kernel, or why not: asked once, with a guest that boots and ends.
    fn kvm_runs_it(&self, remark: &mut dyn FnMut(&str)) -> Result<Result<(), String>, Error> {
        if let Err(why) = accelerator::probe(&self.tools.qemu) {
            return Ok(Err(why));
        }
        let kept = KvmAnswer::open(self.cache, &self.kernel.release)?;
        if let Some(known) = kept.known() {
            return Ok(known);
        }
        remark(&format!("asking whether KVM runs {}", self.kernel.release));
        let spec = GuestSpec { timeout: TRIAL, ..GuestSpec::default() };
        let task =
            GuestTask { command: vec![Argument::Text("true".to_owned())], ..GuestTask::default() };
        let trial = Prepared {
            spec: &spec,
            task: &task,
            tools: self.tools.clone(),
            kernel: self.kernel.clone(),
            cache: self.cache,
            mounts: Vec::new(),
        };
        let ended = trial.attempt(CpuMode::Kvm, &mut Forwarder::start(Silent));
        if signal::interrupted_by().is_some() {
            return Ok(Err("interrupted".to_owned()));
        }
        let answer = match ended {
            Ok(_) => Ok(()),
            Err(failure) => Err(failure.error.what.lines().next().unwrap_or_default().to_owned()),
        };
        kept.keep(&answer)?;
        Ok(answer)
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
    fn attempt(&self, runs: CpuMode, forwarder: &mut Forwarder) -> Result<Ended, Failure> {
        let mut shared = SharedDir::create(self.cache)?;
        let files = Files::make(&mut shared, self.spec, self.task)?;
        let guest = self.guest(runs);
        shared.put("init", script::INIT)?;
        shared.put("settings", &script::settings(self.spec, self.task, &guest.text()))?;
        shared.put("command", &script::command(&self.task.command))?;
        forwarder.remark(&format!("booting {}", guest.line()));
        let arguments = self.machine(&shared, &files, runs, false).arguments();
        let qemu = shared.qemu(&self.tools.qemu)?;
        let process = Process::start(&self.tools.virtme, &qemu, &arguments, shared.folder())?;
        let mut running = RunningGuest {
            shared: &shared,
            process,
            limit: self.spec.timeout,
            progress: Progress::new(runs),
            began: Instant::now(),
            ready: None,
            stderr: String::new(),
            space: DiskSpace::new(),
        };
        let interrupted = running.wait_for_end(forwarder)?;
        let code = match interrupted {
            Some(_) => 130,
            None => running.code()?,
        };
        self.copy_results(&shared, interrupted.is_some(), forwarder)?;
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
        forwarder: &mut Forwarder,
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
            forwarder.remark(&format!(
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
