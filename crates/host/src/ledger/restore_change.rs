//! Restores one change. Every function here has no effect if the change was never made or is restored
//! already, so it may be called again after a crash at any point.

use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use assay_sys::files::{Caller, Dir, Identity};
use assay_sys::kernel::{Error, Root, block, partition};
use rustix::io::Errno;

use super::change::{Area, Change, is_on_disk};
use super::crash_point::crash_point;
use super::disk::{self, CurrentDisk, DiskIdentity};
use super::make::above;
use super::while_busy::{unmount_each, while_busy};
use super::{controllers, foreign_group, group, loop_device, queue, setting, stacked_disk};

/// A file that every run folder has from its beginning; no other directory is given away.
const EVENTS: &str = "events.jsonl";

/// `made` is the identity of the directory or file that the change created, where recorded.
pub(super) fn restore(root: &Root, change: &Change, made: Option<Identity>) -> Result<(), Error> {
    match change {
        Change::WriteFile { path, before, disk, .. } => {
            let name = disk::of_path(path).unwrap_or_default();
            disk::of_same_disk(root, &name, disk.as_ref(), || {
                queue::write_back_one(root, path, before)
            })
        }
        Change::WriteOneOf { path, before, other, other_before, .. } => {
            setting::write_back_pair(root, (path, before), (other, other_before))
        }
        Change::SetGroup { path, before, device, inode, .. } => {
            let then = Identity { device: *device, inode: *inode };
            foreign_group::restore(root, path, before, then)
        }
        Change::Request { path, inverse, .. } => controllers::restore(root, path, inverse),
        Change::KeepQueue { device, attributes, disk } => {
            disk::of_same_disk(root, device, disk.as_ref(), || {
                queue::write_back(root, device, attributes)
            })
        }
        Change::MakeDir { path } => remove_empty(root, path),
        Change::MakeTree { path } => remove_tree(root, path, made),
        Change::MakeGroup { path } => group::remove(root, path),
        Change::MakeFile { path } => unlink(root, path, made),
        Change::AddLoop { number, image, file } => {
            real(root, change, || loop_device::remove(root, *number, image.as_deref(), *file))
        }
        Change::AttachLoop { image, file } => {
            real(root, change, || loop_device::detach(root, image, *file))
        }
        Change::AddPartition { device, number, disk } => real(root, change, || {
            disk::of_same_disk(root, &disk::of_node(device), disk.as_ref(), || {
                forget_partition(device, *number)
            })
        }),
        Change::Mount { target, device, disk } => {
            real(root, change, || unmount(root, target, device.as_deref(), disk.as_ref()))
        }
        Change::OwnFolder { path, uid, gid } => {
            hand_over(root, path, made, Caller { uid: *uid, gid: *gid })
        }
        Change::NullBlk { path } => remove_null_block(root, path),
        Change::StackDisk { layer, name, below } => {
            real(root, change, || stacked_disk::remove(root, *layer, name, below))
        }
        Change::WriteSignatures { device, areas, disk, first_sector } => {
            if !is_present(root, device, disk.as_ref(), *first_sector)? {
                return Ok(());
            }
            real(root, change, || {
                wipe_signatures(root, device, areas, disk.as_ref(), *first_sector)
            })
        }
    }
}

/// Restores a change made before the last reboot. State in the kernel's memory is gone, and device
/// names may refer to other devices now.
pub(super) fn restore_after_boot(
    root: &Root,
    change: &Change,
    made: Option<Identity>,
) -> Result<(), Error> {
    match change {
        Change::WriteSignatures { device, areas, disk, first_sector } => {
            let now = DiskIdentity::read(root, &disk::whole_disk_of_node(root, device));
            let is_it =
                |then: &DiskIdentity| now.as_ref().is_some_and(|now| then.is_after_boot(now));
            if disk.as_ref().is_some_and(is_it) {
                disk::refuse_moved(root, device, &disk::sysfs_of_node(device), *first_sector)?;
                // Sequence numbers of disks have restarted.
                return real(root, change, || {
                    wipe_signatures(root, device, areas, None, *first_sector)
                });
            }
            let was = disk.as_ref().map_or_else(no_number, DiskIdentity::describe);
            let hint = format!(
                "the machine was rebooted since, and the disk ({was}) cannot be identified by a \
                 serial number, or {} is a different one now: find it with `lsblk -o NAME,SIZE,SERIAL`, \
                 wipe it with `wipefs --all`, then `assay restore --set-aside RUN`",
                device.display()
            );
            Err(Error::unexpected("wipe", device, hint))
        }
        change if change.outlives_boot() => {
            // Devices of file systems are renumbered at boot; inodes stay the same.
            let path = match change {
                Change::MakeTree { path }
                | Change::MakeFile { path }
                | Change::OwnFolder { path, .. } => path,
                _ => return restore(root, change, made),
            };
            let device = match above(root, path).map(|(dir, _)| dir.identity()) {
                Ok(identity) => identity?.device,
                Err(_) => return restore(root, change, made),
            };
            restore(root, change, made.map(|made| Identity { device, ..made }))
        }
        _ => Ok(()),
    }
}

