//! Disks for the io cases and the output of their probes.

use assay_kernel::Error;
use assay_kernel::block::{DeviceNumber, numbers};
use assay_units::Bytes;

use crate::fixture::Fixture;
use crate::outcome::Stop;
use crate::running::Running;

/// Large enough that random blocks are rarely adjacent.
pub(super) const SIZE: u64 = 64 << 20;

/// A disk of a case.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    pub(super) node: String,
    /// `MAJOR:MINOR`, as used in interface files.
    pub(super) numbers: DeviceNumber,
}

/// A disk whose content and speed do not matter.
pub(super) fn blank(fixture: &mut Fixture) -> Result<Disk, Error> {
    let disk = fixture.blank_disk(SIZE)?;
    Ok(Disk { numbers: numbers(&disk.node)?, node: disk.node.display().to_string() })
}

/// A disk under this scheduler, which may not be available. It has a rate of its own where the kernel has
/// null_blk, so that readers wait for the disk and not for the CPU that moves their data; else it is a loop disk
/// full of data.
pub(super) fn paced(
    fixture: &mut Fixture,
    scheduler: &str,
    queue: &[(&str, &str)],
) -> Result<Disk, Stop> {
    let size = Bytes::new(SIZE);
    let made = match fixture.facts().null_blk.reason() {
        Some(why) if fixture.facts().is_emulated() => {
            let lacks = format!("an emulated CPU is slower than a loop disk, and {why}");
            return Err(Stop::not_available(lacks));
        }
        Some(_) => fixture.loop_disk(size, scheduler, queue),
        None => {
            // What a scheduler of a loop disk has; that of a null_blk of this depth would begin with 8.
            let pool = Some(("nr_requests", "256")).filter(|_| scheduler != "none");
            let queue: Vec<_> = pool.into_iter().chain(queue.iter().copied()).collect();
            fixture.null_disk(size, scheduler, &queue)
        }
    };
    match made {
        Ok(disk) => Ok(Disk {
            node: disk.device_path.display().to_string(),
            numbers: numbers(&disk.device_path)?,
        }),
        Err(error) if error.value.as_deref() == Some(scheduler) => {
            Err(Stop::not_available(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Starts a probe that will read this disk. It reads nothing yet.
pub(super) fn reader(
    fixture: &Fixture,
    group: &str,
    disk: &Disk,
    words: &str,
) -> Result<Running, Error> {
    fixture.start(group, &format!("io file={} size={SIZE} {words}", disk.node))
}

/// Starts continuous reading.
pub(super) fn start_reading(probe: &mut Running) -> Result<(), Error> {
    probe.send("go");
    probe.line().map(|_| ())
}

/// Number of blocks read since then.
pub(super) fn count(probe: &mut Running) -> Result<u64, Error> {
    probe.send("count");
    let line = probe.line()?.unwrap_or_default();
    let number = line.strip_prefix("count ").and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let path = std::path::Path::new("the probe's count");
        Error::unexpected("read", path, format!("unexpected output `{line}`"))
    })
}
