//! Translation of knobs from a study to the files of a host.

mod cpu;
mod devices;
mod hierarchy;
mod io;
mod memory;
mod throttle;

use crate::facts::CgroupLayout;
use serde::Serialize;

use crate::knob::device::PLACEHOLDER;
use crate::knob::device_rule::DeviceRule;
pub use crate::knob::entry::Version;
use crate::knob::entry::{Counterpart, Knob, SIZE};
use crate::knob::kernel_version::KernelVersion;
use crate::knob::range::ValueRange;
use crate::knob::table::{find, suggest};

/// A file in the hierarchy's root that must be set for a knob to have an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RootSetting {
    /// The file, `io.cost.qos`.
    pub file: String,
    /// The value to write, with `{device}` for the disk's `MAJOR:MINOR`.
    pub value_template: String,
}

impl RootSetting {
    /// The value that restores the setting: it disables iocost, or returns to the kernel's own
    /// model (Documentation/admin-guide/cgroup-v2.rst, io.cost.model: `ctrl=auto`).
    #[must_use]
    pub fn inverse(&self, device: &str) -> String {
        let value = if self.file == "io.cost.model" { "ctrl=auto" } else { "enable=0" };
        format!("{device} {value}")
    }
}

/// A knob translated for a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Translation {
    /// The version of the hierarchy with the controller.
    pub version: Version,
    /// The controller by v2 name, as in the facts of a host; [`CORE`] for the files of every group
    /// on v2.
    pub controller: String,
    /// The interface file in the group's directory.
    pub file: String,
    /// The value to write. [`PLACEHOLDER`] stands for the `MAJOR:MINOR` of the group's disk.
    pub written: String,
    /// Further files of the group with their values, written after `file`.
    pub also: Vec<(String, String)>,
    /// A note about the translation for readers, if any.
    pub note: Option<String>,
    /// The only scheduler or controller that implements the knob, if there is one: `bfq` or `iocost`.
    pub obeyed_by: Option<String>,
    /// Settings at the root of the hierarchy.
    pub root_settings: Vec<RootSetting>,
    /// Rules for an eBPF device program, in order. If there are any, nothing is written to `file`,
    /// which cgroup v2 does not have: the program must be attached to the group.
    pub device_rules: Vec<DeviceDecision>,
    /// Knobs of a group are written in ascending order of rank; equal ranks keep the given order.
    pub rank: u8,
}

/// One rule for a device program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeviceDecision {
    /// Whether the rule allows or denies.
    pub allow: bool,
    /// The devices and accesses.
    pub rule: DeviceRule,
}

pub use crate::facts::CORE;

/// The reason why a knob cannot be set on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Untranslatable {
    /// The reason, as a sentence fragment.
    pub reason: String,
    /// How to remedy it.
    pub remedy: String,
}

/// The queue of a group's disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskQueue {
    /// The scheduler that is active during the study.
    pub scheduler: String,
    /// Requests per second that it completes, if known in advance.
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
            device_rules: vec![],
            rank: rank(file),
        }
    }

    fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    fn obeyed_by(self, scheduler: &str) -> Self {
        Self { obeyed_by: Some(scheduler.to_owned()), ..self }
    }

    /// Whether a value contains the placeholder for the group's disk.
    #[must_use]
    pub fn needs_device(&self) -> bool {
        self.written.contains(PLACEHOLDER)
            || self.also.iter().any(|(_, value)| value.contains(PLACEHOLDER))
    }

    /// The files of the group with their values, in the order of writing, for a group whose disk
    /// has these numbers (`8:0`).
    #[must_use]
    pub fn writes(&self, device: &str) -> Vec<(String, String)> {
        let first = std::iter::once((&self.file, &self.written));
        first
            .chain(self.also.iter().map(|(file, value)| (file, value)))
            .filter(|_| self.device_rules.is_empty())
            .map(|(file, value)| (file.clone(), value.replace(PLACEHOLDER, device)))
            .collect()
    }

    /// The reason why a kernel of this release lacks a file to be written, or `None` if it has all.
    #[must_use]
    pub fn why_not_in(&self, release: &str) -> Option<Untranslatable> {
        let kernel = KernelVersion::parse(release)?;
        let files = std::iter::once(&self.file).chain(self.also.iter().map(|(file, _)| file));
        let lacking = files.filter_map(|name| Some((name, find(name)?.file(self.version)?)));
        let why = lacking
            .filter_map(|(name, file)| Some(format!("`{name}` is {}", file.why_not_in(kernel)?)))
            .next()?;
        Some(Untranslatable::new(why, "remove the knob, or run on a kernel that has it"))
    }
}

