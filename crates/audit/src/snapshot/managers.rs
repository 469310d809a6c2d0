//! What managers of groups were configured to, as far as rules depend on it: no more of their files is kept, since commands and secrets
//! stand beside.

use std::collections::BTreeMap;

use assay_host::facts::Available;
use serde::{Deserialize, Serialize};

use super::{MAX_FILE, MAX_NAME, Snapshot};

/// Units whose settings are kept at most.
pub const MAX_UNITS: usize = 4096;

/// Files of one unit, its drop-ins among them, at most.
pub const MAX_UNIT_FILES: usize = 64;

/// Bytes of all settings of units, with the paths of their files, at most.
pub const MAX_UNIT_BYTES: usize = 1 << 20;

/// Settings of one unit at most: each may become a finding.
pub const MAX_UNIT_SETTINGS: usize = 1024;

/// Bytes of the path of a unit's file at most. Findings repeat it.
pub const MAX_UNIT_PATH: usize = 1024;

/// Files of the kubelet's configuration at most.
pub const MAX_KUBELET_FILES: usize = 33;

/// A file of a unit of systemd: of its text only the settings of resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitFile {
    /// Its path.
    pub path: String,
    /// `CPUWeight=200` and the like, in order. One without a value forgets those before it.
    pub settings: Vec<String>,
}

impl UnitFile {
    /// Its bytes, as [`MAX_UNIT_BYTES`] counts them.
    #[must_use]
    pub fn size(&self) -> usize {
        self.path.len() + self.settings.iter().map(String::len).sum::<usize>()
    }

    /// Why these are no unit's files, if they are more, or longer, than those of any.
    #[must_use]
    pub fn excess(files: &[Self]) -> Option<&'static str> {
        if files.len() > MAX_UNIT_FILES {
            Some("it has more files than any unit")
        } else if files.iter().map(|file| file.settings.len()).sum::<usize>() > MAX_UNIT_SETTINGS {
            Some("it has more settings of resources than any unit")
        } else if files.iter().any(|file| file.path.len() > MAX_UNIT_PATH) {
            Some("a file of it has a longer path than that of any unit")
        } else {
            None
        }
    }
}

/// What the kubelet that runs was configured to, about memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubelet {
    /// Its configuration files.
    pub files: Vec<String>,
    /// `featureGates.MemoryQoS`, `memoryThrottlingFactor` and `memoryReservationPolicy`, where a file or an argument of it sets them.
    pub settings: BTreeMap<String, String>,
}

/// Why a snapshot is none of a host, if it has more of all this than a host has.
pub(super) fn excess(snapshot: &Snapshot) -> Option<&'static str> {
    let units = &snapshot.units;
    let size = |(name, files): (&String, &Vec<UnitFile>)| {
        name.len() + files.iter().map(UnitFile::size).sum::<usize>()
    };
    let left_out = snapshot.units_left_out.as_ref().map_or(0, String::len);
    if units.len() > MAX_UNITS
        || units.values().any(|files| UnitFile::excess(files).is_some())
        || units.iter().map(size).sum::<usize>() > MAX_UNIT_BYTES
        || left_out > MAX_NAME
    {
        return Some("it has more settings of units than any host");
    }
    let is_long = |kubelet: &Kubelet| {
        let pairs = kubelet.settings.iter().flat_map(|(key, value)| [key, value]);
        let is_long = |file: &String| file.len() > MAX_NAME;
        kubelet.files.len() > MAX_KUBELET_FILES
            || kubelet.files.iter().any(is_long)
            || pairs.map(String::len).sum::<usize>() > MAX_FILE as usize
    };
    let kubelet = snapshot.kubelet.as_ref();
    let why = kubelet.and_then(Available::reason).map_or(0, str::len);
    let is_long = kubelet.and_then(Available::value).is_some_and(is_long) || why > MAX_NAME;
    is_long.then_some("it has a longer configuration of the kubelet than any host")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn refused(fake: Fake) -> Option<String> {
        let text = serde_json::to_string(&fake.snapshot()).unwrap();
        Snapshot::parse(&text).err().map(|why| why.to_string())
    }

    #[test]
    fn more_settings_of_units_or_the_kubelet_than_any_host_has_are_refused() {
        assert_eq!(refused(Fake::v2().unit("a.service", &["CPUWeight=1"])), None);
        let long = "1".repeat(MAX_UNIT_BYTES + 1);
        assert!(refused(Fake::v2().unit("a.service", &[long.as_str()])).is_some());
        let numbers = 0..=MAX_UNITS;
        let units = |mut fake: Fake| {
            for number in numbers {
                fake = fake.unit(&format!("{number}.service"), &["CPUWeight=1"]);
            }
            fake
        };
        assert!(refused(units(Fake::v2())).is_some());
        let kubelet = |files: Vec<String>| {
            let kubelet = Kubelet { files, settings: BTreeMap::new() };
            refused(Fake::v2().change(|host| host.kubelet = Some(Available::Value(kubelet))))
        };
        let one = |length: usize| kubelet(vec!["x".repeat(length)]);
        assert!(one(100).is_none() && one(MAX_NAME + 1).is_some());
        assert!(kubelet(vec!["x".to_owned(); MAX_KUBELET_FILES + 1]).is_some());
    }

    /// Each of 22000 settings would have had a copy of the path.
    #[test]
    fn what_findings_repeat_is_short_and_not_often_there() {
        let unit = |path: usize, settings: usize| {
            let host = Fake::v2().unit("a.service", &vec!["IOReadIOPSMax=/dev/a 1"; settings]);
            refused(host.change(|host| {
                host.units.get_mut("a.service").unwrap()[0].path = "x".repeat(path);
            }))
        };
        assert_eq!(unit(MAX_UNIT_PATH, MAX_UNIT_SETTINGS), None);
        assert!(unit(MAX_UNIT_PATH + 1, 1).is_some() && unit(1, MAX_UNIT_SETTINGS + 1).is_some());
    }
}
