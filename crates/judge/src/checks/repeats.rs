//! `repeats`: which repeats count.

use crate::verdict::wording::{count, some_of, together};
use assay_record::run_folder::{Manifest, RepeatRecord, Table, TrialRecord};

use super::{Finding, Scope, ValidityCheck};

/// A repeat: number from 1, record, samples.
pub(crate) type Entry<'r> = (usize, &'r RepeatRecord, &'r [Table]);

/// The repeats of a trial by use.
pub(crate) struct Selection<'r> {
    /// Repeats to take numbers from.
    pub(crate) judged: Vec<Entry<'r>>,
    /// How many of them count. None does if every repeat was cut short; the numbers of those that
    /// have any are then shown under a void verdict.
    pub(crate) counted: usize,
    /// Repeats that were cut short and do not count, as far as they have samples.
    pub(crate) cut_short: Vec<Entry<'r>>,
    started: usize,
    left_out: Vec<String>,
}

/// Fault kind of a repeat that the user ended.
const INTERRUPTED: &str = "interrupted";

/// Unobserved repeats, which may have been the worst: those ended by something other than the user,
/// since a workload may have failed because it starved, and those missing in a run that ended
/// early, since it may have been ended because of its results.
pub(crate) fn unseen(manifest: &Manifest, trial: &TrialRecord) -> Option<String> {
    let faults = trial.repeats.iter().enumerate();
    let faults = faults.filter_map(|(index, repeat)| Some((index + 1, repeat.fault.as_ref()?)));
    let failed = faults.filter(|(_, fault)| fault.kind != INTERRUPTED);
    let failed = failed.map(|(number, fault)| format!("repeat {number}: {}", fault.message));
    together(failed.chain(not_begun(manifest, trial)))
}

/// The planned repeats missing in a run that ended early. A trial that reached its precision had
/// all that it needed.
fn not_begun(manifest: &Manifest, trial: &TrialRecord) -> Option<String> {
    let why = match (&manifest.ended_early, manifest.restored) {
        (Some(why), _) => why.as_str(),
        (None, None) => "the run did not record its end",
        (None, Some(_)) => return None,
    };
    let planned = trial.planned_repeats?;
    let whole = trial.repeats.iter().filter(|repeat| repeat.fault.is_none()).count();
    (whole < planned)
        .then(|| format!("{whole} of {} took place ({why})", count(planned, "planned repeat")))
}

/// `oom`: the kernel killed no process for lack of memory.
///
/// Examines every started repeat, since one that lost a process is left out of the numbers. Skipped
/// where no group has memory counters.
pub(super) fn oom(trial: &TrialRecord) -> Option<ValidityCheck> {
    let mut killed = Vec::new();
    let mut groups = 0;
    for (index, repeat) in trial.repeats.iter().enumerate() {
        for (group, counted) in &repeat.memory_events {
            groups += 1;
            if counted.get("oom_kill").is_some_and(|kills| *kills > 0) {
                let numbers: Vec<String> = counted
                    .iter()
                    .filter(|(_, count)| **count > 0)
                    .map(|(name, count)| format!("{name} {count}"))
                    .collect();
                killed.push(format!("repeat {}, `{group}`: {}", index + 1, numbers.join(", ")));
            }
        }
    }
    if groups == 0 {
        return None;
    }
    let (ok, evidence) = match killed.is_empty() {
        true => (true, "the kernel killed no process of a group for lack of memory".to_owned()),
        false => (false, format!("the kernel's own counters: {}", some_of(&killed, "; "))),
    };
    let check = Finding::new(ok, evidence).named("oom");
    let summary = "the kernel killed a process of the workload for lack of memory: the limit ended \
                   the workload instead of slowing it down";
    Some(ValidityCheck { check, scope: Scope::All, proves: Some(("C-OOM-KILLED", summary)) })
}

impl<'r> Selection<'r> {
    /// Leaves out repeats with a fault.
    pub(crate) fn new(trial: &'r TrialRecord, samples: &'r [Vec<Table>]) -> Self {
        let mut whole = Vec::new();
        let mut cut_short = Vec::new();
        let mut left_out = Vec::new();
        for (index, record) in trial.repeats.iter().enumerate() {
            let tables = samples.get(index).map_or(&[][..], Vec::as_slice);
            let entry = (index + 1, record, tables);
            match &record.fault {
                None => whole.push(entry),
                Some(fault) => {
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
        let (judged, cut_short) =
            if counted == 0 { (cut_short, Vec::new()) } else { (whole, cut_short) };
        Self { judged, counted, cut_short, started: trial.repeats.len(), left_out }
    }

    /// Leaves out repeats, given by number with the reason.
    pub(crate) fn leave_out(&mut self, invalid: &[(usize, String)]) {
        self.judged.retain(|(number, ..)| !invalid.iter().any(|(other, _)| other == number));
        self.counted -= invalid.len().min(self.counted);
        let parts = invalid.iter().map(|(number, why)| format!("repeat {number} left out ({why})"));
        self.left_out.extend(parts);
    }

    /// Fails when no repeat counts.
    pub(crate) fn check(&self) -> ValidityCheck {
        let mut evidence = match (self.started, self.counted) {
            (0, _) => "no repeat of this trial was started".to_owned(),
            (started, counted) => {
                format!("{counted} of {} count", count(started, "started repeat"))
            }
        };
        if !self.left_out.is_empty() {
            evidence = format!("{evidence}; {}", some_of(&self.left_out, "; "));
        }
        let check = Finding::new(self.counted > 0, evidence).named("repeats");
        ValidityCheck { check, scope: Scope::All, proves: None }
    }
}
