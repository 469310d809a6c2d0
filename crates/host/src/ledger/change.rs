//! What can be changed on a host, with what is needed to take it back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::disk::DiskIdentity;

/// A stretch of a disk in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Where it begins.
    pub start: u64,
    /// How long it is.
    pub length: u64,
}

/// One change of the host. Paths are absolute as the host knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A value written into a kernel file. Taken back by writing `before`.
    WriteFile {
        /// The file.
        path: PathBuf,
        /// The value found; of a list of choices the active one.
        before: String,
        /// The value that was to be written.
        set: String,
        /// The disk whose attribute it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
    /// A value written into one of a pair of kernel files of which only one counts: the kernel
    /// zeroes the other (`vm.dirty_ratio` and `vm.dirty_bytes`). Taken back by writing the one
    /// that counted.
    WriteOneOf {
        /// The file.
        path: PathBuf,
        /// The value found.
        before: String,
        /// The value that was to be written.
        set: String,
        /// The file that the kernel zeroes.
        other: PathBuf,
        /// The value found there.
        other_before: String,
    },
    /// A request to a kernel file that does not read back what it took, such as `+io` to
    /// `cgroup.subtree_control`. Taken back by writing `inverse`.
    Request {
        /// The file.
        path: PathBuf,
        /// What takes the request back.
        inverse: String,
        /// The request.
        set: String,
    },
    /// The attributes of a disk's queue as found, because what follows changes some of them as
    /// a side effect. Taken back by writing those that differ, the scheduler first.
    KeepQueue {
        /// The kernel's name of the disk.
        device: String,
        /// Every writable attribute below `queue/`.
        attributes: BTreeMap<String, String>,
        /// Which disk has that name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
    /// A directory. Taken back by rmdir, so only when it is empty.
    MakeDir {
        /// The directory.
        path: PathBuf,
    },
    /// A control group. Taken back by killing what is inside and removing it with the groups
    /// below it.
    MakeGroup {
        /// The group's directory.
        path: PathBuf,
    },
    /// A directory of the run's own with whatever will be in it. Taken back by removing it with
    /// everything inside; a file system mounted in there is never entered.
    MakeTree {
        /// The directory.
        path: PathBuf,
    },
    /// A file. Taken back by unlinking it.
    MakeFile {
        /// The file.
        path: PathBuf,
    },
    /// A loop device that did not exist. Taken back by LOOP_CTL_REMOVE.
    AddLoop {
        /// N of `/dev/loopN`.
        number: u32,
        /// What is to be attached to it; with anything else it is somebody else's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<PathBuf>,
        /// Device and inode of that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<(u64, u64)>,
    },
    /// An image attached to whichever loop device. Taken back by detaching every loop device
    /// that has it.
    AttachLoop {
        /// The image, its path free of symbolic links.
        image: PathBuf,
        /// Its device and inode, by which it is known whatever its path is by then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<(u64, u64)>,
    },
    /// A partition told to the kernel. Taken back by BLKPG_DEL_PARTITION.
    AddPartition {
        /// The disk's device node.
        device: PathBuf,
        /// The partition's number.
        number: u32,
        /// Which disk has that name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
    /// A mounted file system. Taken back by unmounting that one, wherever it is mounted by then, and
    /// none that somebody else has mounted in the same place since.
    Mount {
        /// Where.
        target: PathBuf,
        /// The device number of the file system, `7:8`, which is its own while it is mounted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
        /// The disk that has this number, or the disk of the partition that has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
    /// The run folder of the user who called sudo, which is root's while root works in it. Taken
    /// back by giving it to that user, with what root has made in it.
    OwnFolder {
        /// The folder.
        path: PathBuf,
        /// The user.
        uid: u32,
        /// The user's group.
        gid: u32,
    },
    /// A cgroup v1 hierarchy of the run's own. Taken back by unmounting it until it has ended.
    MountV1 {
        /// Its one controller, by its v1 name.
        controller: String,
        /// Where.
        target: PathBuf,
    },
    /// A null block device made through configfs. Taken back by powering it off and rmdir.
    NullBlk {
        /// Its directory in configfs.
        path: PathBuf,
    },
    /// A partition table or file systems on a disk that had none. Taken back by writing zeros
    /// over the places where signatures stand.
    WriteSignatures {
        /// The disk's device node.
        device: PathBuf,
        /// What was partitioned or formatted.
        areas: Vec<Area>,
        /// Which disk has that name: no other is ever wiped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<DiskIdentity>,
    },
}

impl Change {
    /// The change in words: `write /sys/block/sda/queue/scheduler`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::WriteFile { path, .. }
            | Self::WriteOneOf { path, .. }
            | Self::Request { path, .. } => {
                format!("write {}", path.display())
            }
            Self::KeepQueue { device, .. } => format!("keep the queue settings of {device}"),
            Self::MakeDir { path } => format!("make directory {}", path.display()),
            Self::MakeTree { path } => {
                format!("make directory {} and what is in it", path.display())
            }
            Self::MakeGroup { path } => format!("make group {}", path.display()),
            Self::MakeFile { path } => format!("make file {}", path.display()),
            Self::AddLoop { number, .. } => format!("add loop device loop{number}"),
            Self::OwnFolder { path, uid, .. } => {
                format!("keep {} from its user {uid}", path.display())
            }
            Self::AttachLoop { image, .. } => {
                format!("attach {} to a loop device", image.display())
            }
            Self::AddPartition { device, number, .. } => {
                format!("add partition {number} of {}", device.display())
            }
            Self::Mount { target, .. } => format!("mount {}", target.display()),
            Self::MountV1 { controller, target } => {
                format!("mount a hierarchy of {controller} on {}", target.display())
            }
            Self::NullBlk { path } => format!("make null block device {}", path.display()),
            Self::WriteSignatures { device, .. } => {
                format!("partition or format {}", device.display())
            }
        }
    }

    /// The value found, where there is one.
    #[must_use]
    pub fn before(&self) -> Option<&str> {
        match self {
            Self::WriteFile { before, .. } | Self::WriteOneOf { before, .. } => Some(before),
            _ => None,
        }
    }

    /// The value set, where there is one.
    #[must_use]
    pub fn set(&self) -> Option<&str> {
        match self {
            Self::WriteFile { set, .. }
            | Self::WriteOneOf { set, .. }
            | Self::Request { set, .. } => Some(set),
            _ => None,
        }
    }

    /// Whether it is still there after a reboot. All else lives in the kernel's memory.
    #[must_use]
    pub fn outlives_boot(&self) -> bool {
        match self {
            Self::MakeFile { path }
            | Self::MakeDir { path }
            | Self::MakeTree { path }
            | Self::OwnFolder { path, .. } => {
                !["/proc", "/sys", "/dev", "/run"].iter().any(|top| path.starts_with(top))
            }
            Self::WriteSignatures { .. } => true,
            _ => false,
        }
    }

    /// Whether a refusal by the kernel means that nothing was made, so that nothing may be
    /// taken back: what is there then belongs to someone else.
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
                | Self::MountV1 { .. }
        )
    }
}
