//! On which disks the processes of a group have files open, without asking any file system: a server of NFS that
//! does not answer cannot hold an audit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_host::facts::Available;
use assay_sys::kernel::parse::mountinfo::{self, Mount};
use assay_sys::kernel::{Error, Root};

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
        let root = tasks.root.clone();
        match tasks.queries.borrow_mut().run(process, move || of_process(&root, process)) {
            Ok(Ok(found)) => devices.extend(found),
            Ok(Err(error)) if error.is(rustix::io::Errno::ACCESS) => {
                refused = Some(error.to_string());
            }
            // It has ended meanwhile.
            Ok(Err(_)) => {}
            Err(why) => refused = Some(why),
        }
    }
    match refused {
        Some(why) if devices.is_empty() => Available::NotAvailable(why),
        _ => Available::Value(devices.into_iter().collect()),
    }
}

fn of_process(root: &Root, process: u32) -> Result<BTreeSet<String>, Error> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let mut devices = BTreeSet::new();
    let files = root.list(folder.join("fd"))?;
    let mounts = mountinfo::parse(&root.read_at_most(folder.join("mountinfo"), MAX_TABLE)?);
    for file in files.iter().take(MAX_FILES) {
        let target = root.link(folder.join("fd").join(file)).unwrap_or_default();
        devices.extend(match target.strip_prefix("/dev/") {
            Some(name) => device_of_node(root, name),
            None => mount_of(&mounts, &target).and_then(|mount| of(root, mount)),
        });
    }
    Ok(devices)
}

/// The mount in which a file is, by its path. The number of its mount is in fdinfo, which is not read: of an epoll instance with a file
/// on FUSE its reader waits, beyond SIGKILL, for as long as a user likes (fs/eventpoll.c, `ep_show_fdinfo`).
fn mount_of<'m>(mounts: &'m [Mount], path: &str) -> Option<&'m Mount> {
    // A file in memory, whose name looks like a path.
    let is_memory = path.starts_with("/memfd:");
    let above =
        mounts.iter().filter(|mount| !is_memory && Path::new(path).starts_with(&mount.target));
    // Of those at the same place the last one, which hides the others.
    above.max_by_key(|mount| mount.target.as_os_str().len())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_the_last_of_the_nearest_mounts_above_it() {
        let mounts = mountinfo::parse(
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /a rw - ext4 /dev/sda2 rw\n\
             3 1 8:3 / /a rw - ext4 /dev/sda3 rw\n4 1 8:4 / /ab rw - ext4 /dev/sda4 rw\n",
        );
        let device = |path| mount_of(&mounts, path).map(|mount| mount.device.as_str());
        for (path, expected) in [
            ("/a/file", Some("8:3")),
            ("/abc", Some("8:1")),
            ("/ab (deleted)", Some("8:1")),
            ("/ab/c (deleted)", Some("8:4")),
            ("/memfd:a (deleted)", None),
            ("anon_inode:[eventpoll]", None),
            ("", None),
        ] {
            assert_eq!(device(path), expected, "{path}");
        }
    }
}
