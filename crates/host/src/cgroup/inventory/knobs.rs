//! Knobs of a group with other values than in a new group.

use std::path::Path;

use crate::knob::{Unit, Version, is_of_new_group, settings};
use assay_sys::kernel::Root;
use serde::Serialize;

use super::hierarchy::Mounted;

/// A knob that someone has set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetKnob {
    /// The interface file.
    pub file: String,
    /// Its contents, including all lines.
    pub value: String,
}

impl Mounted {
    /// Reads every existing file of a group and returns those that differ from a new group.
    pub(super) fn differing(&self, root: &Root, group: &Path) -> Vec<SetKnob> {
        let version = if self.is_v2 { Version::V2 } else { Version::V1 };
        let has = |name: &str| self.controllers.iter().any(|one| one == name);
        let own =
            settings().iter().filter(|knob| has(knob.controller) && knob.file(version).is_some());
        own.filter_map(|knob| {
            let value = root.read_trimmed(group.join(knob.name)).ok()?;
            // v1 fills the files of a cpuset from the parent, or leaves them empty.
            let is_new = match knob.unit {
                Unit::Ids if !self.is_v2 => {
                    let above = root.read_trimmed(group.parent()?.join(knob.name));
                    value.is_empty() || above.is_ok_and(|above| above == value)
                }
                _ => is_of_new_group(knob.name, &value)?,
            };
            (!is_new).then(|| SetKnob { file: knob.name.to_owned(), value })
        })
        .collect()
    }
}
