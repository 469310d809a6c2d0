//! eBPF programs of Assay, with their maps and links, as bpftool(8) shows them. Nothing pins them, so that each has a process
//! that holds it. Programs that decide about devices have no name, and end with their group.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::HostSnapshot;
use crate::own;
use crate::tree::entries;

/// The name of every program (`sys::kernel::bpf`).
const NAME: &str = "assay";

impl HostSnapshot {
    /// Programs that a process of the test holds, and those that nobody does.
    pub(super) fn take_bpf(&mut self) {
        let programs = shown("prog");
        let named = || programs.iter().filter(|program| program["name"] == NAME);
        if named().next().is_none() {
            return;
        }
        let (links, holders) = (shown("link"), holders());
        for program in named() {
            let id = program["id"].as_u64().unwrap();
            let held = holders.get(&id);
            if held.is_some_and(|pid| !own::has_process(*pid)) {
                continue;
            }
            let state = held.map_or_else(|| UNHELD.to_owned(), |pid| format!("of process {pid}"));
            self.note(Path::new(&format!("eBPF program {id}")), state.clone());
            for link in links.iter().filter(|link| link["prog_id"] == id) {
                self.note(Path::new(&format!("eBPF link {}", link["id"])), state.clone());
            }
            for map in program["map_ids"].as_array().into_iter().flatten() {
                self.note(Path::new(&format!("eBPF map {map}")), state.clone());
            }
        }
    }
}

/// The state of an object that no process holds: of a process that has just ended, until the kernel has removed it.
pub(super) const UNHELD: &str = "of no process";

/// Nothing where there is no bpftool.
fn shown(kind: &str) -> Vec<Value> {
    let Ok(output) = Command::new("/usr/sbin/bpftool").args(["-j", kind, "show"]).output() else {
        return Vec::new();
    };
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// Which process holds a program, of the test's and of those whose name begins like Assay's: others may keep their files from
/// being read.
fn holders() -> BTreeMap<u64, u32> {
    let mut holders = BTreeMap::new();
    for process in entries(Path::new("/proc")) {
        let number = process.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        let is_assay = |number: &u32| name.starts_with(NAME) || own::has_process(*number);
        let Some(number) = number.filter(is_assay) else { continue };
        for file in entries(&process.join("fdinfo")) {
            let text = fs::read_to_string(file).unwrap_or_default();
            let ids = text.lines().filter_map(|line| line.strip_prefix("prog_id:"));
            holders.extend(ids.filter_map(|id| Some((id.trim().parse().ok()?, number))));
        }
    }
    holders
}
