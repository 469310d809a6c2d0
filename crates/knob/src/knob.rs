//! One interface file: what it is for, its range, and whether a value fits.

pub(crate) mod build;

use serde::Serialize;

use crate::condition::Condition;
use crate::file::{File, Place};
use crate::kernel_version::KernelVersion;
use crate::range::ValueRange;
use crate::translate::Version;

/// The hierarchies that know a knob, under this name or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// Named as on cgroup v2, or the same on both; v1 has files of the same meaning.
    Both,
    /// Only on v1, under this name.
    V1Only,
    /// Only on v2.
    V2Only,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It keeps what is written: a study may set it.
    Setting,
    /// It tells what the kernel did, or what holds.
    Reading,
    /// Something happens when it is written; nothing is kept that could be read back as written.
    Action,
}

/// What the number in a knob counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A share relative to the siblings; no unit.
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
    /// Ticks of the clock that user space sees, 100 in a second (USER_HZ).
    Ticks,
    /// Hundredths.
    Percent,
    /// How often, or how many.
    Count,
    /// Off and on.
    Switch,
    /// A word, a name or a rule.
    Word,
    /// Several values by name.
    Table,
}

/// What there is on the other version of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counterpart {
    /// The file of the same name.
    SameName,
    /// These files mean the same, alone or together.
    Files(&'static [&'static str]),
    /// No file: other means do it.
    Means(&'static str),
    /// Nothing, because.
    Nothing(&'static str),
}

/// One interface file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// Its name in a group's directory. `<size>` stands for a huge page size as in `2MB`.
    pub name: &'static str,
    /// Its controller by v2 name (`io`, not `blkio`); `cgroup` for the files of every group.
    pub controller: &'static str,
    /// What it is for.
    pub role: Role,
    /// What its number counts.
    pub unit: Unit,
    /// The values it takes; [`ValueRange::Text`] for a file that is only read.
    pub range: ValueRange,
    /// The file of this name on cgroup v2.
    pub v2: Option<File>,
    /// The file of this name on v1.
    pub v1: Option<File>,
    /// What there is on the other version.
    pub counterpart: Counterpart,
    /// What else must hold.
    pub conditions: &'static [Condition],
    /// One line about it.
    pub about: &'static str,
}

impl Knob {
    /// `value` as it is written for the kernel, or why it does not fit and what fits instead.
    pub fn normal(&self, value: &str) -> Result<String, String> {
        self.range.normal(value).ok_or_else(|| {
            let unit = misread(value).map(|what| format!(", which is {what}")).unwrap_or_default();
            format!("`{}` takes {}, not `{}`{unit}", self.name, self.range, value.trim())
        })
    }

    /// Whether `value` fits, or why not and what to write instead.
    pub fn check(&self, value: &str) -> Result<(), String> {
        self.normal(value).map(|_| ())
    }

    /// The hierarchies that know it.
    #[must_use]
    pub const fn home(&self) -> Home {
        match (self.v2.is_some(), self.v1.is_some(), self.counterpart) {
            (true, true, _)
            | (true, false, Counterpart::Files(_))
            | (false, true, Counterpart::Means(_)) => Home::Both,
            (true, false, _) => Home::V2Only,
            (false, _, _) => Home::V1Only,
        }
    }

    /// Whether a study may set it on its groups: a setting that groups besides the root have, and
    /// that Assay does not see to itself.
    #[must_use]
    pub fn is_for_groups(&self) -> bool {
        self.role == Role::Setting && !self.is_root_only()
    }

    /// Whether only the root of a hierarchy has the file.
    #[must_use]
    pub fn is_root_only(&self) -> bool {
        [self.v1, self.v2].into_iter().flatten().all(|file| file.place == Place::RootOnly)
    }

    /// The file of this name on a version of the interface.
    #[must_use]
    pub const fn file(&self, version: Version) -> Option<&File> {
        match version {
            Version::V1 => self.v1.as_ref(),
            Version::V2 => self.v2.as_ref(),
        }
    }

    /// What it reads in a new group; `None` where that depends on host or time.
    #[must_use]
    pub fn default(&self) -> Option<&'static str> {
        self.v2.or(self.v1).and_then(|file| file.default)
    }

    /// The first kernel that has the file under this name.
    #[must_use]
    pub fn since(&self) -> Option<KernelVersion> {
        self.v2.or(self.v1).map(|file| file.since)
    }

    /// Whether the name holds a place for a huge page size.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.name.contains(SIZE)
    }

    /// The name with a huge page size in its place.
    #[must_use]
    pub fn name_for(&self, size: &str) -> String {
        self.name.replace(SIZE, size)
    }

    /// The huge page size in `name` if that is a name of this pattern: `2MB` of
    /// `hugetlb.2MB.max`.
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

/// Stands in a name for a huge page size, spelt as the kernel does: `64KB`, `2MB`, `1GB`.
pub(crate) const SIZE: &str = "<size>";

/// What a value looks like that does not fit: usually its unit was that of another knob.
fn misread(value: &str) -> Option<&'static str> {
    let value = value.trim();
    if value.ends_with('%') {
        return Some("a percentage");
    }
    if value.parse::<f64>().is_ok() {
        return None;
    }
    if value.parse::<assay_units::Bytes>().is_ok() {
        return Some("an amount of data");
    }
    assay_units::parse_duration(value).is_ok().then_some("a duration")
}

#[cfg(test)]
mod tests;
