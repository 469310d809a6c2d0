//! How much memory a run may use: what is available on the machine, and what the limits of this
//! process's control groups leave, on cgroup v1 and v2.

use std::fmt;
use std::path::{Path, PathBuf};

use assay_sys::kernel::Root;
use assay_sys::kernel::parse::cgroups::{self, ProcessGroup};
use assay_sys::kernel::parse::keyed;
use assay_sys::kernel::parse::mountinfo::{self, Mount};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::footprint::{Footprint, format_bytes};
use crate::measured::known;

/// The memory limit of a control group of this process, its own or an ancestor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupLimit {
    /// The file that holds the limit.
    pub file: PathBuf,
    /// The limit in bytes.
    pub limit: u64,
    /// Memory in use that cannot be reclaimed (anonymous memory); page cache can.
    pub used: u64,
}

impl GroupLimit {
    /// Bytes available below the limit.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// The memory available to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headroom {
    /// `MemAvailable` in bytes, or why it is unknown.
    pub available: Result<u64, String>,
    /// Limits from the own group upwards; groups without a limit are left out.
    pub groups: Vec<GroupLimit>,
}

/// File names of one cgroup version.
struct Files {
    limit: &'static str,
    /// Key in `memory.stat` of the anonymous memory of the group and its descendants.
    anonymous: &'static str,
}

const V1: Files = Files { limit: "memory.limit_in_bytes", anonymous: "total_rss" };
const V2: Files = Files { limit: "memory.max", anonymous: "anon" };

/// A v1 limit of this or more means no limit: the kernel writes PAGE_COUNTER_MAX, rounded to pages.
const NO_LIMIT: u64 = 1 << 62;

impl Headroom {
    /// Reads /proc/meminfo and the control groups.
    #[must_use]
    pub fn read(root: &Root) -> Self {
        Self { available: available(root), groups: groups(root) }
    }

    /// Refuses a footprint that does not fit, naming the tightest limit and the remedy.
    pub fn check(&self, footprint: &Footprint) -> Result<(), Failure> {
        let needed = footprint.peak();
        let refuse = |what: String, remedy: &str| {
            Err(Failure::Unable {
                what: format!("this needs {} of memory, and {what}", format_bytes(needed)),
                remedy: format!("{remedy}, or start it anyway with --anyway"),
            })
        };
        let tightest = self.groups.iter().min_by_key(|group| group.available());
        if let Some(group) = tightest.filter(|group| group.available() < needed) {
            return refuse(
                format!(
                    "the control group leaves {} ({} is {}, {} of it in use)",
                    format_bytes(group.available()),
                    group.file.display(),
                    format_bytes(group.limit),
                    format_bytes(group.used)
                ),
                "choose a smaller load, or raise the limit",
            );
        }
        match self.available {
            Ok(available) if available < needed => refuse(
                format!("the machine has {} available (MemAvailable)", format_bytes(available)),
                "choose a smaller load, or free memory",
            ),
            _ => Ok(()),
        }
    }

    /// `{ "available_bytes", "groups": [{ "file", "limit_bytes", "taken_bytes" }] }`
    #[must_use]
    pub fn to_json(&self) -> Value {
        let available = known(self.available.as_ref().map(|bytes| json!(bytes)));
        let groups: Vec<Value> = self
            .groups
            .iter()
            .map(|group| {
                json!({
                    "file": group.file.display().to_string(),
                    "limit_bytes": group.limit,
                    "taken_bytes": group.used,
                })
            })
            .collect();
        json!({ "available_bytes": available, "groups": groups })
    }
}

impl fmt::Display for Headroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.available {
            Ok(bytes) => write!(f, "{} available", format_bytes(*bytes))?,
            Err(reason) => write!(f, "available memory unknown: {reason}")?,
        }
        match self.groups.iter().min_by_key(|group| group.available()) {
            Some(group) => write!(
                f,
                ", {} left below the limit in {}",
                format_bytes(group.available()),
                group.file.display()
            ),
            None => write!(f, ", no control group limit"),
        }
    }
}

fn available(root: &Root) -> Result<u64, String> {
    let text = root.read("/proc/meminfo").map_err(|error| error.to_string())?;
    keyed::kibibytes(&text, "MemAvailable").ok_or_else(|| "no MemAvailable in meminfo".to_owned())
}

/// Limits in the hierarchy of the memory controller. v1 has precedence where it is mounted: a
/// controller is on one hierarchy at a time, and on a hybrid host cgroup2 then lacks it.
fn groups(root: &Root) -> Vec<GroupLimit> {
    let read = |path: &str| root.read(path).unwrap_or_default();
    let mounts = mountinfo::parse(&read("/proc/self/mountinfo"));
    let memberships = cgroups::process_groups(&read("/proc/self/cgroup"));
    let is_memory = |name: &String| name == "memory";
    let v1 = mounts
        .iter()
        .find(|mount| mount.kind == "cgroup" && mount.options.iter().any(is_memory))
        .map(|mount| {
            (mount, &V1, memberships.iter().find(|p| p.controllers.iter().any(is_memory)))
        });
    let v2 = mounts
        .iter()
        .find(|mount| mount.kind == "cgroup2")
        .map(|mount| (mount, &V2, memberships.iter().find(|group| group.controllers.is_empty())));
    match v1.or(v2) {
        Some((mount, files, Some(group))) => limits(root, mount, files, group),
        _ => Vec::new(),
    }
}

fn limits(root: &Root, mount: &Mount, files: &Files, group: &ProcessGroup) -> Vec<GroupLimit> {
    // In a container the mount may show only a part of the hierarchy, and the path in /proc then
    // starts above it.
    let top = mount.root.trim_end_matches('/');
    let below = group.group.strip_prefix(top).unwrap_or(&group.group).trim_start_matches('/');
    mount
        .target
        .join(below)
        .ancestors()
        .take_while(|directory| directory.starts_with(&mount.target))
        .filter_map(|directory| limit(root, directory, files))
        .collect()
}

fn limit(root: &Root, directory: &Path, files: &Files) -> Option<GroupLimit> {
    let file = directory.join(files.limit);
    let limit: u64 = root.read_trimmed(&file).ok()?.parse().ok()?;
    let stat = root.read(directory.join("memory.stat")).unwrap_or_default();
    let used = stat
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(key, _)| *key == files.anonymous)
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    (limit < NO_LIMIT).then_some(GroupLimit { file, limit, used })
}

#[cfg(test)]
mod tests;
