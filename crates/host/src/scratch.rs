//! Scratch disks: the targets of a study's I/O, created for it and restored afterwards.

mod block;
mod directory;
mod first_turns;
mod format;
mod image;
mod null_block;
mod partitions;
mod queue;
mod spec;

use std::path::{Path, PathBuf};

use assay_sys::kernel::{Error, Root};
use assay_sys::units::Bytes;

use crate::Ledger;
use crate::ledger::Area;

pub use format::EXT4_EXTENDED;
pub use image::with_spare;
pub use spec::{Format, Progress, ScratchDisk, ScratchSpec, Source};

/// Callbacks used while a disk is prepared.
pub(crate) struct Caller<'c> {
    /// Returns whether the user wants to stop.
    pub(crate) stop: &'c dyn Fn() -> bool,
    /// Receives the progress.
    pub(crate) progress: &'c mut dyn FnMut(Progress),
}

/// A disk before it is partitioned and its queue is set.
struct Base {
    device: String,
    node: PathBuf,
    notes: Vec<String>,
}

/// Creates the scratch disk described by `spec`. Everything goes through `ledger`; after an error the
/// changes made so far are still in it, for [`Ledger::restore`]. `stop` is polled many times a second
/// during long writes.
pub fn set_up(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<ScratchDisk, Error> {
    let disk = make(root, ledger, spec, stop, progress)?;
    set_queue(root, ledger, &disk, spec)?;
    Ok(disk)
}

/// Creates the disk without setting its queue; [`set_queue`] may then be called several times, each
/// time after the ledger has restored the previous settings.
pub fn make(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<ScratchDisk, Error> {
    spec.check()?;
    let mut caller = Caller { stop, progress };
    if let Source::Directory { path } = &spec.source {
        return directory::set_up(root, ledger, spec, path);
    }
    let base = base(root, ledger, spec, &mut caller)?;
    let mut disk = describe(root, base)?;
    lay_out(root, ledger, spec, &mut disk, &mut caller)?;
    Ok(disk)
}

/// Sets scheduler and queue attributes of a disk created by [`make`]; does nothing for a directory.
pub fn set_queue(
    root: &Root,
    ledger: &mut Ledger,
    disk: &ScratchDisk,
    spec: &ScratchSpec,
) -> Result<(), Error> {
    match &spec.source {
        Source::Directory { .. } => Ok(()),
        _ => queue::set(root, ledger, &disk.device, spec),
    }
}

fn base(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    caller: &mut Caller<'_>,
) -> Result<Base, Error> {
    match &spec.source {
        Source::Loop { image_dir, size } => {
            image::attach(root, ledger, spec, image_dir, *size, caller)
        }
        Source::Block { device, erase } => block::check(root, device, erase.as_deref()),
        Source::NullBlk { size, options } => {
            null_block::make(root, ledger, &spec.name, *size, options)
        }
        Source::Directory { path } => {
            Err(Error::unexpected("use", path, "a directory has no disk of its own"))
        }
    }
}

fn describe(root: &Root, base: Base) -> Result<ScratchDisk, Error> {
    const SECTOR: u64 = 512;
    let own = assay_sys::kernel::block::numbers(&base.node)?;
    // The kernel counts and limits by whole disk; the size is that of what was named.
    let path = Path::new("/sys/dev/block").join(own.to_string()).join("size");
    let sectors: u64 = root
        .read_trimmed(&path)?
        .parse()
        .map_err(|_| Error::unexpected("read", &path, "expected a number of sectors"))?;
    let numbers = root.read_trimmed(format!("/sys/block/{}/dev", base.device))?;
    let numbers = directory::parse_numbers(&numbers).unwrap_or((own.major, own.minor));
    Ok(ScratchDisk {
        device: base.device,
        major: numbers.0,
        minor: numbers.1,
        device_path: base.node,
        partitions: Vec::new(),
        mounts: Vec::new(),
        size: Bytes::new(sectors * SECTOR),
        notes: base.notes,
    })
}

/// Partitions and formats the disk.
fn lay_out(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    disk: &mut ScratchDisk,
    caller: &mut Caller<'_>,
) -> Result<(), Error> {
    let areas = partitions::plan(spec, disk.size)?;
    let is_persistent = matches!(spec.source, Source::Block { .. });
    if is_persistent && (!areas.is_empty() || spec.format != Format::None) {
        // The disk and its partitions get signatures, which are wiped afterwards.
        let whole = Area { start: 0, length: disk.size.get() };
        let all = std::iter::once(whole).chain(areas.iter().copied()).collect();
        ledger.write_signatures(root, &disk.device_path, all)?;
    }
    if !areas.is_empty() {
        (caller.progress)(Progress::Partitioning { partitions: spec.partitions });
        disk.partitions = partitions::make(root, ledger, disk, &areas)?;
    }
    if spec.format != Format::None {
        let targets =
            if areas.is_empty() { vec![disk.device_path.clone()] } else { disk.partitions.clone() };
        disk.mounts = format::make(root, ledger, spec, &targets, caller)?;
    }
    Ok(())
}

/// Fails if the user wants to stop.
fn check_stop(stop: &dyn Fn() -> bool, path: &Path) -> Result<(), Error> {
    if stop() { Err(Error::unexpected("prepare", path, "interrupted")) } else { Ok(()) }
}
