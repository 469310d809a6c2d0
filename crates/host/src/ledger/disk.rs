//! Which disk it is, whatever it is called: a name such as sdb stands for one disk today and for
//! another one tomorrow, or after a cable was pulled.

use std::path::{Path, PathBuf};

use assay_kernel::{Error, Root};
use serde::{Deserialize, Serialize};

/// By what a disk is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskIdentity {
    /// The kernel's count of disks that came and of media that changed (Linux 5.15); it begins
    /// anew with each boot.
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

/// What a name stands for now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The disk that was written down, or one of which nothing was.
    Same,
    /// No disk at all.
    Gone,
    /// Another disk.
    Other(DiskIdentity),
}

impl DiskIdentity {
    /// What this host tells of the disk `name`; `None` where it tells nothing.
    pub(super) fn read(root: &Root, name: &str) -> Option<Self> {
        let place = Path::new("/sys/block").join(name);
        let text = |files: &[&str]| {
            let found = files.iter().find_map(|file| root.read_trimmed(place.join(file)).ok());
            found.filter(|text| !text.is_empty())
        };
        let number = |file: &str| text(&[file])?.parse().ok();
        let found = Self {
            diskseq: number("diskseq"),
            device: text(&["dev"]),
            sectors: number("size"),
            serial: text(&["serial", "device/serial"]),
            wwid: text(&["wwid", "device/wwid", "dm/uuid"]),
        };
        (found != Self::UNKNOWN).then_some(found)
    }

    const UNKNOWN: Self =
        Self { diskseq: None, device: None, sectors: None, serial: None, wwid: None };

    /// Whether the kernel's count says that the disk of this device number is this one.
    pub(super) fn is_behind(&self, root: &Root, numbers: &str) -> bool {
        let now = whole_disk(root, numbers).and_then(|name| Self::read(root, &name));
        self.diskseq.is_some() && self.diskseq == now.and_then(|now| now.diskseq)
    }

    /// The kernel's count of disks when this one came.
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

    /// Whether `now` is this disk after a boot, when names and counts say nothing.
    pub(super) fn is_after_boot(&self, now: &Self) -> bool {
        let is_known = self.serial.is_some() || self.wwid.is_some();
        is_known
            && (&self.serial, &self.wwid, self.sectors) == (&now.serial, &now.wwid, now.sectors)
    }

    /// The disk in words.
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
        if words.is_empty() { "nothing is known of it".to_owned() } else { words.join(", ") }
    }
}

/// What stands in the place of the disk that was written down.
pub(super) fn find(root: &Root, name: &str, then: Option<&DiskIdentity>) -> Found {
    let Some(then) = then else { return Found::Same };
    if !root.exists(Path::new("/sys/block").join(name)) {
        return Found::Gone;
    }
    match DiskIdentity::read(root, name) {
        Some(now) if !then.is(&now) => Found::Other(now),
        _ => Found::Same,
    }
}

/// Takes something back of a disk that has gone with it: its queue, its partitions. Where another
/// disk has its name now, that one is left as it is.
pub(super) fn of_same_disk(
    root: &Root,
    name: &str,
    then: Option<&DiskIdentity>,
    undo: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    match find(root, name, then) {
        Found::Same => undo(),
        Found::Gone | Found::Other(_) => Ok(()),
    }
}

/// The name of the disk whose attribute a path below /sys/block is.
pub(super) fn of_path(path: &Path) -> Option<String> {
    let below = path.strip_prefix("/sys/block").ok()?;
    Some(below.components().next()?.as_os_str().to_str()?.to_owned())
}

/// The whole disk behind a device number, `8:17`: a partition's directory in sysfs stands below
/// that of its disk.
pub(crate) fn whole_disk(root: &Root, numbers: &str) -> Option<String> {
    let place = root.resolve(format!("/sys/dev/block/{numbers}")).canonicalize().ok()?;
    let disk = if place.join("partition").exists() { place.parent()? } else { &place };
    Some(disk.file_name()?.to_string_lossy().into_owned())
}

/// The name of a device node.
pub(super) fn of_node(node: &Path) -> String {
    node.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The refusal to wipe a disk that is not the one that was written to.
pub(super) fn refusal(device: &Path, then: &str, now: &str) -> Error {
    let hint = format!(
        "another disk has this name now ({now}); the one that was formatted ({then}) is not here: \
         find it with `lsblk -o NAME,SIZE,SERIAL,WWN`, wipe it with `wipefs --all`, then `assay \
         restore --set-aside RUN`"
    );
    Error::unexpected("wipe", &PathBuf::from(device), hint)
}
