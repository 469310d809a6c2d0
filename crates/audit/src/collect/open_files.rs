//! On which disks the processes of a group have files open, without asking any file system: a server of NFS that
//! does not answer cannot hold an audit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_host::facts::Available;
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::mountinfo::{self, Mount};

use super::threads::Tasks;

/// Processes of one group that are looked at.
const MAX_PROCESSES: usize = 32;

/// Files of one process that are looked at.
const MAX_FILES: usize = 64;

/// Bytes of a table of mounts.
const MAX_TABLE: u64 = 1 << 20;

/// Device numbers, as `8:0`, sorted.
pub(super) fn devices(tasks: &Tasks, group: &Path) -> Available<Vec<String>> {
    let processes = match tasks.ids(&group.join("cgroup.procs")) {
        Ok(ids) => ids,
        Err(why) => return Available::NotAvailable(why),
    };
    let mut devices = BTreeSet::new();
    let mut refused = None;
    for process in processes.into_iter().take(MAX_PROCESSES) {
        let folder = PathBuf::from(format!("/proc/{process}"));
        match of_process(tasks.root, &folder, &mut devices) {
            Err(error) if error.is(rustix::io::Errno::ACCESS) => refused = Some(error.to_string()),
            // Others have ended meanwhile.
            _ => {}
        }
    }
    match refused {
        Some(why) if devices.is_empty() => Available::NotAvailable(why),
        _ => Available::Value(devices.into_iter().collect()),
    }
}

fn of_process(
    root: &Root,
    folder: &Path,
    devices: &mut BTreeSet<String>,
) -> Result<(), assay_sys::kernel::Error> {
    let files = root.list(folder.join("fd"))?;
    let mounts = mountinfo::parse(&root.read_at_most(folder.join("mountinfo"), MAX_TABLE)?);
    let by_id: BTreeMap<u64, &Mount> = mounts.iter().map(|mount| (mount.id, mount)).collect();
    for file in files.iter().take(MAX_FILES) {
        let target = root.link(folder.join("fd").join(file)).unwrap_or_default();
        if let Some(name) = target.strip_prefix("/dev/") {
            devices.extend(device_of_node(root, name));
            continue;
        }
        let Ok(info) = root.read_at_most(folder.join("fdinfo").join(file), MAX_TABLE) else {
            continue;
        };
        devices.extend(
            mount_id(&info).and_then(|id| by_id.get(&id)).and_then(|mount| of(root, mount)),
        );
    }
    Ok(())
}

fn mount_id(info: &str) -> Option<u64> {
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

/// The numbers of a file system's device. One of btrfs has numbers of its own, which no disk has.
fn of(root: &Root, mount: &Mount) -> Option<String> {
    let by_source = || device_of_node(root, mount.source.strip_prefix("/dev/")?);
    if mount.device.starts_with("0:") { by_source() } else { Some(mount.device.clone()) }
}

/// The numbers of a block device by its name in /dev.
fn device_of_node(root: &Root, name: &str) -> Option<String> {
    let is_plain = !name.contains('/') && !name.starts_with('.');
    let file = is_plain.then(|| format!("/sys/class/block/{name}/dev"))?;
    root.read_trimmed(file).ok()
}
