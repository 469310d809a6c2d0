//! The attributes of a disk's queue as a whole.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use assay_sys::kernel::parse::choice;
use assay_sys::kernel::{Error, Root};

use super::crash_point::crash_point;

const SCHEDULER: &str = "scheduler";

fn directory(device: &str) -> PathBuf {
    Path::new("/sys/block").join(device).join("queue")
}

/// Every writable attribute below `queue/`, with `iosched/` of the active scheduler.
pub(super) fn read(root: &Root, device: &str) -> Result<BTreeMap<String, String>, Error> {
    let queue = directory(device);
    let mut names = root.list(&queue)?;
    let scheduler = root.list(queue.join("iosched")).unwrap_or_default();
    names.extend(scheduler.into_iter().map(|name| format!("iosched/{name}")));
    let mut attributes = BTreeMap::new();
    for name in names {
        let path = queue.join(&name);
        if is_writable_file(&root.resolve(&path)) {
            // Some attributes exist on every queue but can be read only on some.
            if let Ok(text) = root.read(&path) {
                attributes.insert(name, value_of(&text));
            }
        }
    }
    Ok(attributes)
}

fn is_writable_file(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o200 != 0)
}

/// Writes back the attributes that differ, the scheduler first because it resets others. A removed disk
/// needs nothing.
pub(super) fn write_back(
    root: &Root,
    device: &str,
    attributes: &BTreeMap<String, String>,
) -> Result<(), Error> {
    let queue = directory(device);
    if !root.exists(&queue) {
        return Ok(());
    }
    let scheduler = attributes.iter().filter(|(name, _)| *name == SCHEDULER);
    let others = attributes.iter().filter(|(name, _)| *name != SCHEDULER);
    let mut first_error = None;
    for (name, value) in scheduler.chain(others) {
        if let Err(error) = write_back_one(root, &queue.join(name), value) {
            first_error.get_or_insert(error);
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// Writes `before` unless the file already contains it, and reads it back. A file that no longer exists
/// needs nothing.
pub(super) fn write_back_one(root: &Root, path: &Path, before: &str) -> Result<(), Error> {
    match root.read(path) {
        Err(error) if is_gone(&error) => return Ok(()),
        Ok(text) if value_of(&text) == before => return Ok(()),
        _ => {}
    }
    crash_point()?;
    root.write(path, before)?;
    crash_point()?;
    let now = value_of(&root.read(path)?);
    if now == before {
        return Ok(());
    }
    let hint = format!("the kernel accepted the value but shows `{now}`");
    Err(Error::unexpected("write back", path, hint).with_value(before))
}

/// Whether the error means that the file does not exist, or no longer.
pub(super) fn is_gone(error: &Error) -> bool {
    use rustix::io::Errno;
    error.is(Errno::NOENT) || error.is(Errno::NODEV) || error.is(Errno::NXIO)
}

/// The value of an attribute: of a list of choices the one in brackets, else the whole text.
pub(super) fn value_of(text: &str) -> String {
    choice::active(text).to_owned()
}
