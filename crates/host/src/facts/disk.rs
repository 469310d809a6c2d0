//! Block devices as shown by sysfs.

use std::fmt;
use std::path::PathBuf;

use assay_sys::units::Bytes;
use serde::{Deserialize, Serialize};

/// The schedulers available for a queue, `queue/scheduler`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scheduler {
    /// The active one, in brackets.
    pub active: String,
    /// All of them, including the active one.
    pub offered: Vec<String>,
}

/// A use of a disk that prevents its use as a scratch disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// The disk, or a partition of it, is mounted here.
    Mounted(PathBuf),
    /// A stacked device (`/sys/block/X/holders`) uses it.
    Held(String),
    /// It is used for swap.
    Swap,
}

impl fmt::Display for Holder {
    /// A phrase that follows "is".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted(target) => write!(f, "mounted at {}", target.display()),
            Self::Held(by) => write!(f, "part of the device {by}"),
            Self::Swap => f.write_str("swap space"),
        }
    }
}

/// A partition of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// The kernel's name, `sda3`, `nvme0n1p3`.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// Its own uses; those of the whole disk are uses of every partition.
    pub holders: Vec<Holder>,
}

/// A block device (not a partition).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// The kernel's name, `sda`, `nvme0n1`, `loop0`.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// Device numbers.
    pub major: u32,
    /// Device numbers.
    pub minor: u32,
    /// `queue/scheduler`; `None` for devices without a request queue (zram).
    pub scheduler: Option<Scheduler>,
    /// `queue/rotational`.
    pub rotational: Option<bool>,
    /// `queue/nr_requests`.
    pub nr_requests: Option<u32>,
    /// `device/model`, trimmed.
    pub model: Option<String>,
    /// Serial number, if sysfs has one.
    pub serial: Option<String>,
    /// Names of its partitions.
    pub partitions: Vec<String>,
    /// Its partitions one by one; empty in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Partition>,
    /// Its current uses, and those of its partitions.
    pub holders: Vec<Holder>,
    /// The image of an attached loop device.
    pub backing_file: Option<PathBuf>,
}

impl Disk {
    /// Its partition of this name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Partition> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The uses of one of its partitions: its own, and those of the whole disk.
    #[must_use]
    pub fn holders_of(&self, part: &Partition) -> Vec<Holder> {
        let of_others = |holder: &&Holder| {
            let others = self.parts.iter().filter(|other| other.name != part.name);
            !others.flat_map(|other| &other.holders).any(|other| other == *holder)
        };
        let of_disk = self.holders.iter().filter(of_others);
        of_disk
            .filter(|holder| !part.holders.contains(holder))
            .chain(&part.holders)
            .cloned()
            .collect()
    }
}

/// The disk of a device node such as `/dev/sda`, or the disk and the partition of one such as `/dev/sda3`.
#[must_use]
pub fn find_disk<'d>(disks: &'d [Disk], device: &str) -> Option<(&'d Disk, Option<&'d Partition>)> {
    let name = device.strip_prefix("/dev/").unwrap_or(device);
    let whole = disks.iter().find(|disk| disk.name == name).map(|disk| (disk, None));
    whole.or_else(|| disks.iter().find_map(|disk| Some((disk, Some(disk.part(name)?)))))
}
