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

/// A disk full of data under this scheduler, which may not be available.
pub(super) fn scheduled(
    fixture: &mut Fixture,
    scheduler: &str,
    queue: &[(&str, &str)],
) -> Result<Disk, Stop> {
    match fixture.loop_disk(Bytes::new(SIZE), scheduler, queue) {
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
