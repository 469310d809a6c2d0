//! Groups that exist: a plan is told where they are and what they have, and changes nothing of them.

use assay_host::knob::Translation;
use assay_record::run_folder::{KnobRecord, PromiseRecord};

use crate::plan::refusal::Refusal;
use crate::plan::trial::{GroupPlan, KnobPlan};

/// A group that exists, as it was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExistingGroup {
    /// Its path below the mount of each hierarchy.
    pub path: String,
    /// Its knobs that promises refer to.
    pub knobs: Vec<FoundKnob>,
}

/// A knob of a group that exists: where this host has it, and what its files hold.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundKnob {
    /// Its name in the study.
    pub name: String,
    /// Its files, with the values that they hold.
    pub files: Translation,
}

impl FoundKnob {
    /// The same in the form of a plan, in which nothing is written.
    pub(crate) fn planned(&self) -> KnobPlan {
        let Translation { file, written, also, obeyed_by, .. } = &self.files;
        KnobPlan {
            record: KnobRecord {
                knob: self.name.clone(),
                asked: written.clone(),
                file: file.clone(),
                written: written.clone(),
                note: Some("as it was found".to_owned()),
                obeyed_by: obeyed_by.clone(),
                also: also.iter().cloned().collect(),
            },
            translation: self.files.clone(),
        }
    }
}

/// Weights divide what a parent gets among its children: refuses shares of groups that are no siblings. The groups of a run are
/// in one of its own.
pub(crate) fn refuse_unrelated(
    promises: &[PromiseRecord],
    groups: &[GroupPlan],
    refusals: &mut Vec<Refusal>,
) {
    if !promises.iter().any(|promise| promise.is.kind().divides()) {
        return;
    }
    let parent = |group: &GroupPlan| {
        let path = group.existing.as_ref()?.trim_end_matches('/');
        Some(path.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned())
    };
    let mut measured = groups.iter().filter(|group| group.measured);
    let Some(first) = measured.next() else { return };
    let Some(other) = measured.find(|group| parent(group) != parent(first)) else { return };
    let of = |group: &GroupPlan| match parent(group) {
        Some(parent) => format!("`{}` is in {parent}/", group.name),
        None => format!("the run makes `{}`", group.name),
    };
    refusals.push(Refusal::new(
        format!("{}, and {}: weights divide among siblings only", of(first), of(other)),
        "name groups of the same parent, or give one of them `measured = false`",
    ));
}
