//! One thread: its buffer, its open files, and the loop over its operations.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::Scope;

use assay_sys::kernel::anonymous_memory::Pages;
use assay_sys::kernel::clock;
use rustix::io::Errno;

use super::super::files::prepare::Ready;
use super::super::io_error::refused;
use super::super::uniform::ThreadRandom;
use super::super::workload::Operation;
use super::aio::Aio;
use super::kind::Kind;
use super::limits::Limit;
use super::run::{Run, ThreadIdentity};
use super::slots::Slots;
use crate::failure::Failure;

/// Why a thread ends.
#[derive(Debug)]
pub(super) enum Stop {
    /// The run is over.
    Ending,
    /// No file was available, or a `finish` operation reached its goal.
    NoResource(String),
    Failed(Failure),
}

pub(super) type Flow = Result<(), Stop>;

/// Alignment of buffers for direct I/O: a page; filebench uses a sector.
const ALIGNMENT: usize = 4096;
/// Extra space for direct I/O, as in filebench.
const SECTOR: u64 = 512;
const PAGE: usize = 4096;

/// A running thread.
pub(super) struct Worker<'r> {
    pub(super) run: &'r Run<'r>,
    pub(super) identity: &'r ThreadIdentity<'r>,
    pub(super) slots: Slots,
    pub(super) own: ThreadRandom,
    /// By operation.
    pub(super) limits: Vec<Limit>,
    pub(super) aio: Option<Aio>,
    memory: Pages<u8>,
    /// Used instead of `memory` if the thread has none.
    spare: Vec<u8>,
}

