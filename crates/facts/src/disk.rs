//! Block devices as sysfs shows them.

use std::fmt;
use std::path::PathBuf;

use assay_units::Bytes;
use serde::{Deserialize, Serialize};

/// The schedulers a queue offers, `queue/scheduler`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scheduler {
    /// The one in brackets.
    pub active: String,
    /// All of them, the active one included.
    pub offered: Vec<String>,
}

/// What keeps a disk from being used as a scratch disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// It, or a partition of it, is mounted here.
    Mounted(PathBuf),
    /// A stacked device (`/sys/block/X/holders`) sits on it.
    Held(String),
    /// Swap lives on it.
    Swap,
}

impl fmt::Display for Holder {
    /// What the disk then is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted(target) => write!(f, "mounted at {}", target.display()),
            Self::Held(by) => write!(f, "part of the device {by}"),
            Self::Swap => f.write_str("swap space"),
        }
    }
}

/// One block device (not a partition).
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
    /// Serial number, where sysfs gives one.
    pub serial: Option<String>,
    /// Names of its partitions.
    pub partitions: Vec<String>,
    /// What uses it now.
    pub holders: Vec<Holder>,
    /// For a loop device that is attached: its image.
    pub backing_file: Option<PathBuf>,
}
