//! `repeats`: which repeats count.

use assay_record::{RepeatRecord, Table, TrialRecord};

use super::{Gate, Scope};
use crate::judgement::Check;
use crate::wording::{count, some_of};

/// The repeats of a trial, sorted out.
pub(crate) struct Selection<'r> {
    /// Repeats to take numbers from: number from 1, record, samples.
    pub(crate) judged: Vec<(usize, &'r RepeatRecord, &'r [Table])>,
    /// How many of them count. None do when every repeat was cut short; the numbers of those
    /// that have any are then shown under a void verdict.
    pub(crate) counted: usize,
    started: usize,
    left_out: Vec<String>,
    failed: Vec<String>,
}

/// The fault of a repeat that the user ended.
const INTERRUPTED: &str = "interrupted";

impl<'r> Selection<'r> {
    /// Leaves out repeats with a fault.
    pub(crate) fn new(trial: &'r TrialRecord, samples: &'r [Vec<Table>]) -> Self {
        let mut whole = Vec::new();
        let mut cut_short = Vec::new();
        let mut left_out = Vec::new();
        let mut failed = Vec::new();
        for (index, record) in trial.repeats.iter().enumerate() {
            let tables = samples.get(index).map_or(&[][..], Vec::as_slice);
            let entry = (index + 1, record, tables);
            match &record.fault {
                None => whole.push(entry),
                Some(fault) => {
                    if fault.kind != INTERRUPTED {
                        failed.push(format!("repeat {}: {}", index + 1, fault.message));
                    }
                    left_out.push(format!(
                        "repeat {} left out ({}: {})",
                        index + 1,
                        fault.kind,
                        fault.message
                    ));
                    if !tables.is_empty() && record.stopped_ns > record.all_released_ns {
                        cut_short.push(entry);
                    }
                }
            }
        }
        let counted = whole.len();
        let judged = if counted == 0 { cut_short } else { whole };
        Self { judged, counted, started: trial.repeats.len(), left_out, failed }
    }

    /// Repeats that something else than the user ended. A workload may have failed because it starved,
    /// so that without them nothing is kept.
    pub(crate) fn failed(&self) -> Option<String> {
        (!self.failed.is_empty()).then(|| some_of(&self.failed, "; "))
    }

    /// Leaves out repeats that something from outside has spoilt, by number with what it was.
    pub(crate) fn leave_out(&mut self, spoilt: &[(usize, String)]) {
        self.judged.retain(|(number, ..)| !spoilt.iter().any(|(other, _)| other == number));
        self.counted -= spoilt.len().min(self.counted);
        let said = spoilt.iter().map(|(number, why)| format!("repeat {number} left out ({why})"));
        self.left_out.extend(said);
    }

    /// Fails when no repeat is left.
    pub(crate) fn gate(&self) -> Gate {
        let mut evidence = match (self.started, self.counted) {
            (0, _) => "no repeat of this trial was started".to_owned(),
            (started, counted) => {
                format!("{counted} of {} count", count(started, "started repeat"))
            }
        };
        if !self.left_out.is_empty() {
            evidence = format!("{evidence}; {}", some_of(&self.left_out, "; "));
        }
        let check = Check { check: "repeats".to_owned(), ok: self.counted > 0, evidence };
        Gate { check, scope: Scope::All, proves: None }
    }
}
