//! What was read of a host, as plain data. The text of each file is kept as the kernel wrote it, so that a
//! later version can read more out of it.

mod managers;
mod parse;

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_host::facts::Available;
use assay_host::facts::owner::Claimant;
use serde::{Deserialize, Serialize};

pub use managers::{
    Kubelet, MAX_KUBELET_FILES, MAX_UNIT_BYTES, MAX_UNIT_FILES, MAX_UNIT_PATH, MAX_UNIT_SETTINGS,
    MAX_UNITS, UnitFile,
};
pub use parse::Refused;
pub(crate) use parse::parent;

/// The schema of the document.
pub const SCHEMA: u32 = 1;

/// Groups of one hierarchy that are read at most; what is beyond is left out and named.
pub const MAX_GROUPS: usize = 20_000;

/// Levels of groups that are read at most. The kernel's own limit is far above any manager's use.
pub const MAX_DEPTH: usize = 64;

/// Bytes that the paths of a hierarchy's groups may have together. Findings repeat them: a user's deep groups with long names
/// would make documents of gigabytes.
pub const MAX_PATHS: usize = 8 << 20;

/// Bytes of one file that are kept at most.
pub const MAX_FILE: u64 = 64 << 10;

/// The kind of file system of a disk in a pool of ZFS.
pub(crate) const ZFS: &str = "zfs";

/// Places where one disk is mounted that are kept at most. A host of many containers has some thousands.
pub const MAX_MOUNTED: usize = 20_000;

/// Bytes of a path at most (PATH_MAX), and of names and other short texts, some of which findings repeat for each group.
const MAX_NAME: usize = 4096;

/// The groups, disks and settings of a host at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When it was taken, in UTC.
    pub taken_at: String,
    /// The machine.
    pub machine: Machine,
    /// The mounted hierarchies, those of v1 first.
    pub hierarchies: Vec<Hierarchy>,
    /// Block devices except partitions.
    pub disks: Vec<Disk>,
    /// Names that users have given to containers, by id, and to pods, by uid. Before the id of what a user claims stands his uid
    /// with a colon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// Files of such names that were not read, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names_left_out: Vec<String>,
    /// The topmost groups in which others than root may make groups, and name them as they like, with who may.
    #[serde(
        default,
        deserialize_with = "parse::claimants",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub delegated: BTreeMap<String, Claimant>,
    /// Units of the systemd that made the groups, where their files set resources: the unit's own file and its drop-ins, in the order in which
    /// systemd reads them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, Vec<UnitFile>>,
    /// Units whose files were not read, with the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units_left_out: Option<String>,
    /// What the kubelet that runs was configured to, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<Available<Kubelet>>,
}

/// The machine as far as rules depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `uname -n`.
    pub name: Available<String>,
    /// `uname -r`.
    pub kernel: Available<String>,
    /// CPUs that are online, as a list.
    pub cpus: Available<String>,
    /// `MemTotal`, in bytes.
    pub memory: Available<u64>,
    /// `SwapTotal`, in bytes.
    pub swap: Available<u64>,
    /// Other files of /proc and /sys by path: sysctls, sched_ext, pressure.
    pub files: BTreeMap<String, Available<String>>,
    /// Whether the kernel's types (BTF) and functions (/proc/kallsyms) show that it has something known of kernels, by its code; what they do
    /// not tell, or cannot be read, is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signs: BTreeMap<String, bool>,
    /// By which law weights of CPU divide; absent in snapshots of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_mode: Option<Available<String>>,
    /// The effective user that has read all this; 0 is root.
    pub user: Available<u32>,
}

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hierarchy {
    /// `v2`, its v1 controllers as mounted (`cpu,cpuacct`), or `name=systemd`.
    pub name: String,
    /// Whether it is cgroup2.
    pub is_v2: bool,
    /// Its mount point.
    pub mount: PathBuf,
    /// Options of the mount, such as `memory_recursiveprot`.
    pub options: Vec<String>,
    /// Its controllers, by v2 name (`io`, not `blkio`).
    pub controllers: Vec<String>,
    /// Whether the top of the mount is the top of the hierarchy. In a container it is a group
    /// somewhere inside, and what is above cannot be seen.
    pub is_whole: bool,
    /// The groups, parents before children; the first is the top, `/`.
    pub groups: Vec<Group>,
    /// Processes in the top itself that are no kernel threads; only for the hierarchy of cpu, and only if it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loose: Option<Available<u64>>,
    /// Why some groups were left out, if any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// A group in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its path below the mount.
    pub path: String,
    /// Threads in it, without those of groups below.
    pub threads: Available<u64>,
    /// Its interface files with their texts. A file that does not exist is not listed.
    pub files: BTreeMap<String, Available<String>>,
    /// Devices (`8:0`) on which its processes have files open; only for groups with a setting of I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_on: Option<Available<Vec<String>>>,
    /// Threads in it with a real-time policy; only where it, or a group above, has a weight or quota of CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_time: Option<Available<u64>>,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// The kernel's name.
    pub name: String,
    /// Its numbers, `8:0`.
    pub device: String,
    /// Its size in bytes; 0 for a loop device without an image.
    pub size: u64,
    /// `queue/scheduler`; absent for a device without a queue of requests, such as those of dm and md.
    pub scheduler: Available<String>,
    /// Names and numbers of its partitions.
    pub partitions: BTreeMap<String, String>,
    /// The devices that it is made of, which may be partitions.
    pub slaves: Vec<String>,
    /// The devices that are made of it.
    pub holders: Vec<String>,
    /// The device with the image of a loop device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_on: Option<String>,
    /// `queue/nr_requests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u64>,
    /// What makes it of its slaves: `crypt` (`crypt zoned` on a disk of zones), `linear` and other kinds of dm, `raid5` of md, `bcache`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// Kinds of the file systems that are mounted from it, or from a partition of it, with `data=journal` behind one mounted so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<String>,
    /// Where it, or a partition of it, is mounted; at most 20000 places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounted: Vec<String>,
}
