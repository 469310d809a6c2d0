//! Groups and their knobs: made, set, read back.

use assay_cgroup::Tree;
use assay_facts::Available;
use assay_host::scratch::ScratchDisk;
use assay_kernel::Error;
use assay_plan::{GroupPlan, KnobPlan, Trial};
use assay_record::Reading;

use crate::run::Context;
use crate::targets::count_io;

/// Makes every group of the trial and sets its knobs.
pub(crate) fn set_up(
    context: &mut Context,
    trial: &Trial,
    disks: &[ScratchDisk],
) -> Result<Tree, Error> {
    let top = format!("assay-{}", context.request.run_id);
    let tree = Tree::create(&context.root, &mut context.ledger, &trial.homes, &top)?;
    count_io(&tree, trial, disks);
    for group in &trial.groups {
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
        let device = format!("{}:{}", disk.major, disk.minor);
        let value = setting.value_template.replace("{device}", &device);
        let path = mount.join(&setting.file);
        if !context.ledger.has_written(&path, &value) {
            let inverse = setting.inverse(&device);
            context.ledger.write_with_inverse(&context.root, &path, &value, &inverse)?;
        }
    }
    tree.write(&group.name, controller, &translation.file, &translation.written)?;
    for (file, value) in &translation.also {
        tree.write(&group.name, controller, file, value)?;
    }
    Ok(())
}

/// Reads every knob of the trial back.
pub(crate) fn read(tree: &Tree, trial: &Trial) -> Vec<Available<String>> {
    knobs(trial)
        .map(|(group, knob)| {
            let translation = &knob.translation;
            match tree.read(&group.name, &translation.controller, &translation.file) {
                Ok(text) => Available::Value(text),
                Err(error) => Available::NotAvailable(error.to_string()),
            }
        })
        .collect()
}

/// The readings at the start and at the end, side by side.
pub(crate) fn readings(
    trial: &Trial,
    at_start: Vec<Available<String>>,
    at_end: Vec<Available<String>>,
) -> Vec<Reading> {
    knobs(trial)
        .zip(at_start.into_iter().zip(at_end))
        .map(|((group, knob), (at_start, at_end))| Reading {
            group: group.name.clone(),
            knob: knob.record.knob.clone(),
            file: knob.record.file.clone(),
            at_start,
            at_end,
        })
        .collect()
}

fn knobs(trial: &Trial) -> impl Iterator<Item = (&GroupPlan, &KnobPlan)> {
    trial.groups.iter().flat_map(|group| group.knobs.iter().map(move |knob| (group, knob)))
}
