//! What a plan is told: what generators predict (memory, for limits relative to it, and files, for the room on their disk),
//! and what the groups are that exist.
//!
//! A generator can predict how much memory it will touch and how large its files will be. That
//! requires starting it, which a plan never does: the caller runs the commands of
//! [`prediction_commands`] and passes their results.

use std::collections::BTreeMap;

use crate::{After, Group, Study, combinations};
use assay_host::facts::HostFacts;

use crate::plan::existing::ExistingGroup;
use crate::plan::trial::WorkloadPlan;
use crate::plan::workload::WorkloadPlanner;

/// What a generator predicts to use, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Its own memory, and its files as far as the page cache holds them if nothing limits it.
    pub memory: u64,
    /// The files that it creates.
    pub files: u64,
    /// Its own memory.
    pub own: u64,
}

/// What a plan is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Predictions {
    /// Predicted footprints by command line, or the reason why there is no number.
    footprints: BTreeMap<Vec<String>, Result<Footprint, String>>,
    /// Groups that exist by the names of the study, or the reason why there is none.
    pub existing: BTreeMap<String, Result<ExistingGroup, String>>,
}

impl Predictions {
    /// Adds the result of one of the commands of [`prediction_commands`].
    pub fn add(&mut self, command: Vec<String>, result: Result<Footprint, String>) {
        self.footprints.insert(command, result);
    }

    /// The memory that a planned workload needs for itself; 0 if nobody knows.
    pub(crate) fn own_memory(&self, workload: &WorkloadPlan) -> u64 {
        let predicted =
            workload.prediction_command().and_then(|command| self.footprints.get(&command));
        predicted.and_then(|one| one.as_ref().ok()).map_or(0, |one| one.own)
    }

    /// The bytes of the files that a planned workload creates; `None` if it cannot predict them, 0 if
    /// nobody asked it.
    pub(crate) fn files(&self, workload: &WorkloadPlan) -> Option<u64> {
        match self.footprints.get(&workload.prediction_command()?) {
            Some(predicted) => predicted.as_ref().ok().map(|one| one.files),
            None => Some(0),
        }
    }
}

/// The commands, program first, whose results the plan uses: those of all workloads that can predict, under
/// every combination of factors, each once.
#[must_use]
pub fn prediction_commands(study: &Study, facts: &HostFacts) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for factors in combinations(study) {
        let trial_study = study.for_trial(&factors);
        let planner = WorkloadPlanner { study: &trial_study, facts, factors: &factors };
        for group in &trial_study.groups {
            add_commands(&planner, group, &mut commands);
        }
    }
    commands.sort();
    commands.dedup();
    commands
}

fn add_commands(planner: &WorkloadPlanner<'_>, group: &Group, commands: &mut Vec<Vec<String>>) {
    for name in &group.run {
        let workload = planner.study.workloads.get(name);
        let prepares = workload.into_iter().flat_map(|one| &one.prepare).map(|name| (name, true));
        for (name, prepares) in std::iter::once((name, false)).chain(prepares) {
            let template = planner.template(name, prepares).ok();
            commands.extend(template.and_then(|one| one.prediction_command()));
        }
    }
    for inner in &group.groups {
        add_commands(planner, inner, commands);
    }
}

/// The command that predicts the footprint of a workload; `None` if it cannot predict.
fn command(planner: &WorkloadPlanner<'_>, workload: &str) -> Option<Vec<String>> {
    planner.template(workload, false).ok()?.prediction_command()
}

/// Bytes that a group and the groups inside it would use without limits.
pub(crate) fn group_footprint(
    planner: &WorkloadPlanner<'_>,
    group: &Group,
    predictions: &Predictions,
) -> Result<u64, String> {
    let mut sum = 0;
    for name in group.run.iter().filter(|name| !follows(planner.study, name)) {
        sum += chain_footprint(planner, group, name, predictions)?;
    }
    for inner in &group.groups {
        let count = inner.count.resolve(planner.factors).unwrap_or(1);
        sum += u64::from(count) * group_footprint(planner, inner, predictions)?;
    }
    if sum == 0 {
        return Err("no workload runs in it".to_owned());
    }
    Ok(sum)
}

/// Whether a workload starts when another one has ended, so that they do not run at the same time.
fn follows(study: &Study, name: &str) -> bool {
    let after = study.workloads.get(name).and_then(|workload| workload.after.as_ref());
    matches!(after, Some(After::Workload(_)))
}

/// The largest footprint of a workload and of those that follow it one after the other.
fn chain_footprint(
    planner: &WorkloadPlanner<'_>,
    group: &Group,
    name: &str,
    predictions: &Predictions,
) -> Result<u64, String> {
    let mut largest = workload_footprint(planner, name, predictions)?;
    let is_next = |other: &&String| {
        let workload = planner.study.workloads.get(*other);
        let after = workload.and_then(|workload| workload.after.as_ref());
        matches!(after, Some(After::Workload(before)) if before == name)
    };
    for next in group.run.iter().filter(is_next) {
        largest = largest.max(chain_footprint(planner, group, next, predictions)?);
    }
    Ok(largest)
}

fn workload_footprint(
    planner: &WorkloadPlanner<'_>,
    name: &str,
    predictions: &Predictions,
) -> Result<u64, String> {
    let command = command(planner, name).ok_or_else(|| {
        format!("`{name}` cannot predict its footprint: only the generators of `assay-load` can")
    })?;
    match predictions.footprints.get(&command) {
        Some(Ok(predicted)) => Ok(predicted.memory),
        Some(Err(why)) => Err(format!("the prediction of the footprint of `{name}` failed: {why}")),
        None => Err(format!("the footprint of `{name}` was not predicted")),
    }
}

/// The value of a knob in bytes, rounded to whole pages, and a note about its origin.
pub(crate) fn limit(part: f64, footprint: u64) -> (String, String) {
    const PAGE: u64 = 4096;
    let bytes = (part * footprint as f64) as u64 / PAGE * PAGE;
    let mebibytes = footprint as f64 / 1_048_576.0;
    let note = format!("{part} of the predicted footprint of {mebibytes:.1} MiB");
    (bytes.max(PAGE).to_string(), note)
}
