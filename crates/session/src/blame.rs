//! `assay blame`: attaches the programs that attribute waiting, and reads what they counted.

mod classes;
mod command;

use std::path::Path;
use std::time::{Duration, Instant};

use assay_blame::{Answer, Counted, Names};
use assay_bpf::{BLAME, Programs};
use assay_host::gather;
use assay_kernel::parse::cgroups::process_groups;
use assay_kernel::{Error as KernelError, Root, signal};

use crate::context::Context;
use crate::error::Error;
use classes::{Classes, Hierarchy};

pub use command::{BlamedCommand, blame_command};

/// CPUs that the programs have room for.
const CPUS: usize = 256;

/// Programs that run when they are switched off end within this time.
const LAST_EVENTS: Duration = Duration::from_millis(5);

/// Between two looks whether the time is up or the user has enough.
const LOOK: Duration = Duration::from_millis(20);

/// Whose waiting is attributed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlameTarget {
    /// A group with all groups below it: its path below the mount of the controller `cpu`.
    Group(String),
    /// All threads of a process.
    Process(u32),
}

/// Programs at their tracepoints that attribute the waiting of one target.
pub(crate) struct Watch {
    programs: Programs,
    names: Names,
    target: String,
    process: u32,
    classes: (u32, u32),
    started: Instant,
}

/// Watches a target for `length`, or until a signal, and says where its waiting went. Changes nothing.
///
/// ```no_run
/// use std::time::Duration;
/// use assay_session::{BlameTarget, Context, blame};
/// let context = Context::of_this_host(Vec::new());
/// let target = BlameTarget::Group("/system.slice/nginx.service".to_owned());
/// let answer = blame(&context, &target, Duration::from_secs(10))?;
/// println!("{}", assay_blame::text(&answer));
/// # Ok::<(), assay_session::Error>(())
/// ```
///
/// # Errors
/// There is no such group or process, or the kernel or its policy refuses the programs.
pub fn blame(context: &Context, target: &BlameTarget, length: Duration) -> Result<Answer, Error> {
    let hierarchy = hierarchy(context)?;
    let root = &context.root;
    let mut watch = match target {
        BlameTarget::Group(path) => Watch::on_group(root, &hierarchy, path)?,
        BlameTarget::Process(id) => Watch::on_process(root, &hierarchy, *id)?,
    };
    watch.start().map_err(Error::host)?;
    while watch.started.elapsed() < length
        && signal::interrupted_by().is_none()
        && is_there(root, target)
    {
        std::thread::sleep(LOOK.min(length.saturating_sub(watch.started.elapsed())));
    }
    watch.finish().map_err(Error::host)
}

/// A process ends; a group that is removed has no threads, which is no reason to end.
fn is_there(root: &Root, target: &BlameTarget) -> bool {
    match target {
        BlameTarget::Group(_) => true,
        BlameTarget::Process(id) => root.exists(format!("/proc/{id}/schedstat")),
    }
}

/// Where this host has the controller `cpu`.
fn hierarchy(context: &Context) -> Result<Hierarchy, Error> {
    let facts = gather(&context.root).map_err(Error::host)?;
    if facts.cpus.online.iter().any(|cpu| cpu as usize >= CPUS) {
        return Err(Error::host(format!("the programs have room for CPUs 0 to {}", CPUS - 1)));
    }
    Hierarchy::new(&facts.cgroup).map_err(Error::host)
}

impl Watch {
    /// Attaches the programs for a group.
    pub(crate) fn on_group(root: &Root, hierarchy: &Hierarchy, path: &str) -> Result<Self, Error> {
        let path = hierarchy.path(path);
        hierarchy.check_group(root, &path)?;
        let classes = Classes::read(root, hierarchy, Some(&path))?;
        Self::load(root, path, 0, classes).map_err(Error::host)
    }

    fn on_process(root: &Root, hierarchy: &Hierarchy, id: u32) -> Result<Self, Error> {
        let groups = root.read(format!("/proc/{id}/cgroup")).map_err(Error::usage)?;
        let mut classes = Classes::read(root, hierarchy, None)?;
        let limited = process_groups(&groups)
            .iter()
            .find(|one| hierarchy.has(&one.controllers))
            .is_some_and(|one| hierarchy.is_limited(root, &one.group));
        classes.limited = u32::from(limited);
        Self::load(root, format!("process {id}"), id, classes).map_err(Error::host)
    }

    fn load(
        root: &Root,
        target: String,
        process: u32,
        classes: Classes,
    ) -> Result<Self, KernelError> {
        let programs = Programs::load(root, BLAME)?;
        let groups = programs.map("groups")?;
        for (id, class) in &classes.numbers {
            groups.set(&id.to_ne_bytes(), &class.to_ne_bytes())?;
        }
        let shape = (classes.limited, classes.slots);
        Ok(Self {
            programs,
            names: classes.names,
            target,
            process,
            classes: shape,
            started: Instant::now(),
        })
    }

    /// From now on events count, on all CPUs at once.
    pub(crate) fn start(&mut self) -> Result<(), KernelError> {
        self.started = Instant::now();
        self.enable(1)
    }

    /// Ends the counting, on all CPUs at once, and reads it.
    pub(crate) fn finish(self) -> Result<Answer, KernelError> {
        self.enable(0)?;
        let seconds = self.started.elapsed().as_secs_f64();
        std::thread::sleep(LAST_EVENTS);
        let memory = self.programs.map(".bss")?.get(&[0; 4])?;
        let counted = Counted::parse(&memory).ok_or_else(|| {
            let path = Path::new("the memory of the eBPF programs");
            KernelError::unexpected("read", path, format!("it has {} bytes", memory.len()))
        })?;
        Ok(Answer::new(&self.target, seconds, &counted, &self.names))
    }

    /// Writes `struct settings`.
    fn enable(&self, enabled: u32) -> Result<(), KernelError> {
        let (limited, slots) = self.classes;
        let settings = [enabled, self.process, limited, slots].map(u32::to_ne_bytes).concat();
        self.programs.map("settings")?.set(&[0; 4], &settings)
    }
}