/// The order of writing: a sum cannot be set below its part, a burst not above its quota, and a
/// partition needs CPUs; a group is frozen last.
fn rank(file: &str) -> u8 {
    match file {
        "memory.memsw.limit_in_bytes"
        | "cpu.max.burst"
        | "cpu.cfs_burst_us"
        | "cpuset.cpus.partition"
        | "cpuset.cpu_exclusive" => 1,
        "cgroup.freeze" | "freezer.state" => 2,
        _ => 0,
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

/// Translates `knob = value` for a host with this layout and for groups whose workloads use `disk`.
pub fn translate(
    knob: &str,
    value: &str,
    layout: &CgroupLayout,
    disk: Option<&DiskQueue>,
) -> Result<Translation, Untranslatable> {
    let name = knob;
    let knob = find_knob(name)?;
    let normal = knob
        .normal(value)
        .map_err(|reason| Untranslatable::new(reason, format!("write {}", knob.range)))?;
    let (version, controller) = hierarchy::find(knob, layout)?;
    let value = normal.as_str();
    let mut translation = match knob.name {
        "io.weight" => io::weight(knob, value, version, disk),
        "io.bfq.weight" | "blkio.bfq.weight" => io::bfq_weight(knob, value, version, disk),
        "io.max" if version == Version::V1 => throttle::limits(knob, value),
        "cpu.weight" => Ok(cpu::weight(knob, value, version)),
        "cpu.weight.nice" => Ok(cpu::nice(knob, value, version)),
        "cpu.max" => cpu::max(knob, value, version),
        "cgroup.freeze" if version == Version::V1 => Ok(freezer(knob, value)),
        "devices.allow" | "devices.deny" => devices::rules(knob, value, version),
        _ => Ok(renamed(knob, name, value, version)),
    }?;
    translation.controller = controller;
    if translation.needs_device() && disk.is_none() {
        return Err(Untranslatable::new(
            format!("`{name} = {value}` is for one disk, but these groups use none"),
            "begin the value with the `MAJ:MIN` of a disk, or give the groups a disk",
        ));
    }
    Ok(translation)
}

/// Translates a knob whose value is the same on both versions, using the name on this version. Only
/// `max` is spelt differently on v1, and the kernel rounds amounts of memory.
fn renamed(knob: &Knob, name: &str, value: &str, version: Version) -> Translation {
    let size = knob.size_in(name).unwrap_or_default();
    let file = match (knob.file(version), knob.counterpart) {
        (None, Counterpart::Files(&[file])) => file.replace(SIZE, size),
        _ => name.to_owned(),
    };
    let keeps_bytes = matches!(knob.range, ValueRange::BytesOrMax | ValueRange::BytesOrMinusOne);
    if keeps_bytes {
        return memory::amount(knob, &file, value, version);
    }
    Translation::new(version, knob, &file, value)
}

/// Translates for v1's freezer, which takes words.
fn freezer(knob: &Knob, value: &str) -> Translation {
    let word = if value == "1" { "FROZEN" } else { "THAWED" };
    Translation::new(Version::V1, knob, "freezer.state", word)
}

fn find_knob(name: &str) -> Result<&'static Knob, Untranslatable> {
    find(name).ok_or_else(|| {
        let remedy = suggest(name).map_or_else(
            || "see docs/reference/knobs.md for all knobs".to_owned(),
            |meant| format!("did you mean `{meant}`?"),
        );
        Untranslatable::new(format!("unknown knob `{name}`"), remedy)
    })
}

#[cfg(test)]
mod tests;
