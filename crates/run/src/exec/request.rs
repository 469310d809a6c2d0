//! The request: a command and the settings of its group.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use assay_sys::units::MemoryPolicy;

/// One command under limits.
#[derive(Debug, Clone)]
pub struct Request {
    /// The program and its arguments; never empty.
    pub command: Vec<OsString>,
    /// The knobs to set, in this order.
    pub settings: Vec<Setting>,
    /// The memory policy of the command, inherited by everything it starts.
    pub memory: Option<MemoryPolicy>,
    /// The disk whose scheduler decides the translation of `io.weight`, by kernel name.
    pub disk: Option<String>,
    /// What to do with processes that outlive the command.
    pub leftover: Leftover,
    /// Whether to leave out a knob that this host does not support, instead of refusing the run.
    pub keep_going: bool,
    /// The directory of the ledger.
    pub state_dir: PathBuf,
    /// Identifies this run in the group's name and in the ledger; letters, digits and `-`.
    pub run_id: String,
}

/// What to do with processes that are still in the group when the command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftover {
    /// Wait for them; the limits stay in force.
    #[default]
    Wait,
    /// Kill them.
    Kill,
}

/// A knob and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The knob's name in cgroup v2 or, for v1-only knobs, in v1.
    pub knob: String,
    /// The value as written by the user.
    pub value: String,
}

impl FromStr for Setting {
    type Err = String;

    /// Parses `KNOB=VALUE`. The value may contain further `=` (`io.max=8:0 rbps=1000000`).
    fn from_str(text: &str) -> Result<Self, String> {
        let (knob, value) = text.split_once('=').ok_or_else(|| {
            format!("`{text}` has no `=`; write KNOB=VALUE, such as memory.max=64M")
        })?;
        let (knob, value) = (knob.trim(), value.trim());
        if knob.is_empty() || value.is_empty() {
            return Err(format!(
                "`{text}` lacks a knob or a value; write KNOB=VALUE, such as memory.max=64M"
            ));
        }
        Ok(Self { knob: knob.to_owned(), value: value.to_owned() })
    }
}

/// The placement of a command: knobs of its group, and a memory policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlacementOption {
    /// Cpuset knobs.
    pub settings: Vec<Setting>,
    /// A policy that cpusets cannot express.
    pub memory: Option<MemoryPolicy>,
}

/// Parses `cpus=LIST`, `mems=LIST` and `memory=POLICY`, joined by commas. CPUs and `memory=bind:LIST`
/// become cpuset knobs, which the command and its descendants cannot escape; other policies are set on
/// the command itself.
pub fn parse_placement(text: &str) -> Result<PlacementOption, String> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for part in text.split(',') {
        match (part.split_once('='), parts.last_mut()) {
            (Some((key, value)), _) => parts.push((key.trim(), value.trim().to_owned())),
            // A list of ids contains commas itself: `cpus=0,2,memory=bind:0`.
            (None, Some((_, last))) => *last = format!("{last},{}", part.trim()),
            (None, None) => return Err(format!("`{text}` has no `=`; write cpus=0-3,mems=0")),
        }
    }
    let mut placement = PlacementOption::default();
    for (key, value) in parts {
        placement.add(key, &value)?;
    }
    Ok(placement)
}

impl PlacementOption {
    fn add(&mut self, key: &str, value: &str) -> Result<(), String> {
        let setting = |knob: &str, value: &str| Setting { knob: knob.into(), value: value.into() };
        match (key, value.split_once(':')) {
            ("cpus", _) => self.settings.push(setting("cpuset.cpus", value)),
            ("memory", Some(("bind", nodes))) => self.settings.push(setting("cpuset.mems", nodes)),
            ("mems", _) => self.settings.push(setting("cpuset.mems", value)),
            ("memory", _) => {
                let policy = value.parse::<MemoryPolicy>().map_err(|wrong| wrong.to_string())?;
                self.memory = Some(policy);
            }
            (other, _) => {
                return Err(format!(
                    "unknown placement key `{other}`; write cpus=LIST, mems=LIST or memory=interleave:LIST"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(knob: &str, value: &str) -> Setting {
        Setting { knob: knob.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_setting_is_split_at_its_first_equals_sign() {
        assert_eq!("memory.max=64M".parse(), Ok(setting("memory.max", "64M")));
        assert_eq!("io.max=8:0 rbps=1".parse(), Ok(setting("io.max", "8:0 rbps=1")));
        for wrong in ["memory.max", "=64M", "memory.max=", " = "] {
            assert!(wrong.parse::<Setting>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn placements_become_cpusets_and_lists_keep_their_commas() {
        let settings = vec![setting("cpuset.cpus", "0,2-3"), setting("cpuset.mems", "0,1")];
        assert_eq!(
            parse_placement("cpus=0,2-3,memory=bind:0,1"),
            Ok(PlacementOption { settings, memory: None })
        );
    }

    #[test]
    fn nodes_may_be_named_mems_like_their_cpuset_file() {
        let both = vec![setting("cpuset.cpus", "0"), setting("cpuset.mems", "0")];
        assert_eq!(parse_placement("cpus=0,mems=0").unwrap().settings, both);
    }

    #[test]
    fn policies_beyond_cpusets_are_set_on_the_command() {
        let placement = parse_placement("cpus=0,memory=interleave:0,1").unwrap();
        assert_eq!(placement.settings, [setting("cpuset.cpus", "0")]);
        assert_eq!(placement.memory.unwrap().to_string(), "interleave:0-1");
        assert!(
            parse_placement("memory=interleaved:0")
                .unwrap_err()
                .contains("weighted-interleave:0-1")
        );
        assert!(parse_placement("nodes=0").unwrap_err().contains("`nodes`"));
        assert!(parse_placement("0-3").is_err());
    }
}
