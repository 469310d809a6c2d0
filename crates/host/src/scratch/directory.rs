//! A directory of an existing file system, and a directory of the run in it.

use std::path::Path;

use assay_sys::kernel::{Error, Root, block, filesystem};
use assay_sys::units::Bytes;

use super::{ScratchDisk, ScratchSpec, queue};
use crate::Ledger;
use crate::ledger::whole_disk;

/// Checks that the directory is writable and finds the disk below it.
pub(super) fn set_up(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    path: &Path,
) -> Result<ScratchDisk, Error> {
    let path = path.canonicalize().map_err(|cause| {
        Error::new("use", path, &cause).with_hint("the directory must exist before the study runs")
    })?;
    // That it can be made proves that the user's is writable. All data of workloads goes there, and it is
    // removed with its contents, but nothing beside it.
    let own = path.join(format!("assay-{}-{}", spec.name, std::process::id()));
    ledger.make_tree(root, &own)?;
    let numbers = block::holding(&path)?;
    let device = whole_disk(root, &format!("{numbers}"));
    let (major, minor) = device
        .as_ref()
        .and_then(|name| root.read_trimmed(format!("/sys/block/{name}/dev")).ok())
        .and_then(|text| parse_numbers(&text))
        .unwrap_or((numbers.major, numbers.minor));
    let mut notes = Vec::new();
    match &device {
        Some(name) => queue::set(root, ledger, name, spec)?,
        None => {
            refuse_queue_settings(&path, spec)?;
            notes.push(format!("{} is not on a block device of its own", path.display()));
        }
    }
    Ok(ScratchDisk {
        device: device.unwrap_or_default(),
        major,
        minor,
        device_path: path.clone(),
        partitions: Vec::new(),
        size: Bytes::new(filesystem::free_space(&path)?),
        mounts: vec![own],
        notes,
    })
}

pub(super) fn parse_numbers(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn refuse_queue_settings(path: &Path, spec: &ScratchSpec) -> Result<(), Error> {
    if spec.scheduler.is_none() && spec.queue.is_empty() {
        return Ok(());
    }
    let hint = "it is not on a block device, so there is no queue to set";
    Err(Error::unexpected("set the scheduler of", path, hint))
}
