//! Disk identities. A kernel name such as sdb may refer to one disk today and another one tomorrow, or
//! after a cable was pulled.

use std::path::{Path, PathBuf};

use assay_sys::kernel::{Error, Root};
use serde::{Deserialize, Serialize};

/// The properties that identify a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskIdentity {
    /// The kernel's sequence number of added disks and media changes (Linux 5.15); it restarts at each
    /// boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diskseq: Option<u64>,
    /// Its device number, `8:16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    /// Its size in sectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sectors: Option<u64>,
    /// Its serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    serial: Option<String>,
    /// Its world-wide name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wwid: Option<String>,
}

/// The disk that now has the recorded name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CurrentDisk {
    /// The recorded disk, or no identity was recorded.
    Same,
    /// No disk has this name.
    Gone,
    /// Another disk.
    Other(DiskIdentity),
}

impl DiskIdentity {
    /// The identity of the disk `name` on this host; `None` if nothing is known.
    pub(super) fn read(root: &Root, name: &str) -> Option<Self> {
        let directory = Path::new("/sys/block").join(name);
        let text = |files: &[&str]| {
            let text = files.iter().find_map(|file| root.read_trimmed(directory.join(file)).ok());
            text.filter(|text| !text.is_empty())
        };
        let number = |file: &str| text(&[file])?.parse().ok();
        let identity = Self {
            diskseq: number("diskseq"),
            device: text(&["dev"]),
            sectors: number("size"),
            serial: text(&["serial", "device/serial"]),
            wwid: text(&["wwid", "device/wwid", "dm/uuid"]),
        };
        (identity != Self::UNKNOWN).then_some(identity)
    }

    const UNKNOWN: Self =
        Self { diskseq: None, device: None, sectors: None, serial: None, wwid: None };

    /// Whether the disk with this device number has the same sequence number.
    pub(super) fn is_behind(&self, root: &Root, numbers: &str) -> bool {
        let now = whole_disk(root, numbers).and_then(|name| Self::read(root, &name));
        self.diskseq.is_some() && self.diskseq == now.and_then(|now| now.diskseq)
    }

    /// The kernel's sequence number of this disk.
    pub(super) const fn diskseq(&self) -> Option<u64> {
        self.diskseq
    }

    /// Whether `now` is this disk, in the same boot.
    fn is(&self, now: &Self) -> bool {
        match (self.diskseq, now.diskseq) {
            (Some(then), Some(now)) => then == now,
            _ => self == now,
        }
    }

    /// Whether `now` is this disk after a reboot, when names and sequence numbers have changed.
    pub(super) fn is_after_boot(&self, now: &Self) -> bool {
        let is_known = self.serial.is_some() || self.wwid.is_some();
        is_known
            && (&self.serial, &self.wwid, self.sectors) == (&now.serial, &now.wwid, now.sectors)
    }

    /// A description of the disk.
    pub(super) fn describe(&self) -> String {
        let mut words = Vec::new();
        if let Some(sectors) = self.sectors {
            words.push(format!("{} MiB", sectors >> 11));
        }
        if let Some(serial) = &self.serial {
            words.push(format!("serial number {serial}"));
        }
        if let Some(wwid) = &self.wwid {
            words.push(format!("wwid {wwid}"));
        }
        if let Some(diskseq) = self.diskseq {
            words.push(format!("diskseq {diskseq}"));
        }
        if words.is_empty() { "nothing is known about it".to_owned() } else { words.join(", ") }
    }
}

/// Compares the disk that has this name now with the recorded one.
pub(super) fn find(root: &Root, name: &str, then: Option<&DiskIdentity>) -> CurrentDisk {
    let Some(then) = then else { return CurrentDisk::Same };
    if !root.exists(Path::new("/sys/block").join(name)) {
        return CurrentDisk::Gone;
    }
    match DiskIdentity::read(root, name) {
        Some(now) if !then.is(&now) => CurrentDisk::Other(now),
        _ => CurrentDisk::Same,
    }
}

