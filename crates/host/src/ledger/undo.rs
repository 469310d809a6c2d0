//! Taking one change back. Every function here does nothing when the change was never made or
//! is back already, so that it may be called again after a crash at any point.

use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use assay_files::{Caller, Identity};
use assay_kernel::parse::mountinfo;
use assay_kernel::{Error, Root, block, mount, partition};
use rustix::io::Errno;

use super::change::{Area, Change};
use super::crash_point::crash_point;
use super::disk::{self, DiskIdentity, Found};
use super::make::above;
use super::{controllers, group, loop_device, queue, setting, v1_mount};
use crate::poll_until::wait_for_end;

/// What every run folder has from its beginning, so that no other directory is given away.
const EVENTS: &str = "events.jsonl";

/// How long something may stay in use before taking it back is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// `made` is which directory or file the change has made, where that was written down.
pub(super) fn undo(root: &Root, change: &Change, made: Option<Identity>) -> Result<(), Error> {
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
        Change::Request { path, inverse, .. } => controllers::take_back(root, path, inverse),
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
        Change::MountV1 { controller, target } => {
            real(root, change, || v1_mount::release(root, controller, target))
        }
        Change::NullBlk { path } => remove_null_block(root, path),
        Change::WriteSignatures { device, areas, disk } => {
            if !is_there_to_wipe(root, device, disk.as_ref())? {
                return Ok(());
            }
            real(root, change, || wipe_signatures(device, areas, disk.as_ref()))
        }
    }
}

/// Takes a change back that was made before the last reboot. What lived in the kernel's memory
/// went with it, and names of devices may stand for other devices now.
pub(super) fn undo_after_boot(
    root: &Root,
    change: &Change,
    made: Option<Identity>,
) -> Result<(), Error> {
    match change {
        Change::WriteSignatures { device, areas, disk } => {
            let now = DiskIdentity::read(root, &disk::of_node(device));
            let is_it =
                |then: &DiskIdentity| now.as_ref().is_some_and(|now| then.is_after_boot(now));
            if disk.as_ref().is_some_and(is_it) {
                // The count of disks has begun anew.
                return real(root, change, || wipe_signatures(device, areas, None));
            }
            let was = disk.as_ref().map_or_else(no_number, DiskIdentity::describe);
            let hint = format!(
                "the machine was booted since, the disk ({was}) cannot be told from others by a \
                 serial number, or {} is another one now: find it with `lsblk -o NAME,SIZE,SERIAL`, \
                 wipe it with `wipefs --all`, then `assay restore --set-aside RUN`",
                device.display()
            );
            Err(Error::unexpected("wipe", device, hint))
        }
        change if change.outlives_boot() => {
            // Devices of file systems are numbered anew; inodes stand on the disk.
            let path = match change {
                Change::MakeTree { path }
                | Change::MakeFile { path }
                | Change::OwnFolder { path, .. } => path,
                _ => return undo(root, change, made),
            };
            let device = match above(root, path).map(|(dir, _)| dir.identity()) {
                Ok(found) => found?.device,
                Err(_) => return undo(root, change, made),
            };
            undo(root, change, made.map(|made| Identity { device, ..made }))
        }
        _ => Ok(()),
    }
}

fn no_number() -> String {
    "had no serial number".to_owned()
}

/// Whether the disk that was written to is there. One that was pulled took its content along;
/// another one that has its name is not ours to wipe.
fn is_there_to_wipe(
    root: &Root,
    device: &Path,
    then: Option<&DiskIdentity>,
) -> Result<bool, Error> {
    let was = then.map_or_else(no_number, DiskIdentity::describe);
    match disk::find(root, &disk::of_node(device), then) {
        Found::Gone => Ok(false),
        Found::Other(now) => Err(disk::refusal(device, &was, &now.describe())),
        Found::Same if then.is_none() => {
            Err(disk::refusal(device, &was, "nothing is known of either"))
        }
        Found::Same => Ok(true),
    }
}

/// These changes are system calls and have no counterpart in a tree that stands in for a host.
fn real(
    root: &Root,
    change: &Change,
    undo: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    if root.is_real() {
        return undo();
    }
    #[cfg(test)]
    return super::fake::undo(root, change);
    #[cfg(not(test))]
    Err(Error::unexpected("undo", &root.resolve("/"), change.describe())
        .with_hint("only the host itself has devices and mounts"))
}

fn gone_is_fine(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if queue::is_gone(&error) => Ok(()),
        other => other,
    }
}

/// Removes a directory with what is in it, if it is the one that was made: without following links
/// and without entering another file system. Where it was not written down which one that is, nobody
/// of this run has put anything into it.
fn remove_tree(root: &Root, path: &Path, made: Option<Identity>) -> Result<(), Error> {
    let Some(made) = made else { return remove_empty(root, path) };
    match above(root, path) {
        Err(error) if queue::is_gone(&error) => Ok(()),
        Err(error) => Err(error),
        Ok((dir, name)) => {
            let mut between = || crash_point().map_err(|error| io::Error::other(error.to_string()));
            Ok(dir.remove_own_tree(name, made, &mut between)?)
        }
    }
}

