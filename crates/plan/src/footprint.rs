//! Limits as parts of what workloads are predicted to need.
//!
//! A generator knows before it runs how much memory it will touch and how large its files will be.
//! Asking it means to start it, which a plan never does: whoever plans a study asks with the
//! commands of [`to_predict`] and hands the answers in.

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use assay_study::{After, Group, Study, combinations, footprint_part};

use crate::workload::WorkloadPlanner;

/// What generators said of themselves: bytes by command line, or why there is no number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Predictions(BTreeMap<Vec<String>, Result<u64, String>>);

impl Predictions {
    /// Notes the answer to one of the commands of [`to_predict`].
    pub fn add(&mut self, command: Vec<String>, found: Result<u64, String>) {
        self.0.insert(command, found);
    }
}

/// The commands, program first, whose answers the plan needs: those of the workloads of groups that
/// a knob limits to a part of their footprint, under every combination of factors, each once.
#[must_use]
pub fn to_predict(study: &Study, facts: &HostFacts) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for factors in combinations(study) {
        let under = study.under(&factors);
        let kitchen = WorkloadPlanner { study: &under, facts, factors: &factors };
        for group in &under.groups {
            wanted(&kitchen, group, false, &mut commands);
        }
    }
    commands.sort();
    commands.dedup();
    commands
}

fn wanted(
    kitchen: &WorkloadPlanner<'_>,
    group: &Group,
    around: bool,
    found: &mut Vec<Vec<String>>,
) {
    let limits = group.knobs.iter().flat_map(|(_, values)| values).any(|value| {
        let value = value.resolve(kitchen.factors).map(|value| value.to_string());
        value.is_ok_and(|value| footprint_part(&value).is_some())
    });
    if limits || around {
        found.extend(group.run.iter().filter_map(|name| command(kitchen, name)));
    }
    for inner in &group.groups {
        wanted(kitchen, inner, limits || around, found);
    }
}

/// How a workload is asked; `None` for one that cannot be.
fn command(kitchen: &WorkloadPlanner<'_>, workload: &str) -> Option<Vec<String>> {
    kitchen.recipe(workload, false).ok()?.question()
}

/// Bytes that a group and the groups inside it would take if nobody limited them.
pub(crate) fn of_group(
    kitchen: &WorkloadPlanner<'_>,
    group: &Group,
    predictions: &Predictions,
) -> Result<u64, String> {
    let mut sum = 0;
    for name in group.run.iter().filter(|name| !follows(kitchen.study, name)) {
        sum += of_chain(kitchen, group, name, predictions)?;
    }
    for inner in &group.groups {
        let count = inner.count.resolve(kitchen.factors).unwrap_or(1);
        sum += u64::from(count) * of_group(kitchen, inner, predictions)?;
    }
    if sum == 0 {
        return Err("nothing runs in it".to_owned());
    }
    Ok(sum)
}

/// Whether a workload starts when another has ended, and so takes the place of that one.
fn follows(study: &Study, name: &str) -> bool {
    let after = study.workloads.get(name).and_then(|workload| workload.after.as_ref());
    matches!(after, Some(After::Workload(_)))
}

/// The largest of a workload and those that follow it one after the other.
fn of_chain(
    kitchen: &WorkloadPlanner<'_>,
    group: &Group,
    name: &str,
    predictions: &Predictions,
) -> Result<u64, String> {
    let mut most = of_workload(kitchen, name, predictions)?;
    let behind = |other: &&String| {
        let workload = kitchen.study.workloads.get(*other);
        let after = workload.and_then(|workload| workload.after.as_ref());
        matches!(after, Some(After::Workload(before)) if before == name)
    };
    for next in group.run.iter().filter(behind) {
        most = most.max(of_chain(kitchen, group, next, predictions)?);
    }
    Ok(most)
}

fn of_workload(
    kitchen: &WorkloadPlanner<'_>,
    name: &str,
    predictions: &Predictions,
) -> Result<u64, String> {
    let command = command(kitchen, name).ok_or_else(|| {
        format!("`{name}` predicts no footprint: only the generators of `assay-load` do")
    })?;
    match predictions.0.get(&command) {
        Some(Ok(bytes)) => Ok(*bytes),
        Some(Err(why)) => Err(format!("`{name}` could not be asked for its footprint: {why}")),
        None => Err(format!("`{name}` was not asked for its footprint")),
    }
}

/// The value of a knob in bytes, whole pages, and a note that tells where it came from.
pub(crate) fn limit(part: f64, footprint: u64) -> (String, String) {
    const PAGE: u64 = 4096;
    let bytes = (part * footprint as f64) as u64 / PAGE * PAGE;
    let mebibytes = footprint as f64 / 1_048_576.0;
    let note = format!("{part} of the predicted footprint of {mebibytes:.1} MiB");
    (bytes.max(PAGE).to_string(), note)
}