fn no_number() -> String {
    "had no serial number".to_owned()
}

/// Whether the recorded disk is present. A removed disk took its contents along; another one with its
/// name is not ours to wipe, and neither is another part of it. One that is here without the partition still has what
/// was written there, so nothing counts as restored.
fn is_present(
    root: &Root,
    device: &Path,
    then: Option<&DiskIdentity>,
    first_sector: Option<u64>,
) -> Result<bool, Error> {
    let was = then.map_or_else(no_number, DiskIdentity::describe);
    match disk::find(root, &disk::whole_disk_of_node(root, device), then) {
        CurrentDisk::Gone if then.is_some_and(|then| disk::is_here(root, then)) => {
            let hint = format!(
                "it is missing, but its disk ({was}) is here: add the partition again with `partprobe`, or \
                 wipe what was formatted with `wipefs --all`, then `assay restore --set-aside RUN`"
            );
            Err(Error::unexpected("wipe", device, hint))
        }
        CurrentDisk::Gone => Ok(false),
        CurrentDisk::Other(now) => Err(disk::refusal(device, &was, &now.describe())),
        CurrentDisk::Same if then.is_none() => {
            Err(disk::refusal(device, &was, "its identity was not recorded"))
        }
        CurrentDisk::Same => {
            let directory = disk::sysfs_of_node(device);
            disk::refuse_moved(root, device, &directory, first_sector).map(|()| true)
        }
    }
}

/// These changes are system calls and have no counterpart in a fake host tree.
fn real(
    root: &Root,
    change: &Change,
    restore: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    if root.is_real() {
        return restore();
    }
    #[cfg(test)]
    return super::fake::restore(root, change);
    #[cfg(not(test))]
    Err(Error::unexpected("restore", &root.resolve("/"), change.describe())
        .with_hint("only a real host has devices and mounts"))
}

fn gone_is_fine(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if queue::is_gone(&error) => Ok(()),
        other => other,
    }
}

/// Removes a directory with its contents, if it has the recorded identity: without following links and
/// without entering another file system. Without a recorded identity this run has put nothing into it.
fn remove_tree(root: &Root, path: &Path, made: Option<Identity>) -> Result<(), Error> {
    let Some(made) = made else { return remove_empty(root, path) };
    match above(root, path) {
        Err(error) if queue::is_gone(&error) => Ok(()),
        Err(error) => Err(error),
        Ok((dir, name)) => {
            let mut between = || crash_point().map_err(|error| io::Error::other(error.to_string()));
            dir.remove_own_tree(name, made, &mut between)?;
            settle(&dir, path)
        }
    }
}

fn remove_empty(root: &Root, path: &Path) -> Result<(), Error> {
    match above(root, path) {
        Err(error) if queue::is_gone(&error) => Ok(()),
        Err(error) => Err(error),
        Ok((dir, name)) => {
            crash_point()?;
            dir.remove_dir(name)?;
            settle(&dir, path)
        }
    }
}

/// Removes a file if it has the recorded identity. Without a recorded identity it must be empty.
fn unlink(root: &Root, path: &Path, made: Option<Identity>) -> Result<(), Error> {
    let (dir, name) = match above(root, path) {
        Err(error) if queue::is_gone(&error) => return Ok(()),
        result => result?,
    };
    crash_point()?;
    let Some(made) = made else {
        return match dir.read(name) {
            Err(error) if error.is_missing() => settle(&dir, path),
            Err(error) => Err(error.into()),
            Ok(file) if file.metadata().is_ok_and(|metadata| metadata.len() == 0) => {
                dir.remove_file(name)?;
                settle(&dir, path)
            }
            Ok(_) => {
                let hint = "it is not the empty file that this run created there";
                Err(Error::unexpected("unlink", path, hint))
            }
        };
    };
    dir.remove_own_file(name, made)?;
    settle(&dir, path)
}

