//! The specification of a scratch disk, and the disk that was created.

use std::path::{Path, PathBuf};

use assay_sys::kernel::Error;
use assay_sys::units::Bytes;

/// The kinds of scratch disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An image in this directory, attached to a loop device.
    Loop {
        /// The directory of the image.
        image_dir: PathBuf,
        /// Size of the image, a multiple of 512 bytes.
        size: Bytes,
    },
    /// A disk or partition that is blank, or whose contents may be erased.
    Block {
        /// Its device node, `/dev/nvme1n1`.
        device: PathBuf,
        /// Its serial number, its size or the type of its signature, as permission to erase it.
        erase: Option<String>,
    },
    /// A directory of an existing file system.
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

/// The file system created on each partition, or on the disk when it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// None: workloads use the device.
    None,
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
}

impl Format {
    /// Its name for mount(8) and mkfs; `none` for none.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }
}

/// The specification of a scratch disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchSpec {
    /// The study's name for it: letters, digits, `-` and `_`, since it becomes part of paths.
    pub name: String,
    /// Its kind.
    pub source: Source,
    /// The file system created on it.
    pub format: Format,
    /// Number of equal partitions; 0 for the bare disk.
    pub partitions: u32,
    /// Its I/O scheduler; `None` keeps the kernel's choice.
    pub scheduler: Option<String>,
    /// Attributes below `queue/` with their values, written in this order after the scheduler.
    pub queue: Vec<(String, String)>,
    /// The directory for mount points, `assay-NAME-N`.
    pub mount_dir: PathBuf,
}

impl ScratchSpec {
    /// Checks what can be checked without the kernel.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |hint: &str| Err(Error::unexpected("set up", Path::new(&self.name), hint));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return wrong("the name of a disk consists of letters, digits, `-` and `_`");
        }
        // The largest number of partitions for which the kernel has minor numbers.
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

/// A scratch disk ready for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchDisk {
    /// The kernel's name of the whole disk, `loop8`; empty for a directory that is not on a block
    /// device.
    pub device: String,
    /// Its device numbers.
    pub major: u32,
    /// Its device numbers.
    pub minor: u32,
    /// Its device node, or that of the partition in use; for a directory the directory.
    pub device_path: PathBuf,
    /// Device nodes of its partitions, in order.
    pub partitions: Vec<PathBuf>,
    /// The mount points of its file systems, one for each partition; for a directory the run's own
    /// directory in it.
    pub mounts: Vec<PathBuf>,
    /// Its size; for a directory the free space.
    pub size: Bytes,
    /// Notes for readers of the results, as sentences.
    pub notes: Vec<String>,
}

/// Progress of the preparation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// An image is being filled.
    Filling {
        /// Bytes written.
        done: u64,
        /// Bytes in total.
        total: u64,
    },
    /// The disk is being partitioned.
    Partitioning {
        /// Number of partitions.
        partitions: u32,
    },
    /// A file system is being made.
    Formatting {
        /// The device.
        device: PathBuf,
        /// `ext4`, `xfs`.
        format: &'static str,
    },
}
