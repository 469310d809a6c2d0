//! Scratch disks.

use assay_units::Bytes;

use serde::{Deserialize, Serialize};

use super::Scalar;
use crate::template::{FromScalar, Templated};

/// The source of a scratch disk.
#[derive(Debug, Clone, PartialEq)]
pub enum DiskSource {
    /// An image file behind a loop device, fully written before use.
    Loop,
    /// A named block device. If it holds data, `erase` must repeat its serial number or its size.
    Block {
        /// `/dev/sdb`.
        device: String,
        /// The serial or size that the user expects to lose.
        erase: Option<String>,
    },
    /// An existing directory; no block device is set up.
    Directory {
        /// Its path.
        path: String,
    },
    /// A null_blk device made through configfs.
    NullBlk(NullBlk),
}

/// Speed of a null_blk device; without `iops` it completes requests immediately.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NullBlk {
    /// Requests per second that it completes with `depth` of them in flight.
    pub iops: Option<Templated<u32>>,
    /// Queue depth.
    pub depth: Option<Templated<u32>>,
}

impl NullBlk {
    /// Checks `iops` and `depth` against their limits: the shortest timer is a nanosecond, and
    /// blk-mq has at most 10240 tags (BLK_MQ_MAX_DEPTH, include/linux/blk-mq.h).
    pub(crate) fn check(name: &str, value: Option<u32>) -> Result<u32, String> {
        let limit = if name == "depth" { 10_240 } else { 100_000_000 };
        value
            .filter(|value| (1..=limit).contains(value))
            .ok_or_else(|| format!("`{name}` of null_blk must be a whole number from 1 to {limit}"))
    }
}

/// The file system made on a disk or partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Nothing: workloads use the device itself.
    #[default]
    None,
    /// mkfs.ext4.
    Ext4,
    /// mkfs.xfs.
    Xfs,
}

/// The size of a disk that Assay makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskSize {
    /// As large as the files of the workloads need, in the trial that needs most.
    Auto,
    /// This large.
    Fixed(Bytes),
}

impl FromScalar for DiskSize {
    const EXPECTED: &'static str = "an amount of data such as `2 GiB`, or `auto`";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar {
            Scalar::Text(text) if text.trim() == "auto" => Some(Self::Auto),
            _ => Bytes::from_scalar(scalar).map(Self::Fixed),
        }
    }
}

/// A scratch disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Where it comes from.
    pub source: DiskSource,
    /// Its size; `None` only for sources with a fixed size.
    pub size: Option<Templated<DiskSize>>,
    /// Its file system.
    pub format: Templated<Format>,
    /// How many partitions; 0 means the whole disk, unpartitioned.
    pub partitions: Templated<u32>,
    /// `queue/scheduler`; `None` leaves it unchanged.
    pub scheduler: Option<Templated<String>>,
    /// Further queue attributes below `/sys/block/X/queue/`, in the order of the file.
    pub queue: Vec<(String, Templated<Scalar>)>,
}

impl FromScalar for Format {
    const EXPECTED: &'static str = "one of `none`, `ext4`, `xfs`";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar {
            Scalar::Text(text) => match text.as_str() {
                "none" => Some(Self::None),
                "ext4" => Some(Self::Ext4),
                "xfs" => Some(Self::Xfs),
                _ => None,
            },
            _ => None,
        }
    }
}