/// Waits until it is on disk that `path` is gone: the ledger forgets it next, maybe on another file system.
fn settle(dir: &Dir, path: &Path) -> Result<(), Error> {
    crash_point()?;
    match is_on_disk(path).then(|| dir.sync()) {
        // Some file systems cannot sync a directory (fsync(2)).
        Some(Err(error)) if !error.is(Errno::INVAL) => Err(error.into()),
        _ => Ok(()),
    }
}

fn forget_partition(device: &Path, number: u32) -> Result<(), Error> {
    gone_is_fine(while_busy(|| partition::remove(device, number)))
}

/// Unmounts the file system of this device that is mounted at `target`, and that of this disk at a
/// mount point of the same name elsewhere: a directory above it may have been renamed. A bind mount of
/// a part of a file system is never a mount of a run.
pub(super) fn unmount(
    root: &Root,
    target: &Path,
    device: Option<&str>,
    disk: Option<&DiskIdentity>,
) -> Result<(), Error> {
    // Another disk may have the number by now; then only the mount point identifies ours.
    let is_same_disk = device.zip(disk).is_some_and(|(number, disk)| disk.is_behind(root, number));
    let is_moved = |at: &Path| is_same_disk && at.file_name() == target.file_name();
    unmount_each(root, &|mount| {
        device.is_none_or(|device| mount.device == device)
            && mount.root == "/"
            && (mount.target == target || is_moved(&mount.target))
    })
}

/// Gives a run folder to the user who called sudo, if it has the recorded identity. One that the user
/// has renamed meanwhile stays root's: nothing else is given away in its place.
fn hand_over(root: &Root, path: &Path, made: Option<Identity>, to: Caller) -> Result<(), Error> {
    let Some(made) = made else { return Ok(()) };
    let Ok(folder) = above(root, path).and_then(|(dir, name)| Ok(dir.dir(name)?)) else {
        return Ok(());
    };
    crash_point()?;
    match folder.identity()? == made && folder.has_file(EVENTS) {
        true => Ok(folder.hand_over_tree(to)?),
        false => Ok(()),
    }
}

fn remove_null_block(root: &Root, path: &Path) -> Result<(), Error> {
    let power = path.join("power");
    if root.exists(&power) {
        root.write(&power, "0")?;
        crash_point()?;
    }
    if !root.is_real() {
        group::remove_fake_files(root, path)?;
    }
    gone_is_fine(while_busy(|| root.remove_dir(path)))
}

/// Zeroes the first and the last MiB of each area, which hold partition tables and the signatures of
/// all file systems in use.
pub(super) fn wipe_signatures(
    root: &Root,
    device: &Path,
    areas: &[Area],
    then: Option<&DiskIdentity>,
    first_sector: Option<u64>,
) -> Result<(), Error> {
    const EDGE: u64 = 1 << 20;
    let wrong = |cause: &io::Error| Error::new("wipe", device, cause);
    let mut file = match block::open_exclusive(device) {
        // A partition may have been removed from a disk that stays: only a whole disk is gone for good.
        Err(error) if queue::is_gone(&error) && first_sector.is_none() => return Ok(()),
        other => other?,
    };
    // The disk may have been swapped since the check: compare the one that is open.
    if let (Some(then), Some(now)) = (then, block::diskseq(&file))
        && then.diskseq().is_some_and(|then| then != now)
    {
        return Err(disk::refusal(device, &then.describe(), &format!("diskseq {now}")));
    }
    // So may the partition, on the same disk: compare the one that is open, which nobody can remove.
    if first_sector.is_some() {
        let numbers = block::numbers_of(&file, device)?.to_string();
        let directory = Path::new("/sys/dev/block").join(numbers);
        disk::refuse_moved(root, device, &directory, first_sector)?;
    }
    let size = file.seek(io::SeekFrom::End(0)).map_err(|cause| wrong(&cause))?;
    if areas.first().is_some_and(|whole| whole.start == 0 && whole.length != size) {
        let hint = "its size has changed since it was formatted: look at it, wipe it with `wipefs --all`, \
                    then `assay restore --set-aside RUN`";
        return Err(Error::unexpected("wipe", device, hint));
    }
    let zeros = vec![0; EDGE as usize];
    for area in areas {
        let edge = EDGE.min(area.length);
        let zeros = &zeros[..usize::try_from(edge).unwrap_or(zeros.len())];
        let end = area.start.checked_add(area.length).ok_or_else(|| {
            Error::unexpected("wipe", device, "the ledger names an area beyond any disk")
        })?;
        for offset in [area.start, end - edge] {
            crash_point()?;
            file.write_all_at(zeros, offset).map_err(|cause| wrong(&cause))?;
        }
    }
    file.flush().and_then(|()| file.sync_all()).map_err(|cause| wrong(&cause))
}
