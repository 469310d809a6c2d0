//! Groups and their knobs: created, set and read back.

use std::collections::BTreeMap;
use std::path::Path;

use assay_host::cgroup::Tree;
use assay_host::facts::Available;
use assay_host::scratch::ScratchDisk;
use assay_record::run_folder::{Drift, Reading, TimedReading};
use assay_study::plan::{GroupPlan, KnobPlan, Trial};
use assay_sys::kernel::Error;
use assay_sys::kernel::clock::monotonic_ns;

use crate::runner::context::Context;
use crate::runner::targets::count_io;

/// Creates every group of the trial and sets its knobs.
pub(crate) fn set_up(
    context: &mut Context,
    trial: &Trial,
    disks: &[ScratchDisk],
) -> Result<Tree, Error> {
    let top = format!("assay-{}", context.request.run_id);
    let mut tree = match trial.makes_groups() {
        true => Tree::create(&context.root, &mut context.ledger, &trial.hierarchies, &top)?,
        false => Tree::without_groups(&context.root, &trial.hierarchies, &top),
    };
    if trial.groups.iter().any(|group| group.outside) {
        tree.make_outside(&mut context.ledger)?;
    }
    count_io(&tree, trial, disks);
    for group in &trial.groups {
        if let Some(path) = &group.existing {
            tree.adopt(&group.name, path);
            continue;
        }
        tree.make(&group.name, group.is_inner)?;
        for knob in &group.knobs {
            set(context, &tree, group, knob, disks)?;
        }
    }
    Ok(tree)
}

fn set(
    context: &mut Context,
    tree: &Tree,
    group: &GroupPlan,
    knob: &KnobPlan,
    disks: &[ScratchDisk],
) -> Result<(), Error> {
    let translation = &knob.translation;
    let controller = &translation.controller;
    for setting in &translation.root_settings {
        let Some((disk, mount)) = group.disk.map(|index| &disks[index]).zip(tree.mount(controller))
        else {
            continue;
        };
        let device = numbers(disk);
        let value = setting.value_template.replace("{device}", &device);
        let path = mount.join(&setting.file);
        if !context.ledger.has_written(&path, &value) {
            let inverse = setting.inverse(&device);
            context.ledger.write_with_inverse(&context.root, &path, &value, &inverse)?;
        }
    }
    if !translation.device_rules.is_empty() {
        let hint = "this needs an eBPF device program, which runs of studies do not attach";
        return Err(Error::unexpected("set", Path::new(&translation.file), hint));
    }
    let device = group.disk.map(|index| &disks[index]).map(numbers).unwrap_or_default();
    for (file, value) in translation.writes(&device) {
        tree.write(&group.name, controller, &file, &value)?;
    }
    Ok(())
}

/// The disk's numbers as used in interface files.
fn numbers(disk: &ScratchDisk) -> String {
    format!("{}:{}", disk.major, disk.minor)
}

/// The values of one knob: of its own file and of further files.
#[derive(Clone)]
pub(crate) struct KnobValue {
    pub(crate) value: Available<String>,
    pub(crate) also: BTreeMap<String, Available<String>>,
}

/// Reads every knob of the trial back.
pub(crate) fn read(tree: &Tree, trial: &Trial) -> Vec<KnobValue> {
    knobs(trial)
        .map(|(group, knob)| {
            let translation = &knob.translation;
            let read = |file: &str| match tree.read(&group.name, &translation.controller, file) {
                Ok(text) => Available::Value(text),
                Err(error) => Available::NotAvailable(error.to_string()),
            };
            let also = translation.also.iter().map(|(file, _)| (file.clone(), read(file)));
            KnobValue { value: read(&translation.file), also: also.collect() }
        })
        .collect()
}

/// The CPUs that each group may use, if the run uses the controller `cpuset`. v1 has had the effective list
/// since 3.17, under another name than v2.
pub(crate) fn cpus(tree: &Tree, trial: &Trial) -> BTreeMap<String, Available<String>> {
    let files = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"];
    let groups = trial.groups.iter().map(|group| group.name.as_str());
    let served = groups.filter(|group| tree.directory(group, "cpuset").is_some());
    served
        .map(|group| {
            let own = files.iter().find_map(|file| tree.read(group, "cpuset", file).ok());
            let cpus = match own.or_else(|| tree.read_around(group, "cpuset", files[0])) {
                Some(text) => Available::Value(text),
                None => {
                    Available::NotAvailable("none of the files of cpuset can be read".to_owned())
                }
            };
            (group.to_owned(), cpus)
        })
        .collect()
}

/// Combines the readings at the start and at the end.
pub(crate) fn readings(
    trial: &Trial,
    at_start: Vec<KnobValue>,
    at_end: Vec<KnobValue>,
) -> Vec<Reading> {
    knobs(trial)
        .zip(at_start.into_iter().zip(at_end))
        .map(|((group, knob), (at_start, at_end))| Reading {
            group: group.name.clone(),
            knob: knob.record.knob.clone(),
            file: knob.record.file.clone(),
            at_start: at_start.value,
            at_end: at_end.value,
            drift: changed(&at_start.also, at_end.also),
            also: at_start.also,
        })
        .collect()
}

/// Further files of a knob whose value at the end differs.
fn changed(
    at_start: &BTreeMap<String, Available<String>>,
    at_end: BTreeMap<String, Available<String>>,
) -> BTreeMap<String, Drift> {
    let differs = at_end.into_iter().filter(|(file, value)| at_start.get(file) != Some(value));
    differs
        .map(|(file, value)| {
            let reading = TimedReading { time_ns: monotonic_ns(), value };
            (file, Drift { first: reading.clone(), last: reading, readings: 1 })
        })
        .collect()
}

/// Every knob of a trial with its group, in the order of the readings.
pub(crate) fn knobs(trial: &Trial) -> impl Iterator<Item = (&GroupPlan, &KnobPlan)> {
    trial.groups.iter().flat_map(|group| group.knobs.iter().map(move |knob| (group, knob)))
}

#[cfg(test)]
mod tests;
