//! Knobs of a group with other values than in a new group.

use std::path::Path;

use assay_facts::CgroupLayout;
use assay_kernel::Root;
use assay_knob::{DiskQueue, Knob, Role, ValueRange, matches_default, translate};
use serde::Serialize;

use super::hierarchy::Mounted;

/// A file that accepts only 0 is a resettable counter, such as `cpuacct.usage`: it differs in every
/// group that was used, without being a setting.
const COUNTER: ValueRange = ValueRange::Integer { low: 0, high: 0 };

/// A knob that someone has set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetKnob {
    /// The interface file.
    pub file: String,
    /// Its contents, including all lines.
    pub value: String,
}

/// The interface files of one hierarchy with their contents in a new group.
pub(super) struct Defaults {
    files: Vec<(String, String)>,
    /// cpuset files, which cgroup v1 fills from the parent or leaves empty.
    inherited: Vec<&'static str>,
    is_v2: bool,
}

impl Defaults {
    pub(super) fn new(hierarchy: &Mounted, layout: &CgroupLayout) -> Self {
        let has = |name: &str| hierarchy.controllers.iter().any(|one| one == name);
        let mut files: Vec<(String, String)> = Vec::new();
        // The default of an I/O weight is listed under the name of each scheduler that has one.
        let is_set = |knob: &&Knob| has(knob.controller) && knob.range != COUNTER;
        for knob in assay_knob::all().iter().filter(is_set) {
            let disk = Some(DiskQueue { scheduler: "bfq".to_owned(), iops: None })
                .filter(|_| knob.name.contains("bfq"));
            let Some(Ok(translation)) = knob
                .default()
                .filter(|_| knob.role == Role::Setting)
                .map(|default| translate(knob.name, default, layout, disk.as_ref()))
            else {
                continue;
            };
            for file in
                std::iter::once((translation.file, translation.written)).chain(translation.also)
            {
                if !files.iter().any(|(known, _)| *known == file.0) {
                    files.push(file);
                }
            }
        }
        let inherited = if has("cpuset") { vec!["cpuset.cpus", "cpuset.mems"] } else { vec![] };
        Self { files, inherited, is_v2: hierarchy.is_v2 }
    }

    /// Reads every existing file of a group and returns those that differ from the default.
    pub(super) fn differing(&self, root: &Root, group: &Path) -> Vec<SetKnob> {
        let set = self.files.iter().filter_map(|(file, default)| {
            let value = root.read_trimmed(group.join(file)).ok()?;
            (!matches_default(file, default, &value)).then(|| SetKnob { file: file.clone(), value })
        });
        set.chain(self.inherited.iter().filter_map(|file| self.restricted(root, group, file)))
            .collect()
    }

    /// A set that differs from its parent's; on cgroup2 one that is not empty.
    fn restricted(&self, root: &Root, group: &Path, file: &str) -> Option<SetKnob> {
        let value = root.read_trimmed(group.join(file)).ok()?;
        let above = if self.is_v2 {
            String::new()
        } else {
            root.read_trimmed(group.parent()?.join(file)).unwrap_or_default()
        };
        (!value.is_empty() && value != above).then(|| SetKnob { file: file.to_owned(), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resettable_counters_are_not_settings() {
        for name in ["cpuacct.usage", "memory.max_usage_in_bytes", "memory.failcnt"] {
            let knob = assay_knob::find(name).unwrap();
            assert_eq!((knob.role, &knob.range), (Role::Setting, &COUNTER), "{name}");
        }
    }
}
