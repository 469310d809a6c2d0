//! Block devices as shown by sysfs.

use std::fmt;
use std::path::PathBuf;

use assay_units::Bytes;
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
    /// Its current uses.
    pub holders: Vec<Holder>,
    /// The image of an attached loop device.
    pub backing_file: Option<PathBuf>,
}
