//! Preparations that run before the common start: those of one workload one after another, those of different
//! workloads in parallel.

use std::time::Duration;

use assay_kernel::Error;
use assay_plan::{GroupPlan, Trial, WorkloadPlan};
use assay_run_folder::WorkloadResult;

use crate::outcome::result;
use crate::processes::{BEFORE_THE_START, Process, pause, stop_all};
use crate::start::Starter;

/// Result of all preparations.
pub(crate) struct Prepared {
    /// One entry per preparation that was started.
    pub(crate) results: Vec<WorkloadResult>,
    /// Whether all of them succeeded.
    pub(crate) ready: bool,
    /// Whether the user asked to stop.
    pub(crate) interrupted: bool,
}

/// The preparations of one workload.
struct Row<'t> {
    group: &'t GroupPlan,
    workload: &'t WorkloadPlan,
    next: usize,
    running: Option<Process>,
}

/// How many preparations a trial has.
pub(crate) fn count(trial: &Trial) -> usize {
    let workloads = trial.groups.iter().flat_map(|group| &group.workloads);
    workloads.map(|workload| workload.prepare.len()).sum()
}

/// Runs all of them to their end; after a failure no more are started.
pub(crate) fn prepare(
    trial: &Trial,
    starter: &Starter<'_>,
    mut on_progress: impl FnMut(usize),
) -> Result<Prepared, Error> {
    let mut rows: Vec<Row<'_>> = trial
        .groups
        .iter()
        .flat_map(|group| {
            group.workloads.iter().map(move |workload| Row {
                group,
                workload,
                next: 0,
                running: None,
            })
        })
        .collect();
    let mut prepared = Prepared { results: Vec::new(), ready: true, interrupted: false };
    loop {
        let mut any = false;
        for row in &mut rows {
            row.step(starter, &mut prepared)?;
            any |= row.running.is_some();
        }
        on_progress(prepared.results.len());
        if !any {
            return Ok(prepared);
        }
        if !prepared.interrupted && pause(Duration::from_millis(10)) {
            prepared.interrupted = true;
            prepared.ready = false;
            let running = rows.iter_mut().filter_map(|row| row.running.take());
            stop_all(&mut running.collect::<Vec<_>>(), BEFORE_THE_START);
            return Ok(prepared);
        }
    }
}

impl Row<'_> {
    /// Checks the running preparation, and starts the next.
    fn step(&mut self, starter: &Starter<'_>, prepared: &mut Prepared) -> Result<(), Error> {
        if let Some(process) = &mut self.running {
            if process.is_running() {
                return Ok(());
            }
            let mut result = result(process);
            result.workload = self.workload.prepare[self.next - 1].name.clone();
            prepared.ready &= result.failure.is_none();
            prepared.results.push(result);
            self.running = None;
        }
        if prepared.ready && self.next < self.workload.prepare.len() {
            self.running = Some(starter.prepare(self.group, self.workload, self.next)?);
            self.next += 1;
        }
        Ok(())
    }
}
