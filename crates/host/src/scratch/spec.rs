//! What is asked of a scratch disk, and what it then is.

use std::path::{Path, PathBuf};

use assay_kernel::Error;
use assay_units::Bytes;

/// Where a scratch disk comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An image in this directory, attached to a loop device.
    Loop {
        /// Where the image is made.
        image_dir: PathBuf,
        /// Size of the image, a multiple of 512 bytes.
        size: Bytes,
    },
    /// A whole disk that is blank, or whose content may go.
    Block {
        /// Its device node, `/dev/nvme1n1`.
        device: PathBuf,
        /// Its serial number or its size, written down by someone who wants it erased.
        erase: Option<String>,
    },
    /// A directory of a file system that is there already.
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A null block device.
    NullBlk {
        /// Its size, a multiple of 1 MiB.
        size: Bytes,
        /// Further attributes of null_blk's configfs, such as `memory_backed` = `1`.
        options: Vec<(String, String)>,
    },
}

/// What is made on each partition, or on the disk when it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Nothing: workloads use the device.
    None,
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
}

impl Format {
    /// The name that mount(8) and mkfs know it by; `none` for none.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }
}

/// What is asked of a scratch disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchSpec {
    /// The study's name for it: letters, digits, `-` and `_`, since it becomes part of paths.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// What is made on it.
    pub format: Format,
    /// How many equal partitions; 0 for the bare disk.
    pub partitions: u32,
    /// Its I/O scheduler; `None` leaves what the kernel chose.
    pub scheduler: Option<String>,
    /// Attributes below `queue/` with their values, written in this order after the scheduler.
    pub queue: Vec<(String, String)>,
    /// Where file systems are mounted, as `assay-NAME-N` below it.
    pub mount_dir: PathBuf,
}

impl ScratchSpec {
    /// Refuses what no kernel is needed to refuse.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |hint: &str| Err(Error::unexpected("set up", Path::new(&self.name), hint));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return wrong("the name of a disk is made of letters, digits, `-` and `_`");
        }
        // The largest number of partitions that the kernel gives minor numbers to.
        if self.partitions > 255 {
            return wrong("a disk has at most 255 partitions");
        }
        if matches!(self.source, Source::Directory { .. })
            && (self.partitions > 0 || self.format != Format::None)
        {
            return wrong("a directory is neither partitioned nor formatted");
        }
        Ok(())
    }
}

/// A scratch disk that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchDisk {
    /// The kernel's name of the whole disk, `loop8`; empty for a directory on no block device.
    pub device: String,
    /// Its device numbers.
    pub major: u32,
    /// Its device numbers.
    pub minor: u32,
    /// Its device node; for a directory the directory.
    pub device_path: PathBuf,
    /// Device nodes of its partitions, in order.
    pub partitions: Vec<PathBuf>,
    /// Where its file systems are mounted, one for each partition; for a directory the run's own one in it.
    pub mounts: Vec<PathBuf>,
    /// Its size; for a directory the space that is free.
    pub size: Bytes,
    /// What a reader of the results should know of it, as sentences.
    pub notes: Vec<String>,
}

/// How far the preparation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// An image is being filled.
    Filling {
        /// Bytes written.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The disk is being partitioned.
    Partitioning {
        /// How many partitions.
        partitions: u32,
    },
    /// A file system is being made.
    Formatting {
        /// On what.
        device: PathBuf,
        /// `ext4`, `xfs`.
        format: &'static str,
    },
}