fn remove_empty(root: &Root, path: &Path) -> Result<(), Error> {
    match above(root, path) {
        Err(error) if queue::is_gone(&error) => Ok(()),
        Err(error) => Err(error),
        Ok((dir, name)) => Ok(dir.remove_dir(name).map(|_| ())?),
    }
}

/// Removes a file if it is the one that was made. Where it was not written down which one that is,
/// it is empty.
fn unlink(root: &Root, path: &Path, made: Option<Identity>) -> Result<(), Error> {
    let (dir, name) = match above(root, path) {
        Err(error) if queue::is_gone(&error) => return Ok(()),
        found => found?,
    };
    let Some(made) = made else {
        return match dir.read(name) {
            Err(error) if error.is_missing() => Ok(()),
            Err(error) => Err(error.into()),
            Ok(file) if file.metadata().is_ok_and(|found| found.len() == 0) => {
                Ok(dir.remove_file(name).map(|_| ())?)
            }
            Ok(_) => {
                let hint = "it is not the empty file that this run made there";
                Err(Error::unexpected("unlink", path, hint))
            }
        };
    };
    Ok(dir.remove_own_file(name, made).map(|_| ())?)
}

/// Repeats what the kernel answers with EBUSY until it succeeds or patience ends.
pub(super) fn while_busy(action: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    while_busy_for(PATIENCE, action)
}

/// The same with a patience of its own.
pub(super) fn while_busy_for(
    patience: Duration,
    mut action: impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    let mut result = Ok(());
    wait_for_end(patience, || {
        result = action();
        !matches!(&result, Err(error) if error.is(Errno::BUSY))
    });
    result
}

fn forget_partition(device: &Path, number: u32) -> Result<(), Error> {
    gone_is_fine(while_busy(|| partition::remove(device, number)))
}

/// Unmounts the file system of this device that is mounted at `target`, and that of this disk in a
/// place of the same name elsewhere: somebody may have renamed a directory above it. A part of a file
/// system that is mounted there (a bind mount) is none that a run has mounted.
pub(super) fn unmount(
    root: &Root,
    target: &Path,
    device: Option<&str>,
    disk: Option<&DiskIdentity>,
) -> Result<(), Error> {
    // Another disk may have the number by now; then only the place says what was ours.
    let is_same_disk = device.zip(disk).is_some_and(|(number, disk)| disk.is_behind(root, number));
    let is_moved = |at: &Path| is_same_disk && at.file_name() == target.file_name();
    unmount_each(root, &|mount| {
        device.is_none_or(|device| mount.device == device)
            && mount.root == "/"
            && (mount.target == target || is_moved(&mount.target))
    })
}

/// Unmounts all that is ours, the last one first. What somebody else has mounted over it is in the
/// way and is not touched.
pub(super) fn unmount_each(
    root: &Root,
    is_ours: &dyn Fn(&mountinfo::Mount) -> bool,
) -> Result<(), Error> {
    loop {
        let mounts = mountinfo::parse(&root.read("/proc/self/mountinfo")?);
        let Some(at) = mounts.iter().rfind(|mount| is_ours(mount)).map(|mount| &mount.target)
        else {
            return Ok(());
        };
        // The last one lies over the others, and is what unmounting takes.
        let last = mounts.iter().rfind(|mount| mount.target == *at);
        if let Some(over) = last.filter(|mount| !is_ours(mount)) {
            let hint = format!("{} is mounted over it: unmount that first", over.source);
            return Err(Error::unexpected("unmount", at, hint));
        }
        while_busy(|| mount::unmount(at)).map_err(|error| {
            error.with_hint(format!("end what uses it: fuser -vm {}", at.display()))
        })?;
    }
}

/// Gives a run folder to the user who called sudo, if it is the one that was taken. One that the user
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

/// Zeros over the first and the last MiB of each area: partition tables and the signatures of
/// all file systems that are in use stand there.
pub(super) fn wipe_signatures(
    device: &Path,
    areas: &[Area],
    then: Option<&DiskIdentity>,
) -> Result<(), Error> {
    const EDGE: u64 = 1 << 20;
    let wrong = |cause: &io::Error| Error::new("wipe", device, cause);
    let mut file = match block::open_exclusive(device) {
        Err(error) if queue::is_gone(&error) => return Ok(()),
        other => other?,
    };
    // A disk may have been exchanged since it was looked at: what is open is what is written to.
    if let (Some(then), Some(now)) = (then, block::diskseq(&file))
        && then.diskseq().is_some_and(|then| then != now)
    {
        return Err(disk::refusal(device, &then.describe(), &format!("diskseq {now}")));
    }
    let zeros = vec![0; EDGE as usize];
    for area in areas {
        let edge = EDGE.min(area.length);
        let zeros = &zeros[..usize::try_from(edge).unwrap_or(zeros.len())];
        let end = area.start.checked_add(area.length).ok_or_else(|| {
            Error::unexpected("wipe", device, "the ledger names an area beyond any disk")
        })?;
        for place in [area.start, end - edge] {
            file.write_all_at(zeros, place).map_err(|cause| wrong(&cause))?;
        }
    }
    file.flush().and_then(|()| file.sync_all()).map_err(|cause| wrong(&cause))
}