/// Restores a setting that vanishes with its disk: its queue, its partitions. Another disk that has the
/// name now is not touched.
pub(super) fn of_same_disk(
    root: &Root,
    name: &str,
    then: Option<&DiskIdentity>,
    restore: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    match find(root, name, then) {
        CurrentDisk::Same => restore(),
        CurrentDisk::Gone | CurrentDisk::Other(_) => Ok(()),
    }
}

/// The name of the disk to which an attribute below /sys/block belongs.
pub(super) fn of_path(path: &Path) -> Option<String> {
    let below = path.strip_prefix("/sys/block").ok()?;
    Some(below.components().next()?.as_os_str().to_str()?.to_owned())
}

/// The whole disk of a device number such as `8:17`: a partition's directory in sysfs is below that of
/// its disk.
pub(crate) fn whole_disk(root: &Root, numbers: &str) -> Option<String> {
    let directory = root.resolve(format!("/sys/dev/block/{numbers}")).canonicalize().ok()?;
    let disk = if directory.join("partition").exists() { directory.parent()? } else { &directory };
    Some(disk.file_name()?.to_string_lossy().into_owned())
}

/// The whole disk of a device node: that of a partition's node is below the disk's directory in sysfs.
pub(super) fn whole_disk_of_node(root: &Root, node: &Path) -> String {
    let name = of_node(node);
    let directory = root.resolve(format!("/sys/class/block/{name}"));
    if !directory.join("partition").exists() {
        return name;
    }
    let whole = directory.canonicalize().ok();
    let whole = whole.as_deref().and_then(Path::parent).and_then(Path::file_name);
    whole.map_or(name, |whole| whole.to_string_lossy().into_owned())
}

/// The directory in sysfs of a device node, be it that of a disk or of a partition.
pub(super) fn sysfs_of_node(node: &Path) -> PathBuf {
    Path::new("/sys/class/block").join(of_node(node))
}

/// The first sector of the partition with this directory in sysfs; nothing for a whole disk.
pub(super) fn first_sector(root: &Root, directory: &Path) -> Option<u64> {
    root.read_trimmed(directory.join("start")).ok()?.parse().ok()
}

/// Refuses to wipe a partition that does not begin where the recorded one did. The same disk may have been partitioned
/// anew since, and a part of the same size and number may hold data of someone else.
pub(super) fn refuse_moved(
    root: &Root,
    device: &Path,
    directory: &Path,
    then: Option<u64>,
) -> Result<(), Error> {
    let Some(then) = then else { return Ok(()) };
    let now = match first_sector(root, directory) {
        Some(now) if now == then => return Ok(()),
        Some(now) => format!("it begins at sector {now}"),
        None => "no partition has its name".to_owned(),
    };
    let hint = format!(
        "{now}, and the partition that was formatted began at sector {then} of the same disk: find what \
         was formatted with `lsblk -o NAME,START,SIZE`, wipe it with `wipefs --all`, then `assay \
         restore --set-aside RUN`"
    );
    Err(Error::unexpected("wipe", device, hint))
}

/// Whether the recorded disk is here, by whatever name.
pub(super) fn is_here(root: &Root, then: &DiskIdentity) -> bool {
    let names = root.list("/sys/block").unwrap_or_default();
    names.iter().any(|name| DiskIdentity::read(root, name).is_some_and(|now| then.is(&now)))
}

/// The file name of a device node.
pub(super) fn of_node(node: &Path) -> String {
    node.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The refusal to wipe another disk than the recorded one.
pub(super) fn refusal(device: &Path, then: &str, now: &str) -> Error {
    let hint = format!(
        "another disk has this name now ({now}); the one that was formatted ({then}) is not here: \
         find it with `lsblk -o NAME,SIZE,SERIAL,WWN`, wipe it with `wipefs --all`, then `assay \
         restore --set-aside RUN`"
    );
    Error::unexpected("wipe", &PathBuf::from(device), hint)
}
