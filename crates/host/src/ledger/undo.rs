//! Taking one change back. Every function here does nothing when the change was never made or
//! is back already, so that it may be called again after a crash at any point.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use assay_kernel::parse::mountinfo;
use assay_kernel::{Error, Root, block, mount, partition};
use rustix::io::Errno;

use super::change::{Area, Change};
use super::instant::instant;
use super::{controllers, group, loop_device, queue, setting, v1_mount};
use crate::wait::wait_for_end;

/// How long something may stay in use before taking it back is given up.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn undo(root: &Root, change: &Change) -> Result<(), Error> {
    match change {
        Change::WriteFile { path, before, .. } => queue::write_back_one(root, path, before),
        Change::WriteOneOf { path, before, other, other_before, .. } => {
            setting::write_back_pair(root, (path, before), (other, other_before))
        }
        Change::Request { path, inverse, .. } => controllers::take_back(root, path, inverse),
        Change::KeepQueue { device, attributes } => queue::write_back(root, device, attributes),
        Change::MakeDir { path } => gone_is_fine(root.remove_dir(path)),
        Change::MakeTree { path } => remove_tree(root, path),
        Change::MakeGroup { path } => group::remove(root, path),
        Change::MakeFile { path } => unlink(root, path),
        Change::AddLoop { number } => real(root, change, || loop_device::remove(root, *number)),
        Change::AttachLoop { image } => real(root, change, || loop_device::detach(root, image)),
        Change::AddPartition { device, number } => {
            real(root, change, || forget_partition(device, *number))
        }
        Change::Mount { target } => real(root, change, || unmount(root, target)),
        Change::MountV1 { controller, target } => {
            real(root, change, || v1_mount::release(root, controller, target))
        }
        Change::NullBlk { path } => remove_null_block(root, path),
        Change::WriteSignatures { device, areas, .. } => {
            real(root, change, || wipe_signatures(device, areas))
        }
    }
}

/// Takes a change back that was made before the last reboot. What lived in the kernel's memory
/// went with it, and names of devices may stand for other devices now.
pub(super) fn undo_after_boot(root: &Root, change: &Change) -> Result<(), Error> {
    match change {
        Change::WriteSignatures { device, serial, .. } => {
            if serial.is_some() && *serial == serial_of(root, device) {
                return undo(root, change);
            }
            let was = serial.as_ref().map_or("had no serial number".to_owned(), |serial| {
                format!("had the serial number {serial}")
            });
            let hint = format!(
                "the machine was booted since, the disk {was}, and {} may be another one now: find \
                 it with `lsblk -o NAME,SIZE,SERIAL`, wipe it with `wipefs --all`, then `assay \
                 restore --set-aside RUN`",
                device.display()
            );
            Err(Error::unexpected("wipe", device, hint))
        }
        change if change.outlives_boot() => undo(root, change),
        _ => Ok(()),
    }
}

/// The serial number of a whole disk, where it has one.
pub(super) fn serial_of(root: &Root, device: &Path) -> Option<String> {
    let place = Path::new("/sys/block").join(device.file_name()?);
    ["serial", "device/serial"]
        .iter()
        .find_map(|name| root.read_trimmed(place.join(name)).ok())
        .filter(|serial| !serial.is_empty())
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

/// Removes a directory with what is in it, without following links and without entering another
/// file system: what the owner of the host has mounted in there is theirs.
fn remove_tree(root: &Root, path: &Path) -> Result<(), Error> {
    let place = root.resolve(path);
    match place.symlink_metadata() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(Error::new("remove", path, &cause)),
        Ok(found) => remove_below(&place, found.dev()),
    }
}

fn remove_below(directory: &Path, device: u64) -> Result<(), Error> {
    let wrong = |cause: &io::Error| Error::new("remove", directory, cause);
    for entry in fs::read_dir(directory).map_err(|cause| wrong(&cause))? {
        let path = entry.map_err(|cause| wrong(&cause))?.path();
        let found = path.symlink_metadata().map_err(|cause| wrong(&cause))?;
        if found.dev() != device {
            let hint = "another file system is mounted there, and it was not mounted by this run";
            return Err(Error::unexpected("remove", &path, hint));
        }
        if found.is_dir() {
            remove_below(&path, device)?;
        } else {
            instant()?;
            fs::remove_file(&path).map_err(|cause| Error::new("unlink", &path, &cause))?;
        }
    }
    instant()?;
    fs::remove_dir(directory).map_err(|cause| Error::new("rmdir", directory, &cause))
}

fn unlink(root: &Root, path: &Path) -> Result<(), Error> {
    match fs::remove_file(root.resolve(path)) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|cause| Error::new("unlink", path, &cause)),
    }
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

pub(super) fn unmount(root: &Root, target: &Path) -> Result<(), Error> {
    let mounted = || {
        root.read("/proc/self/mountinfo")
            .map(|text| mountinfo::parse(&text).iter().any(|mount| mount.target == target))
    };
    while mounted()? {
        while_busy(|| mount::unmount(target)).map_err(|error| {
            error.with_hint(format!("end what uses it: fuser -vm {}", target.display()))
        })?;
    }
    Ok(())
}

fn remove_null_block(root: &Root, path: &Path) -> Result<(), Error> {
    let power = path.join("power");
    if root.exists(&power) {
        root.write(&power, "0")?;
        instant()?;
    }
    if !root.is_real() {
        group::remove_fake_files(root, path)?;
    }
    gone_is_fine(while_busy(|| root.remove_dir(path)))
}

/// Zeros over the first and the last MiB of each area: partition tables and the signatures of
/// all file systems that are in use stand there.
fn wipe_signatures(device: &Path, areas: &[Area]) -> Result<(), Error> {
    const EDGE: u64 = 1 << 20;
    let wrong = |cause: &io::Error| Error::new("wipe", device, cause);
    let mut disk = match block::open_exclusive(device) {
        Err(error) if queue::is_gone(&error) => return Ok(()),
        other => other?,
    };
    let zeros = vec![0; EDGE as usize];
    for area in areas {
        let edge = EDGE.min(area.length);
        let zeros = &zeros[..usize::try_from(edge).unwrap_or(zeros.len())];
        for place in [area.start, area.start + area.length - edge] {
            disk.write_all_at(zeros, place).map_err(|cause| wrong(&cause))?;
        }
    }
    disk.flush().and_then(|()| disk.sync_all()).map_err(|cause| wrong(&cause))
}
