//! What runs before the common start: the preparations of all workloads, those of one in turn,
//! those of different ones side by side.

use std::time::Duration;

use assay_kernel::Error;
use assay_plan::{GroupPlan, Trial, WorkloadPlan};
use assay_run_folder::WorkloadResult;

use crate::outcome::result;
use crate::processes::{BEFORE_THE_START, Process, pause, stop_all};
use crate::start::Starter;

/// How they ended.
pub(crate) struct Prepared {
    /// One entry a preparation that was started.
    pub(crate) results: Vec<WorkloadResult>,
    /// Whether all of them did their work.
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
    mut tell: impl FnMut(usize),
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
        tell(prepared.results.len());
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
    /// Looks after the one that runs, and starts the next.
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
