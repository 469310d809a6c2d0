//! docs/reference/knobs.md, generated from the table.

use assay_sys::escape::markdown_cell;
use std::fmt::Write;

use crate::knob::entry::{Counterpart, Knob, Role};
use crate::knob::file::{File, GroupScope};
use crate::knob::kernel_version::KernelVersion;
use crate::knob::range::ValueRange;
use crate::knob::table::all;
use crate::knob::translate::Version;

/// The controllers in the order of the page: v2 name and description.
const CONTROLLERS: &[(&str, &str)] = &[
    (
        "cgroup",
        "Files of every group, independent of its controllers. On v1 each hierarchy has its own. On v2 \
         domain controllers (memory, io, hugetlb, rdma, misc, dmem) apply to whole processes, and only \
         threaded ones (cpu, cpuset, pids, perf_event) work in threaded groups.",
    ),
    ("cpu", "CPU time. Threaded on v2."),
    ("cpuacct", "CPU time used; v1 only: on v2 it is in `cpu.stat` of every group."),
    ("cpuset", "CPUs and memory nodes. Threaded on v2."),
    ("memory", "Memory and swap. A domain controller on v2."),
    ("io", "Block I/O; `blkio` on v1. A domain controller on v2."),
    ("pids", "The number of processes and threads. Threaded on v2."),
    (
        "hugetlb",
        "Huge pages. `<size>` is one of the sizes of the machine as in `2MB`, `1GB`, `64KB`. A \
         domain controller on v2.",
    ),
    ("devices", "Devices that may be opened and created. On v2 there is no file."),
    ("freezer", "Freezing a group; v1 only: on v2 it is `cgroup.freeze` of every group."),
    ("net_cls", "Traffic classes; v1 only."),
    ("net_prio", "Traffic priorities; v1 only."),
    ("rdma", "RDMA adapters. A domain controller on v2."),
    ("misc", "Countable resources. A domain controller on v2."),
    ("dmem", "Memory of devices. A domain controller on v2."),
];

const HEAD: &str = "\
# Knobs: the interface files of control groups

A study names a knob by its v2 name, or by its v1 name if v2 has none. If both versions have a file, Assay translates the value, and the
plan shows how. `assay host` lists which of these files a host has, and why it lacks the others. `assay host --knobs-check` compares this
table with a new group in every mounted hierarchy.

- **v1**, **v2**: the counterpart in the other version of cgroups; `=` is a file of the same name.
- **values**: what a study may write. A dash: the file only reports. *action*: writing triggers something; a study cannot set it.
  Bytes and microseconds take units (`64 MiB`, `10 ms`), ids a list (`0-3,8`). v1 spells `max` as `-1`. A value `0` alone resets a counter.
  `MAJ:MIN` may be omitted: the value then applies to the disk of the group.
- **reads**: what a setting reads in a new group; a dash if that depends on the host.
- **since**: the first kernel that has the file under this name, if later than 4.15.
- The last cell is empty where it says the same as that of the counterpart. *Delegatable* files belong to the owner of a delegated subtree;
  all others need root. *Root only* files are in the root group alone. `CONFIG_...` is what the kernel needs in addition to the controller.
";

/// The page as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    for (controller, about) in CONTROLLERS {
        let knobs: Vec<&Knob> =
            all().iter().filter(|knob| knob.controller == *controller).collect();
        let _ = write!(page, "\n## {controller}\n\n{about}\n");
        table(&mut page, &knobs, Version::V2);
        table(&mut page, &knobs, Version::V1);
        conditions(&mut page, &knobs);
    }
    page.push_str(
        "\n## perf_event\n\nNo files. A group represents its processes when counters are opened \
         for it (perf_event_open(2), PERF_FLAG_PID_CGROUP); on v2 every group can be used, without being \
         enabled.\n",
    );
    page
}

/// Writes the table of entries with a file on v2, or of those on v1 only.
fn table(page: &mut String, knobs: &[&Knob], version: Version) {
    let rows: Vec<&&Knob> =
        knobs.iter().filter(|knob| knob.v2.is_some() == (version == Version::V2)).collect();
    if rows.is_empty() {
        return;
    }
    let (here, there) = match version {
        Version::V2 => ("v2", "v1"),
        Version::V1 => ("v1 only", "v2"),
    };
    let _ = write!(
        page,
        "\n| {here} | {there} | values | reads | since | |\n|---|---|---|---|---|---|\n"
    );
    for knob in rows {
        let Some(file) = knob.file(version) else { continue };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} | {} |",
            knob.name,
            counterpart(knob),
            values(knob),
            reads(knob, file),
            since(knob, file, version),
            remarks(knob, file),
        );
    }
}

