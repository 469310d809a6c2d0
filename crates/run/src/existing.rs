//! The groups of a study that exist: found by their names, and what they have read. Nothing of them is changed.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use assay_blame::collect::{BlameTarget, group_of};
use assay_host::cgroup::inventory::{Mounted, hierarchies};
use assay_host::facts::{CgroupLayout, HostFacts};
use assay_host::knob::{Translation, translate};
use assay_study::plan::{ExistingGroup, FoundKnob};
use assay_study::{Bound, Existing, Relation, Study};
use assay_sys::kernel::Root;

/// Values of which every knob with a number takes one: its files follow from it.
const SOME_VALUES: [&str; 3] = ["100", "max", "0"];

/// Every group of a study that exists, by its name there, or why there is none.
pub(crate) fn look_up(
    root: &Root,
    study: &Study,
    facts: &HostFacts,
) -> BTreeMap<String, Result<ExistingGroup, String>> {
    let named = study.groups.iter().filter_map(|group| Some((group, group.existing.as_ref()?)));
    named.map(|(group, name)| (group.name.clone(), find(root, study, facts, name))).collect()
}

fn find(
    root: &Root,
    study: &Study,
    facts: &HostFacts,
    name: &Existing,
) -> Result<ExistingGroup, String> {
    let target = match name.clone() {
        Existing::Group(path) => BlameTarget::Group(path),
        Existing::Unit(unit) => BlameTarget::Unit(unit),
        Existing::Container(container) => BlameTarget::Container(container),
        Existing::Pod(pod) => BlameTarget::Pod(pod),
    };
    let path = group_of(root, &target).map_err(|error| error.to_string())?;
    let path = format!("/{}", path.trim_matches('/'));
    let leaves = Path::new(&path).components().any(|part| part == Component::ParentDir);
    let is_there = |mounted: &Mounted| root.exists(mounted.mount.join(&path[1..]));
    if path.len() < 2 || leaves || !hierarchies(root).iter().any(is_there) {
        return Err(format!("no group has the path {path}"));
    }
    let promised = study.promises.iter().filter_map(|promise| match &promise.is {
        Relation::InTrial { to: Some(Bound::Knob(knob)), .. } => Some(knob),
        _ => None,
    });
    let mut knobs: Vec<FoundKnob> = Vec::new();
    for name in promised {
        if knobs.iter().all(|knob| knob.name != *name) {
            let files = found(root, &facts.cgroup, &path, name)?;
            knobs.push(FoundKnob { name: name.clone(), files });
        }
    }
    Ok(ExistingGroup { path, knobs })
}

/// The files of a knob on this host, with what they hold for a group.
fn found(
    root: &Root,
    layout: &CgroupLayout,
    path: &str,
    knob: &str,
) -> Result<Translation, String> {
    let tried = SOME_VALUES.map(|value| translate(knob, value, layout, None));
    let files = match tried.iter().find(|one| one.is_ok()).unwrap_or(&tried[0]) {
        Ok(files) => files.clone(),
        Err(why) => return Err(format!("`{knob}` of a group that exists: {why}")),
    };
    let (hierarchies, _) = layout.hierarchies_with([files.controller.as_str()]);
    let mount = hierarchies.first().map(|hierarchy| hierarchy.mount.clone()).unwrap_or_default();
    let read = |file: &str| {
        let file = mount.join(&path[1..]).join(file);
        root.read_trimmed(&file).map_err(|error| error.to_string())
    };
    let also = files.also.iter().map(|(file, _)| Ok((file.clone(), read(file)?)));
    let also = also.collect::<Result<_, String>>()?;
    Ok(Translation { written: read(&files.file)?, also, root_settings: Vec::new(), ..files })
}
