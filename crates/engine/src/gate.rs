//! The common start: every job waits at the gate until all are there.

use std::path::Path;
use std::time::Duration;

use assay_kernel::clock::monotonic_ns;
use assay_kernel::fifo::Fifo;
use assay_kernel::process::{send, state, undisturbed};
use assay_kernel::{Error, Root};
use assay_workload::fio::{GATE_FILE, parse_gate_line};
use rustix::process::Signal;

use crate::processes::{Process, pause};

/// The gate of one repeat.
pub(crate) struct Gate {
    fifo: Fifo,
    waiting: Vec<u32>,
}

/// When the jobs were let go, CLOCK_MONOTONIC nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// How a wait at the gate ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Every job of every process that still runs is there.
    All,
    /// The user asked to stop.
    Interrupted,
}

impl Gate {
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        Fifo::make(&folder.join(GATE_FILE)).map(|fifo| Self { fifo, waiting: Vec::new() })
    }

    /// Waits until all jobs have come. A process that ends meanwhile is not waited for: the
    /// others still run, and its failure is reported with their results.
    pub(crate) fn gather(
        &mut self,
        root: &Root,
        processes: &mut [Process],
        mut tell: impl FnMut(usize, usize),
    ) -> Result<Arrival, Error> {
        loop {
            self.waiting.extend(self.fifo.lines()?.iter().filter_map(|line| parse_gate_line(line)));
            let expected: usize = processes
                .iter_mut()
                .filter_map(|process| process.is_running().then_some(process.jobs))
                .sum();
            tell(self.waiting.len(), expected);
            let stopped = |pid: &u32| !matches!(state(root, *pid), Some('R' | 'S' | 'D'));
            if self.waiting.len() >= expected && self.waiting.iter().all(stopped) {
                return Ok(Arrival::All);
            }
            if pause(Duration::from_millis(5)) {
                return Ok(Arrival::Interrupted);
            }
        }
    }

    /// Takes the FIFO away: whoever reads the logs later must not hang on it.
    pub(crate) fn close(self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(GATE_FILE);
        std::fs::remove_file(&path).map_err(|cause| Error::new("remove", &path, &cause))
    }

    /// Lets all jobs go in one burst, then calls `watch` without being preempted by them.
    pub(crate) fn release<T>(&self, watch: impl FnOnce() -> T) -> (Release, T) {
        undisturbed(|| {
            let first_ns = monotonic_ns();
            for pid in &self.waiting {
                // A job that was killed at the gate is missed by its results, not here.
                let _ = send(*pid, Signal::CONT);
            }
            let release = Release { first_ns, last_ns: monotonic_ns() };
            (release, watch())
        })
    }
}
