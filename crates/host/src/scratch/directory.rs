//! A directory of a file system that is there already, and a directory of the run in it.

use std::path::{Path, PathBuf};

use assay_kernel::{Error, Root, block, filesystem};
use assay_units::Bytes;

use super::{ScratchDisk, ScratchSpec, queue};
use crate::Ledger;
use crate::ledger::whole_disk;

/// Checks that the directory can be written and finds the disk below it.
pub(super) fn set_up(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    path: &Path,
) -> Result<ScratchDisk, Error> {
    let path = path.canonicalize().map_err(|cause| {
        Error::new("use", path, &cause).with_hint("the directory must exist before the study runs")
    })?;
    let own = make_own(root, ledger, spec, &path)?;
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
            notes.push(format!("{} lies on no block device of its own", path.display()));
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

/// Makes a directory of this run in the user's, which shows that it can be written and is where
/// all data of workloads goes: it is taken back with everything in it, and nothing beside it.
fn make_own(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    path: &Path,
) -> Result<PathBuf, Error> {
    let own = path.join(format!("assay-{}-{}", spec.name, std::process::id()));
    ledger.make_tree(root, &own)?;
    Ok(own)
}

fn parse_numbers(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn refuse_queue_settings(path: &Path, spec: &ScratchSpec) -> Result<(), Error> {
    if spec.scheduler.is_none() && spec.queue.is_empty() {
        return Ok(());
    }
    let hint = "it lies on no block device, so there is no queue to set";
    Err(Error::unexpected("set the scheduler of", path, hint))
}
