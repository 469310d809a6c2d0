//! What is asked for: a command, and the settings of its group.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

/// One command under limits.
#[derive(Debug, Clone)]
pub struct Request {
    /// The program and its arguments; never empty.
    pub command: Vec<OsString>,
    /// Knobs to be set, in this order.
    pub settings: Vec<Setting>,
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

/// Reads `cpus=LIST` and `mems=LIST` (or `memory=bind:LIST`), joined by commas, into cpuset knobs.
/// What cpusets cannot do is refused by name.
pub fn place(text: &str) -> Result<Vec<Setting>, String> {
    let mut settings: Vec<Setting> = Vec::new();
    for part in text.split(',') {
        match part.split_once('=') {
            Some((key, value)) => settings.push(place_one(key.trim(), value.trim())?),
            // A list of ids holds commas itself: `cpus=0,2,memory=bind:0`.
            None => match settings.last_mut() {
                Some(last) => last.value = format!("{},{}", last.value, part.trim()),
                None => return Err(format!("`{text}` has no `=`; write cpus=0-3,mems=0")),
            },
        }
    }
    Ok(settings)
}

fn place_one(key: &str, value: &str) -> Result<Setting, String> {
    let setting = |knob: &str, value: &str| Setting { knob: knob.into(), value: value.into() };
    match (key, value.split_once(':')) {
        ("cpus", _) => Ok(setting("cpuset.cpus", value)),
        ("memory", Some(("bind", nodes))) => Ok(setting("cpuset.mems", nodes)),
        ("mems", _) => Ok(setting("cpuset.mems", value)),
        ("memory", _) => Err(format!(
            "`memory={value}` needs a memory policy, which `assay exec` does not set; \
             `memory=bind:NODES` is done by cpuset.mems; else start the command with numactl(8)"
        )),
        (other, _) => Err(format!("`{other}` is no place; write cpus=LIST or mems=LIST")),
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
        assert_eq!(
            place("cpus=0,2-3,memory=bind:0,1"),
            Ok(vec![setting("cpuset.cpus", "0,2-3"), setting("cpuset.mems", "0,1")])
        );
    }

    #[test]
    fn nodes_may_go_by_the_name_of_their_cpuset_file() {
        let both = vec![setting("cpuset.cpus", "0"), setting("cpuset.mems", "0")];
        assert_eq!(place("cpus=0,mems=0"), Ok(both));
    }

    #[test]
    fn policies_beyond_cpusets_are_refused_by_name() {
        assert!(place("memory=interleave:0-1").unwrap_err().contains("interleave"));
        assert!(place("nodes=0").unwrap_err().contains("`nodes`"));
        assert!(place("0-3").is_err());
    }
}