impl<'r> Worker<'r> {
    /// Allocates and touches the buffer, so that it counts as memory of the run from the start.
    pub(super) fn new<'s>(
        run: &'r Run<'r>,
        identity: &'r ThreadIdentity<'r>,
        scope: &'s Scope<'s, '_>,
    ) -> Result<Self, Stop> {
        let thread = identity.thread;
        let mut memory = Pages::zeroed(thread.memory as usize, run.huge)
            .map_err(|error| Stop::Failed(error.into()))?;
        memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 0);
        if identity.process.nice > 0 {
            // Linux has a nice value per thread (sched(7)). Raising it is always allowed.
            let nice = i32::try_from(identity.process.nice).unwrap_or(i32::MAX);
            let _ = rustix::process::setpriority_process(None, nice);
        }
        let aio = uses_aio(&thread.operations).then(|| {
            let (aio, help) = Aio::start();
            (aio, help)
        });
        let aio = aio.map(|(aio, help)| {
            scope.spawn(help);
            aio
        });
        let seed = run.seed.wrapping_add((identity.number as u64).wrapping_mul(0x9E37_79B9));
        Ok(Self {
            run,
            identity,
            slots: Slots::empty(),
            own: ThreadRandom::seeded(seed),
            limits: vec![Limit::default(); thread.lines],
            aio,
            memory,
            spare: Vec::new(),
        })
    }

    /// Executes its operations until the run ends, or one of them ends it.
    pub(super) fn work(mut self) -> Flow {
        loop {
            for operation in &self.identity.thread.operations {
                self.repeat(operation)?;
            }
        }
    }

    fn repeat(&mut self, operation: &'r Operation) -> Flow {
        for _ in 0..operation.iters.get() {
            if self.run.stopping() {
                return Err(Stop::Ending);
            }
            self.once(operation)?;
        }
        // A loop with `iters=0` everywhere must still check for the end.
        if self.run.stopping() { Err(Stop::Ending) } else { Ok(()) }
    }

    fn once(&mut self, operation: &'r Operation) -> Flow {
        match operation.kind {
            Kind::OpenFile => self.open_file(operation),
            Kind::CreateFile => self.create_file(operation),
            Kind::CloseFile => self.close_file(operation),
            Kind::DeleteFile => self.delete_file(operation),
            Kind::StatFile => self.stat_file(operation),
            Kind::Fsync => self.fsync(operation),
            Kind::FsyncSet => self.fsync_set(operation),
            Kind::ReadWholeFile => self.read_whole_file(operation),
            Kind::WriteWholeFile => self.write_whole_file(operation),
            Kind::AppendFile => self.append_file(operation),
            Kind::AppendFileRand => self.append_file_rand(operation),
            Kind::Read => self.read(operation),
            Kind::Write => self.write(operation),
            Kind::AioWrite => self.aio_write(operation),
            Kind::AioWait => self.aio_wait(operation),
            Kind::MakeDir => self.make_dir(operation),
            Kind::RemoveDir => self.remove_dir(operation),
            Kind::ListDir => self.list_dir(operation),
            Kind::Hog => self.hog(operation),
            Kind::Delay => self.delay(operation),
            Kind::Block => self.block(operation),
            Kind::Wakeup => self.wakeup(operation),
            Kind::SemBlock => self.sem_block(operation),
            Kind::SemPost => self.sem_post(operation),
            Kind::EventLimit => self.event_limit(operation),
            Kind::IopsLimit | Kind::OpsLimit | Kind::BwLimit => self.limit(operation),
            Kind::FinishOnCount | Kind::FinishOnBytes => self.finish(operation),
            Kind::Print => {
                self.print(operation);
                Ok(())
            }
            // Its mean goes to filebench's verbose log, which does not exist here.
            Kind::TestRandVar => {
                operation.value.get();
                Ok(())
            }
            Kind::Composite => operation.inner.iter().try_for_each(|inner| self.repeat(inner)),
        }
    }

    fn print(&self, operation: &Operation) {
        let ThreadIdentity { process, thread, instance, .. } = self.identity;
        let (process, thread, text) = (&process.name, &thread.name, &operation.text);
        self.run
            .reporter
            .line(&format!("Message from {process}, {thread} {}: {text}", instance + 1));
    }

    /// Counts an operation that began at `began`.
    pub(super) fn count(&self, operation: &Operation, began: u64, bytes: u64) {
        let latency = clock::monotonic_ns() - began;
        let counters = &self.run.counters[self.identity.number];
        counters.record(operation.number, self.run.epoch(), bytes, latency);
    }

    pub(super) fn began(&self) -> u64 {
        clock::monotonic_ns()
    }

    pub(super) fn set(&self, number: usize) -> &'r Ready {
        &self.run.sets[number]
    }

    /// The file set of an operation.
    pub(super) fn own_set(&self, operation: &Operation) -> Result<usize, Stop> {
        operation.set.ok_or_else(|| {
            self.wrong(operation, "has no file set and no open file", "add filesetname=...")
        })
    }

    pub(super) fn path(&self, (set, file): (usize, usize)) -> PathBuf {
        let set = self.set(set);
        set.root.join(set.files.text(file))
    }

    /// Name of this operation of this thread in messages.
    fn label(&self, operation: &Operation) -> String {
        format!("flowop {}-{}", operation.name, self.identity.instance + 1)
    }

    pub(super) fn wrong(&self, operation: &Operation, what: &str, remedy: &str) -> Stop {
        let what = format!("{} {what}", self.label(operation));
        Stop::Failed(Failure::Ended { what, remedy: remedy.to_owned() })
    }

    pub(super) fn refused(
        &self,
        operation: &Operation,
        verb: &str,
        path: &Path,
        errno: Errno,
    ) -> Stop {
        match refused(verb, path, errno) {
            Failure::Unable { what, remedy } => Stop::Failed(Failure::Ended {
                what: format!("{} {what}", self.label(operation)),
                remedy,
            }),
            other => Stop::Failed(other),
        }
    }

    pub(super) fn no_file(&self, operation: &Operation) -> Stop {
        Stop::NoResource(format!("{} could not obtain a file", self.label(operation)))
    }

    pub(super) fn reached(&self, operation: &Operation) -> Stop {
        Stop::NoResource(format!("{} has found its goal reached", self.label(operation)))
    }

    /// The buffer range for an operation: at a random multiple of its size.
    pub(super) fn buffer(
        &mut self,
        operation: &Operation,
        bytes: u64,
    ) -> Result<Range<usize>, Stop> {
        if bytes == 0 {
            return Err(self.wrong(operation, "moves 0 bytes", "give it an iosize above 0"));
        }
        let size = if operation.directio { bytes + SECTOR } else { bytes };
        let memory = self.memory.len() as u64;
        if memory == 0 {
            if self.spare.len() < bytes as usize {
                self.spare.resize(bytes as usize, 0);
            }
            return Ok(0..bytes as usize);
        }
        if memory < size {
            let what = format!("moves {size} bytes, and its thread has {memory} of memory");
            return Err(self.wrong(
                operation,
                &what,
                "raise memsize of the thread, or lower iosize",
            ));
        }
        let start = self.own.below(memory, size) as usize;
        let start = if operation.directio { start / ALIGNMENT * ALIGNMENT } else { start };
        Ok(start..start + bytes as usize)
    }

    pub(super) fn bytes(&mut self, range: Range<usize>) -> &mut [u8] {
        if self.memory.is_empty() { &mut self.spare[range] } else { &mut self.memory[range] }
    }

    pub(super) fn has_memory(&self) -> bool {
        !self.memory.is_empty()
    }
}

fn uses_aio(operations: &[Operation]) -> bool {
    operations
        .iter()
        .any(|op| matches!(op.kind, Kind::AioWrite | Kind::AioWait) || uses_aio(&op.inner))
}
