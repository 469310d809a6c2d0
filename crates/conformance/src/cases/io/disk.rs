//! Disks of these cases, and what their probes say.

use assay_kernel::Error;
use assay_kernel::block::{Numbers, numbers};
use assay_units::Bytes;

use crate::fixture::Fixture;
use crate::running::Running;

/// Large enough that blocks at random places do not lie beside each other.
const SIZE: u64 = 64 << 20;

/// A disk of a case.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    pub(super) node: String,
    /// `MAJOR:MINOR`, as keys of interface files.
    pub(super) numbers: Numbers,
}

/// A disk whose content and speed mean nothing.
pub(super) fn blank(ground: &mut Fixture) -> Result<Disk, Error> {
    let disk = ground.blank_disk(SIZE)?;
    Ok(Disk { numbers: numbers(&disk.node)?, node: disk.node.display().to_string() })
}

/// A disk full of data under this scheduler. Why it cannot have that scheduler, where it cannot.
pub(super) fn scheduled(
    ground: &mut Fixture,
    scheduler: &str,
    queue: &[(&str, &str)],
) -> Result<Result<Disk, String>, Error> {
    match ground.loop_disk(Bytes::new(SIZE), scheduler, queue) {
        Ok(disk) => Ok(Ok(Disk {
            node: disk.device_path.display().to_string(),
            numbers: numbers(&disk.device_path)?,
        })),
        Err(error) if error.value.as_deref() == Some(scheduler) => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}

/// A probe that reads this disk. It reads nothing yet.
pub(super) fn reader(
    ground: &Fixture,
    group: &str,
    disk: &Disk,
    words: &str,
) -> Result<Running, Error> {
    ground.start(group, &format!("io file={} size={SIZE} {words}", disk.node))
}

/// Lets it read on and on.
pub(super) fn go(probe: &mut Running) -> Result<(), Error> {
    probe.say("go");
    probe.line().map(|_| ())
}

/// How many blocks it has read since then.
pub(super) fn count(probe: &mut Running) -> Result<u64, Error> {
    probe.say("count");
    let line = probe.line()?.unwrap_or_default();
    let number = line.strip_prefix("count ").and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let path = std::path::Path::new("the probe's count");
        Error::unexpected("read", path, format!("it said `{line}`"))
    })
}
