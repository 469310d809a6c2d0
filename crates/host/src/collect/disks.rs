//! Block devices (/sys/block) and their users.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::facts::{Disk, Holder, Partition, Scheduler};
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::choice;
use assay_sys::kernel::parse::mountinfo::{self, Mount};
use assay_sys::units::Bytes;

use super::cpus::parsed;

const BLOCK: &str = "/sys/block";

/// The parts of /proc that show who uses block devices.
struct Uses {
    mounts: Vec<Mount>,
    swaps: Vec<String>,
}

pub(super) fn disks(root: &Root) -> Vec<Disk> {
    let uses = Uses {
        mounts: mountinfo::parse(&root.read("/proc/self/mountinfo").unwrap_or_default()),
        swaps: swaps(&root.read("/proc/swaps").unwrap_or_default()),
    };
    let names = root.list(BLOCK).unwrap_or_default();
    names.iter().filter_map(|name| disk(root, name, &uses)).collect()
}

pub(super) fn schedulers(disks: &[Disk]) -> Vec<String> {
    let offered: BTreeSet<String> =
        disks.iter().filter_map(|disk| disk.scheduler.clone()).flat_map(|s| s.offered).collect();
    offered.into_iter().collect()
}

fn disk(root: &Root, name: &str, uses: &Uses) -> Option<Disk> {
    let directory = Path::new(BLOCK).join(name);
    let text =
        |path: &str| root.read_trimmed(directory.join(path)).ok().filter(|text| !text.is_empty());
    let numbers = text("dev")?;
    let (major, minor) = numbers.split_once(':')?;
    let parts: Vec<Partition> = partitions(root, &directory)
        .into_iter()
        .map(|part| {
            let directory = directory.join(&part);
            let (size, holders) = (size(root, &directory), holders(root, &part, &directory, uses));
            Partition { name: part, size, holders }
        })
        .collect();
    let mut holders = holders(root, name, &directory, uses);
    holders.extend(parts.iter().flat_map(|part| part.holders.clone()));
    Some(Disk {
        name: name.to_owned(),
        size: size(root, &directory),
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        scheduler: text("queue/scheduler").and_then(|text| scheduler(&text)),
        rotational: text("queue/rotational").map(|value| value == "1"),
        nr_requests: text("queue/nr_requests").and_then(|value| value.parse().ok()),
        model: text("device/model"),
        serial: ["serial", "device/serial"].into_iter().find_map(text),
        partitions: parts.iter().map(|part| part.name.clone()).collect(),
        parts,
        holders,
        backing_file: text("loop/backing_file").map(PathBuf::from),
    })
}

/// The size of a disk or partition.
fn size(root: &Root, directory: &Path) -> Bytes {
    const SECTOR: u64 = 512;
    let sectors: u64 = parsed(root, &directory.join("size")).unwrap_or(0);
    Bytes::new(sectors.saturating_mul(SECTOR))
}

fn scheduler(text: &str) -> Option<Scheduler> {
    choice::parse(text).map(|choice| Scheduler { active: choice.active, offered: choice.offered })
}

/// Subdirectories with a file `partition`, by partition number.
fn partitions(root: &Root, directory: &Path) -> Vec<String> {
    let mut numbered: Vec<(u32, String)> = root
        .list(directory)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| Some((parsed(root, &directory.join(&name).join("partition"))?, name)))
        .collect();
    numbered.sort();
    numbered.into_iter().map(|(_, name)| name).collect()
}

/// The uses of one disk or partition.
fn holders(root: &Root, name: &str, directory: &Path, uses: &Uses) -> Vec<Holder> {
    let numbers = root.read_trimmed(directory.join("dev")).unwrap_or_default();
    let node = format!("/dev/{name}");
    // btrfs mounts have a device number of their own, so compare the source too.
    let here = uses.mounts.iter().filter(|m| m.device == numbers || m.source == node);
    let mut holders: Vec<Holder> =
        here.map(|mount| Holder::Mounted(mount.target.clone())).collect();
    let stacked = root.list(directory.join("holders")).unwrap_or_default();
    holders.extend(stacked.into_iter().map(Holder::Held));
    if uses.swaps.contains(&node) {
        holders.push(Holder::Swap);
    }
    holders
}

fn swaps(text: &str) -> Vec<String> {
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}
