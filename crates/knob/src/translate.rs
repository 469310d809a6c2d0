//! From the name in a study to the file on this host.

mod cpu;
mod io;
mod memory;

use assay_facts::{CgroupLayout, Hierarchy};
use serde::Serialize;

use crate::knob::{Home, Knob};
use crate::table::{find, suggest};

/// A version of the control-group interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// One hierarchy a controller.
    V1,
    /// One hierarchy for all.
    V2,
}

/// A file of the hierarchy's root that must be set for a knob to have any effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RootSetting {
    /// The file, `io.cost.qos`.
    pub file: String,
    /// What to write, where `{device}` stands for the disk's `MAJOR:MINOR`.
    pub value_template: String,
}

impl RootSetting {
    /// What takes the setting back: iocost is switched off, and its model is the kernel's own
    /// again (Documentation/admin-guide/cgroup-v2.rst, io.cost.model: `ctrl=auto`).
    #[must_use]
    pub fn inverse(&self, device: &str) -> String {
        let value = if self.file == "io.cost.model" { "ctrl=auto" } else { "enable=0" };
        format!("{device} {value}")
    }
}

/// A knob as this host knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Translation {
    /// The version of the hierarchy that holds the controller.
    pub version: Version,
    /// The controller by v2 name, as the facts of a host name it.
    pub controller: String,
    /// The interface file in the group's directory.
    pub file: String,
    /// What to write into it.
    pub written: String,
    /// Further files of the group with their values, to be written after `file`.
    pub also: Vec<(String, String)>,
    /// What a reader should know of the translation, if anything.
    pub note: Option<String>,
    /// For a knob that only one scheduler or controller obeys: `bfq`, `iocost` or `cfq`.
    pub obeyed_by: Option<String>,
    /// What must be set at the root of the hierarchy.
    pub root_settings: Vec<RootSetting>,
}

/// Why a knob cannot be set on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Untranslatable {
    /// The reason, as a sentence fragment.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

/// The queue of the disk that a group uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskQueue {
    /// The scheduler that is active while the study runs.
    pub scheduler: String,
    /// Requests per second that it completes, where that is known beforehand.
    pub iops: Option<u32>,
}

impl Translation {
    fn new(version: Version, knob: &Knob, file: &str, written: impl Into<String>) -> Self {
        Self {
            version,
            controller: knob.controller.to_owned(),
            file: file.to_owned(),
            written: written.into(),
            also: vec![],
            note: None,
            obeyed_by: None,
            root_settings: vec![],
        }
    }

    fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    fn obeyed_by(self, scheduler: &str) -> Self {
        Self { obeyed_by: Some(scheduler.to_owned()), ..self }
    }
}

impl Untranslatable {
    fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { reason: reason.into(), remedy: remedy.into() }
    }
}

impl std::fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.reason, self.remedy)
    }
}

impl std::error::Error for Untranslatable {}

/// The file and the text that set `knob` to `value` on a host of this layout, for groups whose
/// workloads use `disk`.
pub fn translate(
    knob: &str,
    value: &str,
    layout: &CgroupLayout,
    disk: Option<&DiskQueue>,
) -> Result<Translation, Untranslatable> {
    let knob = known(knob)?;
    knob.check(value).map_err(|reason| {
        Untranslatable::new(reason, format!("write {} in the study file", knob.range))
    })?;
    let version = home_of(knob, layout)?;
    let value = value.trim();
    match knob.name {
        "io.weight" => io::weight(knob, value, version, disk),
        "io.bfq.weight" | "blkio.bfq.weight" => io::bfq_weight(knob, value, version, disk),
        "blkio.weight" => io::cfq_weight(knob, value, disk),
        "cpu.weight" => Ok(cpu::weight(knob, value, version)),
        "cpu.max" => cpu::max(knob, value, version),
        "memory.max" | "memory.high" => memory::limit(knob, value, version),
        _ => Ok(Translation::new(version, knob, knob.name, value)),
    }
}

fn known(name: &str) -> Result<&'static Knob, Untranslatable> {
    find(name).ok_or_else(|| {
        let remedy = suggest(name).map_or_else(
            || "see `docs/study-file.md` for the knobs there are".to_owned(),
            |meant| format!("did you mean `{meant}`?"),
        );
        Untranslatable::new(format!("`{name}` is no knob that is known"), remedy)
    })
}

/// The version of the hierarchy that holds the knob's controller on this host.
fn home_of(knob: &Knob, layout: &CgroupLayout) -> Result<Version, Untranslatable> {
    let controller = knob.controller;
    let version = match layout.controllers.get(controller).map(|found| &found.hierarchy) {
        Some(Hierarchy::V1(_)) => Version::V1,
        Some(Hierarchy::V2(_)) => Version::V2,
        Some(Hierarchy::Absent(why)) => return Err(absent(controller, why)),
        None => return Err(absent(controller, "this kernel does not list it")),
    };
    match (knob.home, version) {
        (Home::V1Only, Version::V2) => Err(Untranslatable::new(
            format!("`{}` exists on cgroup v1 only, and `{controller}` is on v2 here", knob.name),
            format!("write `{}`, which works on both", counterpart(knob.name)),
        )),
        (Home::V2Only, Version::V1) => Err(Untranslatable::new(
            format!("`{}` exists on cgroup v2 only, and `{controller}` is on v1 here", knob.name),
            "boot with `systemd.unified_cgroup_hierarchy=1`, or leave the knob out",
        )),
        _ => Ok(version),
    }
}

fn absent(controller: &str, why: &str) -> Untranslatable {
    Untranslatable::new(
        format!("the controller `{controller}` is not available: {why}"),
        "enable the controller at boot or run on a host that has it",
    )
}

/// The v2 name of what a v1-only knob does.
fn counterpart(v1_name: &str) -> &'static str {
    match v1_name {
        "cpu.shares" => "cpu.weight",
        "blkio.bfq.weight" => "io.bfq.weight",
        _ => "io.weight",
    }
}

#[cfg(test)]
mod tests;
