//! The kinds of changes of a host, with what is needed to restore them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk::DiskIdentity;
use super::layer::Layer;

/// A range of a disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Its start.
    pub start: u64,
    /// Its length.
    pub length: u64,
}

/// One change of the host. Paths are absolute, as on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A value written to a kernel file. Restored by writing `before`.
    WriteFile {
        /// The file.
        path: PathBuf,
        /// The previous value; of a list of choices the active one.
        before: String,
        /// The value to write.
        set: String,
        /// The disk whose attribute it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
    /// A value written to one of a pair of kernel files of which only one is in effect: the kernel
    /// zeroes the other (`vm.dirty_ratio` and `vm.dirty_bytes`). Restored by writing the one that was
    /// in effect.
    WriteOneOf {
        /// The file.
        path: PathBuf,
        /// The previous value.
        before: String,
        /// The value to write.
        set: String,
        /// The file that the kernel zeroes.
        other: PathBuf,
        /// Its previous value.
        other_before: String,
    },
    /// A value written to a file of a group of someone else, for moments. Restored by writing `before`, if
    /// the group is still the same.
    SetGroup {
        /// The file.
        path: PathBuf,
        /// The previous value.
        before: String,
        /// The value to write.
        set: String,
        /// The device of the group's directory.
        device: u64,
        /// Its inode, which is never used again.
        inode: u64,
    },
    /// A request to a kernel file that cannot be read back, such as `+io` to `cgroup.subtree_control`.
    /// Restored by writing `inverse`.
    Request {
        /// The file.
        path: PathBuf,
        /// The inverse request.
        inverse: String,
        /// The request.
        set: String,
    },
    /// The attributes of a disk's queue, saved because later changes alter some of them as a side
    /// effect. Restored by writing those that differ, the scheduler first.
    KeepQueue {
        /// The kernel's name of the disk.
        device: String,
        /// Every writable attribute below `queue/`.
        attributes: BTreeMap<String, String>,
        /// The identity of the disk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
    /// A directory. Restored by rmdir, so only when it is empty.
    MakeDir {
        /// The directory.
        path: PathBuf,
    },
    /// A control group. Restored by killing the processes inside and removing it with the groups below
    /// it.
    MakeGroup {
        /// The group's directory.
        path: PathBuf,
    },
    /// A directory of the run with all its contents. Restored by removing it with everything inside; a
    /// file system mounted in it is never entered.
    MakeTree {
        /// The directory.
        path: PathBuf,
    },
    /// A file. Restored by unlinking it.
    MakeFile {
        /// The file.
        path: PathBuf,
    },
    /// A new loop device. Restored by LOOP_CTL_REMOVE.
    AddLoop {
        /// N of `/dev/loopN`.
        number: u32,
        /// The image to attach; with any other the device is someone else's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<PathBuf>,
        /// Device and inode of the image.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<(u64, u64)>,
    },
    /// An image attached to any loop device. Restored by detaching every loop device that has it.
    AttachLoop {
        /// The image's path, free of symbolic links.
        image: PathBuf,
        /// Its device and inode, which identify it if its path has changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<(u64, u64)>,
    },
    /// A partition added to the kernel's table. Restored by BLKPG_DEL_PARTITION.
    AddPartition {
        /// The disk's device node.
        device: PathBuf,
        /// The partition's number.
        number: u32,
        /// The identity of the disk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
    /// A mounted file system. Restored by unmounting it, wherever it is mounted by then, but not
    /// another one mounted in the same place since.
    Mount {
        /// The mount point.
        target: PathBuf,
        /// The device number of the file system, `7:8`, which is unique while it is mounted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
        /// The disk with this number, or the disk of the partition with this number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
    /// The run folder of the user who called sudo, owned by root while root works in it. Restored by
    /// giving it to that user, with what root has created in it.
    OwnFolder {
        /// The folder.
        path: PathBuf,
        /// The user.
        uid: u32,
        /// The user's group.
        gid: u32,
    },
    /// A null block device created through configfs. Restored by powering it off and rmdir.
    NullBlk {
        /// Its directory in configfs.
        path: PathBuf,
    },
    /// A disk made out of another one. Restored by removing it, unless another disk than `below` is under it.
    StackDisk {
        /// What makes it.
        layer: Layer,
        /// Its name: of an array the kernel's, else the device mapper's.
        name: String,
        /// The kernel's name of the disk under it.
        below: String,
    },
    /// A partition table or file systems on a disk that had none. Restored by zeroing the places where
    /// signatures are.
    WriteSignatures {
        /// The disk's device node.
        device: PathBuf,
        /// The areas partitioned or formatted.
        areas: Vec<Area>,
        /// The identity of the disk: no other is ever wiped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
        /// Of a partition, its first sector: no other part of the disk is ever wiped. Nothing for a whole disk, and in
        /// ledgers of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_sector: Option<u64>,
    },
}

/// Whether what is at a path survives a reboot.
pub(super) fn is_on_disk(path: &Path) -> bool {
    !["/proc", "/sys", "/dev", "/run"].iter().any(|top| path.starts_with(top))
}

impl Change {
    /// A description of the change: `write /sys/block/sda/queue/scheduler`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::WriteFile { path, .. }
            | Self::WriteOneOf { path, .. }
            | Self::SetGroup { path, .. }
            | Self::Request { path, .. } => {
                format!("write {}", path.display())
            }
            Self::KeepQueue { device, .. } => format!("save the queue settings of {device}"),
            Self::MakeDir { path } => format!("make directory {}", path.display()),
            Self::MakeTree { path } => {
                format!("make directory {} and its contents", path.display())
            }
            Self::MakeGroup { path } => format!("make group {}", path.display()),
            Self::MakeFile { path } => format!("make file {}", path.display()),
            Self::AddLoop { number, .. } => format!("add loop device loop{number}"),
            Self::OwnFolder { path, uid, .. } => {
                format!("take ownership of {} from user {uid}", path.display())
            }
            Self::AttachLoop { image, .. } => {
                format!("attach {} to a loop device", image.display())
            }
            Self::AddPartition { device, number, .. } => {
                format!("add partition {number} of {}", device.display())
            }
            Self::Mount { target, .. } => format!("mount {}", target.display()),
            Self::NullBlk { path } => format!("make null block device {}", path.display()),
            Self::StackDisk { name, below, .. } => {
                format!("make the disk {name} on top of {below}")
            }
            Self::WriteSignatures { device, .. } => {
                format!("partition or format {}", device.display())
            }
        }
    }

    /// The previous value, if any.
    #[must_use]
    pub fn before(&self) -> Option<&str> {
        match self {
            Self::WriteFile { before, .. }
            | Self::WriteOneOf { before, .. }
            | Self::SetGroup { before, .. } => Some(before),
            _ => None,
        }
    }

    /// The new value, if any.
    #[must_use]
    pub fn set(&self) -> Option<&str> {
        match self {
            Self::WriteFile { set, .. }
            | Self::WriteOneOf { set, .. }
            | Self::SetGroup { set, .. }
            | Self::Request { set, .. } => Some(set),
            _ => None,
        }
    }

    /// Whether the change survives a reboot. All others exist only in the kernel's memory.
    #[must_use]
    pub fn outlives_boot(&self) -> bool {
        match self {
            Self::MakeFile { path }
            | Self::MakeDir { path }
            | Self::MakeTree { path }
            | Self::OwnFolder { path, .. } => is_on_disk(path),
            Self::WriteSignatures { .. } => true,
            _ => false,
        }
    }

    /// Whether restoring it may wait for a disk or a server that never answers. Control groups have none.
    pub(super) fn may_hang(&self) -> bool {
        !matches!(self, Self::MakeGroup { .. } | Self::SetGroup { .. } | Self::Request { .. })
    }

    /// Whether it freezes a group: such a change is restored before any other.
    pub(super) fn freezes(&self) -> bool {
        let freezers = ["cgroup.freeze", "freezer.state"];
        matches!(self, Self::SetGroup { path, .. } if freezers.iter().any(|name| path.ends_with(name)))
    }

    /// Whether a refusal by the kernel means that nothing was changed, so that nothing may be restored:
    /// what exists then belongs to someone else.
    pub(super) fn all_or_nothing(&self) -> bool {
        matches!(
            self,
            Self::MakeDir { .. }
                | Self::MakeTree { .. }
                | Self::MakeGroup { .. }
                | Self::MakeFile { .. }
                | Self::AddLoop { .. }
                | Self::AddPartition { .. }
                | Self::Mount { .. }
        )
    }
}
