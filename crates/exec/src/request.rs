//! What is asked for: a command, and the settings of its group.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use assay_units::MemoryPolicy;

/// One command under limits.
#[derive(Debug, Clone)]
pub struct Request {
    /// The program and its arguments; never empty.
    pub command: Vec<OsString>,
    /// Knobs to be set, in this order.
    pub settings: Vec<Setting>,
    /// The memory policy of the command, kept over exec by all that it starts.
    pub memory: Option<MemoryPolicy>,
    /// The disk whose scheduler decides what `io.weight` becomes, by the kernel's name.
    pub disk: Option<String>,
    /// What happens to processes that outlive the command.
    pub leftover: Leftover,
    /// Whether a knob that this host cannot set is left out instead of ending everything.
    pub keep_going: bool,
    /// Where the ledger lives.
    pub state_dir: PathBuf,
    /// Identifies this run in the group's name and in the ledger; letters, digits and `-`.
    pub run_id: String,
}

/// What happens to processes that are still in the group when the command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftover {
    /// They are waited for; limits go on to hold.
    #[default]
    Wait,
    /// They are killed.
    Kill,
}

/// One knob and the value that it is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The knob's name, by cgroup v2 or, where only v1 has it, by v1.
    pub knob: String,
    /// Its value as written by the user.
    pub value: String,
}

impl FromStr for Setting {
    type Err = String;

    /// Reads `KNOB=VALUE`. The value may hold further `=` (`io.max=8:0 rbps=1000000`).
    fn from_str(text: &str) -> Result<Self, String> {
        let (knob, value) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` has no `=`; write KNOB=VALUE, as memory.max=64M"))?;
        let (knob, value) = (knob.trim(), value.trim());
        if knob.is_empty() || value.is_empty() {
            return Err(format!("`{text}` lacks a knob or a value; write memory.max=64M"));
        }
        Ok(Self { knob: knob.to_owned(), value: value.to_owned() })
    }
}

/// Where a command is placed: by knobs of its group, and by a memory policy of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceOption {
    /// Knobs of cpusets.
    pub settings: Vec<Setting>,
    /// What cpusets cannot do.
    pub memory: Option<MemoryPolicy>,
}

/// Reads `cpus=LIST`, `mems=LIST` and `memory=POLICY`, joined by commas. CPUs and `memory=bind:LIST`
/// become knobs of cpusets, which hold for all that the command starts, whatever it does; other
/// policies are given to the command itself.
pub fn place(text: &str) -> Result<PlaceOption, String> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for part in text.split(',') {
        match (part.split_once('='), parts.last_mut()) {
            (Some((key, value)), _) => parts.push((key.trim(), value.trim().to_owned())),
            // A list of ids holds commas itself: `cpus=0,2,memory=bind:0`.
            (None, Some((_, last))) => *last = format!("{last},{}", part.trim()),
            (None, None) => return Err(format!("`{text}` has no `=`; write cpus=0-3,mems=0")),
        }
    }
    let mut place = PlaceOption::default();
    for (key, value) in parts {
        place.take(key, &value)?;
    }
    Ok(place)
}

impl PlaceOption {
    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
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
                    "`{other}` is no place; write cpus=LIST, mems=LIST or memory=interleave:LIST"
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
    fn places_become_cpusets_and_lists_keep_their_commas() {
        let settings = vec![setting("cpuset.cpus", "0,2-3"), setting("cpuset.mems", "0,1")];
        assert_eq!(place("cpus=0,2-3,memory=bind:0,1"), Ok(PlaceOption { settings, memory: None }));
    }

    #[test]
    fn nodes_may_go_by_the_name_of_their_cpuset_file() {
        let both = vec![setting("cpuset.cpus", "0"), setting("cpuset.mems", "0")];
        assert_eq!(place("cpus=0,mems=0").unwrap().settings, both);
    }

    #[test]
    fn policies_beyond_cpusets_are_the_command_s_own() {
        let found = place("cpus=0,memory=interleave:0,1").unwrap();
        assert_eq!(found.settings, [setting("cpuset.cpus", "0")]);
        assert_eq!(found.memory.unwrap().to_string(), "interleave:0-1");
        assert!(place("memory=interleaved:0").unwrap_err().contains("weighted-interleave:0-1"));
        assert!(place("nodes=0").unwrap_err().contains("`nodes`"));
        assert!(place("0-3").is_err());
    }
}
