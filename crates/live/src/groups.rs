//! The groups of a host: filters, sort orders, and listings as text and JSON.

mod table;

use assay_host::cgroup::inventory::{Entry, Filter, Inventory, Mounted, Rates};
use assay_host::facts::CgroupLayout;
use assay_sys::exit::Error;
use serde::Serialize;

pub use table::groups_text;

/// What groups are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupOrder {
    /// As a tree.
    Path,
    /// CPU time.
    Cpu,
    /// Memory now.
    Memory,
    /// Processes in the group itself.
    Processes,
    /// Bytes read from disks.
    Read,
    /// Bytes written to disks.
    Write,
}

impl GroupOrder {
    /// Every order with its name for users and what it sorts by.
    pub const ALL: [(&str, Self, &str); 6] = [
        ("path", Self::Path, "As a tree"),
        ("cpu", Self::Cpu, "CPU time"),
        ("memory", Self::Memory, "Memory now"),
        ("processes", Self::Processes, "Processes in the group itself"),
        ("read", Self::Read, "Bytes read from disks"),
        ("write", Self::Write, "Bytes written to disks"),
    ];

    /// The value of a group to sort by; unavailable values sort last.
    fn value(self, entry: &Entry, rates: &Rates) -> f64 {
        let value = match self {
            Self::Path => None,
            Self::Cpu => rates.cpus.value().copied(),
            Self::Memory => entry.counts.memory.value().map(|bytes| *bytes as f64),
            Self::Processes => Some(entry.processes.len() as f64),
            Self::Read => rates.read.value().copied(),
            Self::Write => rates.write.value().copied(),
        };
        value.unwrap_or(-1.0)
    }
}

/// Whether a filter matches any hierarchy and group.
///
/// # Errors
/// What does not match, with what there is.
pub fn check_groups(
    inventory: &Inventory,
    filter: &Filter,
    layout: &CgroupLayout,
) -> Result<(), Error> {
    if let (true, Some(name)) = (inventory.hierarchies.is_empty(), &filter.controller) {
        let names: Vec<&str> = layout.controllers.keys().map(String::as_str).collect();
        let what = format!(
            "no mounted hierarchy has the controller `{name}`\n  hint: this kernel lists {}",
            names.join(", ")
        );
        let is_known = names.contains(&name.as_str());
        return Err(if is_known { Error::host(what) } else { Error::usage(what) });
    }
    if inventory.hierarchies.is_empty() {
        return Err(Error::host(
            "no control groups are mounted\n  hint: mount -t cgroup2 none /sys/fs/cgroup",
        ));
    }
    if let (true, Some(path)) = (inventory.groups.is_empty(), &filter.below) {
        return Err(Error::usage(format!(
            "no hierarchy has a group `{path}`\n  hint: `assay top` lists all; paths begin \
             below the mount, as in /proc/PID/cgroup"
        )));
    }
    Ok(())
}

/// The document of `assay top -o json`.
#[derive(Debug, Serialize)]
pub struct Groups<'i> {
    /// Version of this format.
    pub schema: u32,
    /// CLOCK_MONOTONIC at the start of the reading, in nanoseconds.
    pub taken_ns: u64,
    /// The hierarchies that were read.
    pub hierarchies: &'i [Mounted],
    /// The groups, parents before children.
    pub groups: Vec<GroupWithRates<'i>>,
}

/// A group and what it uses.
#[derive(Debug, Serialize)]
pub struct GroupWithRates<'i> {
    /// The group.
    #[serde(flatten)]
    pub entry: &'i Entry,
    /// Its use per second.
    pub rates: &'i Rates,
}

/// The inventory with the rates of each group as a document.
#[must_use]
pub fn groups_document<'i>(inventory: &'i Inventory, rates: &'i [Rates]) -> Groups<'i> {
    let groups = inventory.groups.iter().zip(rates);
    Groups {
        schema: 1,
        taken_ns: inventory.taken_ns,
        hierarchies: &inventory.hierarchies,
        groups: groups.map(|(entry, rates)| GroupWithRates { entry, rates }).collect(),
    }
}
