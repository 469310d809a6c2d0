//! Where waiting for a CPU goes: attaches the eBPF programs that attribute it, and reads what they counted.

mod calls;
mod classes;
mod hierarchy;
mod sched_ext;
mod visitor;

use std::path::Path;
use std::time::{Duration, Instant};

use assay_bpf::{BLAME, BLAME_FEW, FEW, Programs};
use assay_sys::kernel::bpf_info::Ran;
use assay_sys::kernel::bpf_map::BpfMap;
use assay_sys::kernel::parse::cgroups::process_groups;
use assay_sys::kernel::{Error, Root};

use crate::culprit::NUMBERS;
use crate::thread_time::threads_at_end;
use crate::{Answer, Memory, Shape, Target, ThreadTime, Verdict};
use classes::Classes;
use sched_ext::SchedExt;
use visitor::Visitor;

pub use hierarchy::CpuHierarchy;

pub use crate::watch::watch_error::WatchError;

/// Programs that run when they are switched off end within this time.
const LAST_EVENTS: Duration = Duration::from_millis(5);

/// Programs at their tracepoints that attribute the waiting of groups or of a process. They go with this
/// value or with the process.
pub struct WaitWatch {
    programs: Programs,
    classes: Classes,
    process: u32,
    /// Whether groups are those of cgroup2.
    is_v2: bool,
    sched_ext: SchedExt,
    started: Instant,
    /// How long it counted, once it has been stopped.
    length: Option<Duration>,
    visitor: Option<Visitor>,
}

impl WaitWatch {
    /// Attaches the programs for groups, each with all groups below it. A path is one below the mount of the
    /// controller `cpu`, or that of a directory.
    ///
    /// # Errors
    /// There is no such group, or the kernel or its policy refuses the programs.
    pub fn on_groups(
        root: &Root,
        hierarchy: &CpuHierarchy,
        paths: &[String],
    ) -> Result<Self, WatchError> {
        let mut watched = Vec::new();
        for path in paths.iter().map(|path| hierarchy.path(path)) {
            hierarchy.check_group(root, &path)?;
            watched.push(path);
        }
        Self::load(root, hierarchy, 0, Classes::of_groups(root, hierarchy, &watched)?)
    }

    /// Those of these groups, by their paths, for which the programs have room, since they are still there and do not take that
    /// of others.
    #[must_use]
    pub fn fitting(root: &Root, hierarchy: &CpuHierarchy, mut paths: Vec<String>) -> Vec<String> {
        paths.retain(|path| hierarchy.check_group(root, path).is_ok());
        Classes::fitting(root, hierarchy, paths)
    }

    /// Attaches the programs for all threads of a process.
    ///
    /// # Errors
    /// There is no such process, or the kernel or its policy refuses the programs.
    pub fn on_process(root: &Root, hierarchy: &CpuHierarchy, id: u32) -> Result<Self, WatchError> {
        let groups = root
            .read(format!("/proc/{id}/cgroup"))
            .map_err(|error| WatchError::Target(error.to_string()))?;
        let is_limited = process_groups(&groups)
            .iter()
            .find(|one| hierarchy.has(&one.controllers))
            .is_some_and(|one| hierarchy.is_limited(root, &one.group));
        let name = format!("process {id}");
        Self::load(root, hierarchy, id, Classes::of_process(root, hierarchy, name, is_limited))
    }

    fn load(
        root: &Root,
        hierarchy: &CpuHierarchy,
        process: u32,
        classes: Classes,
    ) -> Result<Self, WatchError> {
        let refused = |error: Error| WatchError::Host(error.to_string());
        let Shape { cpus, slots } = classes.shape;
        let sizes = [
            ("cpus", cpus),
            ("slots", cpus * slots),
            ("groups", classes.numbers.len().max(1)),
            ("held", slots * NUMBERS),
        ];
        let sizes = sizes.map(|(name, entries)| (name, entries as u32));
        let object = if slots <= FEW { BLAME_FEW } else { BLAME };
        let programs = Programs::load_sized(root, object, &sizes).map_err(refused)?;
        let groups = programs.map("groups").map_err(refused)?;
        for (id, place) in &classes.numbers {
            groups.set(&id.to_ne_bytes(), &place.to_ne_bytes()).map_err(refused)?;
        }
        Ok(Self {
            programs,
            classes,
            process,
            is_v2: hierarchy.is_v2(),
            sched_ext: SchedExt::read(root),
            started: Instant::now(),
            length: None,
            visitor: None,
        })
    }