fn counterpart(knob: &Knob) -> String {
    match knob.counterpart {
        Counterpart::SameName => "=".to_owned(),
        Counterpart::Files(files) => {
            files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ")
        }
        Counterpart::Means(_) => "a program".to_owned(),
        Counterpart::Nothing(_) => "-".to_owned(),
    }
}

fn values(knob: &Knob) -> String {
    let range = markdown_cell(&knob.range.cell());
    match knob.role {
        Role::Setting => range,
        Role::Reading => "-".to_owned(),
        Role::Action if knob.range == ValueRange::Text => "action".to_owned(),
        Role::Action => format!("action: {range}"),
    }
}

fn reads(knob: &Knob, file: &File) -> String {
    match file.default.filter(|_| knob.role == Role::Setting) {
        None => "-".to_owned(),
        Some("") => "empty".to_owned(),
        Some(text) => format!("`{text}`"),
    }
}

fn since(knob: &Knob, file: &File, version: Version) -> String {
    let own = late(file.since);
    let v1 = knob.v1.filter(|_| version == Version::V2).map(|v1| late(v1.since));
    let text = match v1.filter(|v1| *v1 != own) {
        Some(v1) if v1 == "-" => format!("v2 {own}"),
        Some(v1) => format!("{own}; v1 {v1}"),
        None => own,
    };
    match file.until {
        Some(until) => format!("{text}; removed in {until}").trim_start_matches("-; ").to_owned(),
        None => text,
    }
}

/// A version that is not as old as all kernels that Assay runs on; else a dash.
pub(super) fn late(since: KernelVersion) -> String {
    if since > KernelVersion::new(4, 15) { since.to_string() } else { "-".to_owned() }
}

/// Description, the groups that show it, and what the kernel needs for it.
fn remarks(knob: &Knob, file: &File) -> String {
    let mut parts = Vec::new();
    if !is_described_by_counterpart(knob) {
        parts.push(knob.about.trim_end_matches("; writing 0 resets it").to_owned());
    }
    if file.is_delegatable {
        parts.push("delegatable".to_owned());
    }
    match file.scope {
        GroupScope::Everywhere => {
            if let Some(since) = file.in_root_since {
                parts.push(format!("in the root since {since}"));
            }
        }
        GroupScope::Inside => {}
        GroupScope::RootOnly => parts.push("root only".to_owned()),
    }
    if let (None, Some(config), false) =
        (file.needs, file.config, is_described_by_counterpart(knob))
    {
        parts.push(config.to_owned());
    }
    if let Counterpart::Means(how) = knob.counterpart {
        parts.push(how.to_owned());
    }
    markdown_cell(&parts.join("; "))
}

/// Whether a file of v1 does what the row of its counterpart says.
fn is_described_by_counterpart(knob: &Knob) -> bool {
    let Counterpart::Files(files) = knob.counterpart else { return false };
    knob.v2.is_none()
        && all().iter().any(|other| {
            other.v2.is_some() && files.contains(&other.name) && other.about == knob.about
        })
}

/// Side conditions, each once with its files.
fn conditions(page: &mut String, knobs: &[&Knob]) {
    let mut unique = Vec::new();
    for condition in knobs.iter().flat_map(|knob| knob.conditions) {
        if !unique.contains(condition) {
            unique.push(*condition);
        }
    }
    if !unique.is_empty() {
        page.push('\n');
    }
    for condition in unique {
        let about: Vec<String> = knobs
            .iter()
            .filter(|knob| knob.conditions.contains(&condition))
            .map(|knob| format!("`{}`", knob.name))
            .collect();
        let _ = writeln!(page, "- {}: {condition}.", about.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_on_the_page_under_its_controller() {
        let page = reference();
        for knob in all() {
            assert!(page.contains(&format!("| `{}` |", knob.name)), "{}", knob.name);
            assert!(CONTROLLERS.iter().any(|(name, _)| *name == knob.controller), "{}", knob.name);
        }
        assert!(page.is_ascii());
    }
}
