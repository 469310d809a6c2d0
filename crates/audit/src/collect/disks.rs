//! Block devices and what is stacked on them.

use std::collections::BTreeMap;
use std::path::Path;

use assay_sys::kernel::Root;
use assay_sys::kernel::parse::mountinfo::{self, Mount};

use super::read::{number, text, trimmed};
use crate::snapshot::{Disk, MAX_MOUNTED, ZFS};

const BLOCK: &str = "/sys/block";

/// Devices that are read at most.
const MAX_DISKS: usize = 10_000;

pub(super) fn read(root: &Root) -> Vec<Disk> {
    let table = root.mount_table().unwrap_or_default();
    let mounts = mountinfo::parse(&table);
    let names = root.list(BLOCK).unwrap_or_default();
    names.iter().take(MAX_DISKS).filter_map(|name| disk(root, name, &mounts)).collect()
}

fn disk(root: &Root, name: &str, mounts: &[Mount]) -> Option<Disk> {
    const SECTOR: u64 = 512;
    let directory = Path::new(BLOCK).join(name);
    let own_device = text(root, directory.join("dev"))?.trim().to_owned();
    let sectors: Option<u64> = number(root, directory.join("size"));
    let partitions = partitions(root, &directory, name);
    let mapped =
        text(root, directory.join("dm/name")).map(|name| format!("mapper/{}", name.trim()));
    // A file system of btrfs has numbers of its own, and is found by the name of its device. Those of FUSE have any name that a user
    // gives them.
    let is_named = |mount: &Mount| {
        let source = mount.source.strip_prefix("/dev/").filter(|_| mount.kind == "btrfs");
        source.is_some_and(|source| {
            source == name || partitions.contains_key(source) || mapped.as_deref() == Some(source)
        })
    };
    let is_of = |mount: &&Mount| {
        let device = &mount.device;
        *device == own_device || partitions.values().any(|part| part == device) || is_named(mount)
    };
    let own: Vec<&Mount> = mounts.iter().filter(is_of).collect();
    let mut file_systems: Vec<String> = own.iter().map(|mount| kind(mount)).collect();
    let is_in_use = mounts.iter().any(|mount| mount.kind == ZFS);
    if is_in_use && partitions.values().chain([&own_device]).any(|one| is_of_pool(root, one)) {
        file_systems.push(ZFS.to_owned());
    }
    file_systems.sort();
    file_systems.dedup();
    let places = own.iter().map(|mount| mount.target.display().to_string());
    Some(Disk {
        name: name.to_owned(),
        size: sectors.unwrap_or(0).saturating_mul(SECTOR),
        scheduler: trimmed(root, directory.join("queue/scheduler")),
        slaves: root.list(directory.join("slaves")).unwrap_or_default(),
        holders: root.list(directory.join("holders")).unwrap_or_default(),
        nr_requests: number(root, directory.join("queue/nr_requests")),
        image_on: image_on(root, &directory, mounts),
        stack: stack(root, &directory, name),
        file_systems,
        mounted: places.take(MAX_MOUNTED).collect(),
        device: own_device,
        partitions,
    })
}

/// Whether a device is part of a pool of ZFS, whose mounts name the pool and no device: udev has looked.
fn is_of_pool(root: &Root, device: &str) -> bool {
    let known = text(root, format!("/run/udev/data/b{device}")).unwrap_or_default();
    known.lines().any(|line| line == "E:ID_FS_TYPE=zfs_member")
}

/// The kind of a file system. One of ext that journals data says of no write whose it is (fs/ext4/super.c, SB_I_CGROUPWB).
fn kind(mount: &Mount) -> String {
    let journals = mount.options.iter().any(|option| option == "data=journal");
    if journals { format!("{} data=journal", mount.kind) } else { mount.kind.clone() }
}

/// `CRYPT-LUKS2-...` in the uuid of a device of dm, which tools give it; those of LVM may be of any kind.
fn stack(root: &Root, directory: &Path, name: &str) -> Option<String> {
    if let Some(level) = text(root, directory.join("md/level")) {
        return Some(level.trim().to_owned());
    }
    if name.starts_with("bcache") {
        return Some("bcache".to_owned());
    }
    let uuid = text(root, directory.join("dm/uuid"))?;
    let kind = uuid.trim().split('-').next().filter(|word| !word.is_empty())?;
    let zones = text(root, directory.join("queue/zoned"));
    let is_zoned = zones.is_some_and(|zones| zones.trim() != "none");
    Some(kind.to_lowercase() + if is_zoned { " zoned" } else { "" })
}

/// The device of the mount on which the image of a loop device lies: the one with the longest path.
fn image_on(root: &Root, directory: &Path, mounts: &[Mount]) -> Option<String> {
    let image = text(root, directory.join("loop/backing_file"))?;
    let over = mounts.iter().filter(|mount| Path::new(image.trim()).starts_with(&mount.target));
    over.max_by_key(|mount| mount.target.components().count()).map(|mount| mount.device.clone())
}

/// Subdirectories that begin with the disk's own name are its partitions.
fn partitions(root: &Root, directory: &Path, disk: &str) -> BTreeMap<String, String> {
    let names = root.directories(directory).unwrap_or_default();
    let own = names.into_iter().filter(|name| name.starts_with(disk));
    own.filter_map(|name| {
        let device = text(root, directory.join(&name).join("dev"))?;
        Some((name, device.trim().to_owned()))
    })
    .collect()
}