    /// From now on events count, on all CPUs at once.
    ///
    /// # Errors
    /// The kernel refuses to switch the programs on.
    pub fn start(&mut self) -> Result<(), Error> {
        self.sched_ext = self.sched_ext.again();
        self.enable(false)?;
        self.programs.walk("task")?;
        self.started = Instant::now();
        self.enable(true)?;
        self.visitor = Visitor::start();
        Ok(())
    }

    /// How long it has counted since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.length.unwrap_or_else(|| self.started.elapsed())
    }

    /// What the programs have done since they were attached; `None` if the kernel does not tell.
    #[must_use]
    pub fn ran(&self) -> Option<Ran> {
        self.programs.ran()
    }

    /// Ends the counting, on all CPUs at once.
    ///
    /// # Errors
    /// The kernel refuses to switch the programs off, or to go through all threads.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.enable(false)?;
        self.length = Some(self.elapsed());
        self.visitor = None;
        self.programs.walk("task")
    }

    /// Ends the counting, if it has not been stopped, and reads it: one answer for each group, in their order.
    ///
    /// # Errors
    /// The kernel refuses to switch the programs off, or their memory cannot be read.
    pub fn finish(mut self) -> Result<Vec<Answer>, Error> {
        if self.length.is_none() {
            self.stop()?;
        }
        std::thread::sleep(LAST_EVENTS);
        self.so_far()
    }

    /// What was counted up to now, while counting goes on: one answer for each group, in their order. What a CPU
    /// has done since its last event is missing, and the whole time of threads.
    ///
    /// # Errors
    /// The memory of the programs cannot be read.
    pub fn so_far(&self) -> Result<Vec<Answer>, Error> {
        let seconds = self.elapsed().as_secs_f64();
        let map = |name| self.programs.map(name).and_then(BpfMap::all);
        let memory = Memory { shape: self.classes.shape, cpus: map("cpus")?, slots: map("slots")? };
        let missed = self.ran().map(|ran| ran.missed);
        let sched_ext = self.sched_ext.objection();
        let at_end = match self.length {
            Some(_) => Some(threads_at_end(&memory, &map("threads")?, &map("held")?)),
            None => None,
        };
        let answer = |target: &Target| {
            let counted = memory.counted(target).ok_or_else(|| {
                let path = Path::new("the maps of the eBPF programs");
                Error::unexpected("read", path, "they have another size than this version's")
            })?;
            let mut answer = Answer::new(&target.name, seconds, &counted, &self.classes.names);
            answer.set_missed(missed);
            sched_ext.iter().for_each(|reason| answer.set_void(reason));
            let names = &self.classes.names;
            let time = at_end
                .as_ref()
                .map(|at_end| ThreadTime::new(&memory, target, &counted, at_end, names));
            // It has the waiting as a part.
            answer.thread_time = time.map(|time| ThreadTime {
                reason: answer
                    .reason
                    .clone()
                    .filter(|_| answer.verdict == Verdict::Void)
                    .or(time.reason),
                ..time
            });
            Ok(answer)
        };
        self.classes.targets.iter().map(answer).collect()
    }

    /// Writes `struct settings` of `programs/blame/memory.h`.
    fn enable(&self, enabled: bool) -> Result<(), Error> {
        let Shape { cpus, slots } = self.classes.shape;
        let place = Classes::PROCESS;
        let unified = u32::from(self.is_v2);
        let words = [u32::from(enabled), self.process, place, slots as u32, cpus as u32, unified];
        let mut settings = words.map(u32::to_ne_bytes).concat();
        settings.extend(self.classes.limited.to_ne_bytes());
        settings.extend(calls::kinds());
        self.programs.map("settings")?.set(&[0; 4], &settings)
    }
}
