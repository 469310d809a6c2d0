//! Preparations that run before the common start: those of one workload one after another, those of different
//! workloads in parallel.

use std::time::Duration;

use assay_record::run_folder::WorkloadResult;
use assay_study::plan::{GroupPlan, Trial, WorkloadPlan};
use assay_sys::kernel::process::state;
use assay_sys::kernel::{Error, Root};

use crate::runner::outcome::result;
use crate::runner::patience::{Expected, Patience, TO_PREPARE};
use crate::runner::processes::{BEFORE_THE_START, Process, pause, stop_all};
use crate::runner::start::Starter;

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
    running: Option<Running>,
}

/// A preparation that was started.
struct Running {
    process: Process,
    expected: Expected,
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
            let running = rows.iter_mut().filter_map(|row| Some(row.running.take()?.process));
            stop_all(&mut running.collect::<Vec<_>>(), BEFORE_THE_START);
            return Ok(prepared);
        }
    }
}

impl Running {
    fn new(process: Process) -> Self {
        let expected = Expected::new(process.id());
        Self { process, expected }
    }

    /// Whether it is still running; killed once it has exceeded a limit. It may wait for a child or a disk
    /// without CPU time of its own, but not while it is stopped: nobody may ever continue it.
    fn is_running(&mut self, root: &Root, patience: Patience) -> bool {
        if !self.process.is_running() {
            return false;
        }
        if state(root, self.process.id()) != Some('T') {
            self.expected.has_worked();
        }
        if let Some(why) = self.expected.timed_out(patience) {
            self.process.give_up(format!("did not end {why}, and was killed"));
        }
        self.process.is_running()
    }
}

impl Row<'_> {
    /// Checks the running preparation, and starts the next.
    fn step(&mut self, starter: &Starter<'_>, prepared: &mut Prepared) -> Result<(), Error> {
        if let Some(running) = &mut self.running {
            if running.is_running(starter.root, TO_PREPARE) {
                return Ok(());
            }
            let mut result = result(&running.process);
            result.workload = self.workload.prepare[self.next - 1].name.clone();
            prepared.ready &= result.failure.is_none();
            prepared.results.push(result);
            self.running = None;
        }
        if prepared.ready && self.next < self.workload.prepare.len() {
            let process = starter.prepare(self.group, self.workload, self.next)?;
            self.running = Some(Running::new(process));
            self.next += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::start_barrier::tests::start;

    #[test]
    fn a_stopped_preparation_is_killed_and_one_that_waits_for_a_child_is_not() {
        let place = tempfile::tempdir().unwrap();
        let patience =
            Patience { idle: Duration::from_millis(200), whole: Duration::from_secs(3600) };
        let mut stopped = Running::new(start(place.path(), "kill -STOP $$", false));
        let mut waits = Running::new(start(place.path(), "sleep 100 & wait", false));
        let mut rounds = 0;
        while stopped.is_running(&Root::real(), patience) {
            assert!(waits.is_running(&Root::real(), patience), "{:?}", waits.process.ended);
            rounds += 1;
            assert!(rounds < 3000, "it is still waited for");
            pause(Duration::from_millis(10));
        }
        let why = stopped.process.ended.clone().unwrap();
        assert!(why.contains("did not end without any CPU time used for 200ms"), "{why}");
        let short = Patience { whole: Duration::ZERO, ..patience };
        assert!(!waits.is_running(&Root::real(), short));
        let why = waits.process.ended.clone().unwrap();
        assert!(why.contains("did not end within 0ns"), "{why}");
    }
}
