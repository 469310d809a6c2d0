//! Interface files: role, range, and checks of values.

pub(crate) mod build;

use serde::Serialize;

use crate::knob::file::{File, GroupScope};
use crate::knob::kernel_version::KernelVersion;
use crate::knob::range::ValueRange;

/// A version of the control-group interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// One hierarchy per controller, or several.
    V1,
    /// One hierarchy for all controllers.
    V2,
}

/// The versions of the interface that have a knob, under this name or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupportedVersions {
    /// Both; files of the other version have the same meaning.
    Both,
    /// Only v1.
    V1Only,
    /// Only v2.
    V2Only,
}

/// The role of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It keeps what is written: a study may set it.
    Setting,
    /// It reports counters or state.
    Reading,
    /// Writing it triggers an action; the value cannot be read back.
    Action,
}

/// The unit of a knob's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A weight relative to the siblings; no unit.
    Weight,
    /// Bytes.
    Bytes,
    /// Bytes or requests per second, per device.
    Rates,
    /// Microseconds of CPU time in a period of microseconds.
    CpuBandwidth,
    /// Processes and threads.
    Tasks,
    /// A list of CPUs or memory nodes.
    Ids,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Ticks of the user-space clock, 100 per second (USER_HZ).
    Ticks,
    /// Percent.
    Percent,
    /// A count.
    Count,
    /// Off and on.
    Switch,
    /// A word, a name or a rule.
    Word,
    /// Several values by name.
    Table,
}

/// The counterpart of a file on the other version of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counterpart {
    /// The file of the same name.
    SameName,
    /// Files that together have the same meaning.
    Files(&'static [&'static str]),
    /// No file; something else has the same effect.
    Means(&'static str),
    /// None, with the reason.
    Nothing(&'static str),
}

/// One interface file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// Its name in a group's directory. `<size>` is a placeholder for a huge page size such as
    /// `2MB`.
    pub name: &'static str,
    /// Its controller by v2 name (`io`, not `blkio`); `cgroup` for the files of every group.
    pub controller: &'static str,
    /// Its role.
    pub role: Role,
    /// The unit of its value.
    pub unit: Unit,
    /// The values it accepts; [`ValueRange::Text`] for a file that is only read.
    pub range: ValueRange,
    /// The file of this name on cgroup v2.
    pub v2: Option<File>,
    /// The file of this name on v1.
    pub v1: Option<File>,
    /// Its counterpart on the other version.
    pub counterpart: Counterpart,
    /// A one-line description.
    pub about: &'static str,
    /// Documents, and files of the kernel's source.
    pub source: &'static str,
}

impl Knob {
    /// Normalizes `value` for the kernel, or returns why it is invalid and what is valid.
    pub fn normal(&self, value: &str) -> Result<String, String> {
        self.range.normal(value).ok_or_else(|| {
            let unit =
                other_unit(value).map(|what| format!(", which is {what}")).unwrap_or_default();
            format!("`{}` takes {}, not `{}`{unit}", self.name, self.range, value.trim())
        })
    }

    /// Checks that `value` is valid.
    pub fn check(&self, value: &str) -> Result<(), String> {
        self.normal(value).map(|_| ())
    }

    /// The versions of the interface that have it.
    #[must_use]
    pub const fn supported_versions(&self) -> SupportedVersions {
        match (self.v2.is_some(), self.v1.is_some(), self.counterpart) {
            (true, true, _)
            | (true, false, Counterpart::Files(_))
            | (false, true, Counterpart::Means(_)) => SupportedVersions::Both,
            (true, false, _) => SupportedVersions::V2Only,
            (false, _, _) => SupportedVersions::V1Only,
        }
    }

    /// Whether a study may set it on its groups: a setting that is not only in the root.
    #[must_use]
    pub fn is_for_groups(&self) -> bool {
        self.role == Role::Setting && !self.is_root_only()
    }

    /// Whether only the root of a hierarchy has the file.
    #[must_use]
    pub fn is_root_only(&self) -> bool {
        [self.v1, self.v2].into_iter().flatten().all(|file| file.scope == GroupScope::RootOnly)
    }

    /// Whether it says how much a group may have or has of something, or makes it idle: what is divided or limited.
    #[must_use]
    pub fn is_amount(&self) -> bool {
        let is_word = matches!(self.unit, Unit::Switch | Unit::Word | Unit::Table | Unit::Count);
        self.role == Role::Setting && (!is_word || self.name == "cpu.idle")
    }

    /// The file of this name on a version of the interface.
    #[must_use]
    pub const fn file(&self, version: Version) -> Option<&File> {
        match version {
            Version::V1 => self.v1.as_ref(),
            Version::V2 => self.v2.as_ref(),
        }
    }

    /// What it reads in a new group; `None` if that depends on host or time.
    #[must_use]
    pub fn default(&self) -> Option<&'static str> {
        self.v2.or(self.v1).and_then(|file| file.default)
    }

    /// The first kernel that has the file under this name.
    #[must_use]
    pub fn since(&self) -> Option<KernelVersion> {
        self.v2.or(self.v1).map(|file| file.since)
    }

    /// Whether the name contains the placeholder for a huge page size.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.name.contains(SIZE)
    }

    /// The name with a huge page size filled in.
    #[must_use]
    pub fn name_for(&self, size: &str) -> String {
        self.name.replace(SIZE, size)
    }

    /// The huge page size in `name` if it matches this pattern: `2MB` in `hugetlb.2MB.max`.
    #[must_use]
    pub fn size_in<'n>(&self, name: &'n str) -> Option<&'n str> {
        let (before, after) = self.name.split_once(SIZE)?;
        let size = name.strip_prefix(before)?.strip_suffix(after)?;
        let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
        let is_size = digits.parse::<u32>().is_ok_and(|number| number > 0)
            && matches!(&size[digits.len()..], "KB" | "MB" | "GB");
        is_size.then_some(size)
    }
}

/// Placeholder in a name for a huge page size, spelt as in the kernel: `64KB`, `2MB`, `1GB`.
pub(crate) const SIZE: &str = "<size>";

/// The unit of an invalid value: usually it is that of another knob.
fn other_unit(value: &str) -> Option<&'static str> {
    let value = value.trim();
    if value.ends_with('%') {
        return Some("a percentage");
    }
    if value.parse::<f64>().is_ok() {
        return None;
    }
    if value.parse::<assay_sys::units::Bytes>().is_ok() {
        return Some("an amount of data");
    }
    assay_sys::units::parse_duration(value).is_ok().then_some("a duration")
}

#[cfg(test)]
mod tests;
