//! File systems on a scratch disk, mounted by a UUID chosen by Assay.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_sys::kernel::{Error, Root};

use super::{Caller, Format, Progress, ScratchSpec, check_stop};
use crate::{Ledger, command};

/// Options of mkfs.ext4: everything is initialised now, so that no kernel thread writes during a measurement;
/// nothing is discarded, so that the image keeps its blocks.
pub const EXT4_EXTENDED: &str = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";

/// Creates a file system on each device and mounts it, one after the other.
pub(super) fn make(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    devices: &[PathBuf],
    caller: &mut Caller<'_>,
) -> Result<Vec<PathBuf>, Error> {
    let mut made = Vec::new();
    for device in devices {
        check_stop(caller.stop, device)?;
        (caller.progress)(Progress::Formatting {
            device: device.clone(),
            format: spec.format.name(),
        });
        // Version 4 of RFC 9562: the kernel generates a new one for every read.
        let uuid = root.read_trimmed("/proc/sys/kernel/random/uuid")?;
        make_one(spec.format, device, &uuid)?;
        made.push(uuid);
    }
    let mut mounts = Vec::new();
    for (number, uuid) in (1..).zip(&made) {
        let device = find(devices, uuid)?;
        let target = spec.mount_dir.join(format!("assay-{}-{number}", spec.name));
        ledger.make_dir(root, &target)?;
        ledger.mount(root, &device, &target, spec.format.name())?;
        let whole = target.canonicalize();
        mounts.push(whole.map_err(|cause| Error::new("find", &target, &cause))?);
    }
    Ok(mounts)
}

fn make_one(format: Format, device: &Path, uuid: &str) -> Result<(), Error> {
    let (program, package, options) = match format {
        Format::None => return Ok(()),
        Format::Ext4 => (
            "mkfs.ext4",
            "e2fsprogs",
            ["-F", "-q", "-U", uuid, "-L", "assay", "-E", EXT4_EXTENDED]
                .map(str::to_owned)
                .to_vec(),
        ),
        Format::Xfs => (
            "mkfs.xfs",
            "xfsprogs",
            ["-f", "-q", "-K", "-L", "assay", "-m", &format!("uuid={uuid}")]
                .map(str::to_owned)
                .to_vec(),
        ),
    };
    let program = command::require(program, package)?;
    let mut arguments: Vec<OsString> = options.into_iter().map(OsString::from).collect();
    arguments.push(device.into());
    command::succeed(&program, &arguments, "").map(|_| ())
}

/// The device that carries `uuid`, read from the disk itself and not from a cache.
fn find(devices: &[PathBuf], uuid: &str) -> Result<PathBuf, Error> {
    let blkid = command::require("blkid", "util-linux")?;
    for device in devices {
        let options = ["-p", "-s", "UUID", "-o", "value"];
        let mut arguments: Vec<&std::ffi::OsStr> = options.iter().map(AsRef::as_ref).collect();
        arguments.push(device.as_os_str());
        let output = command::succeed(&blkid, &arguments, "")?;
        if String::from_utf8_lossy(&output.stdout).trim() == uuid {
            return Ok(device.clone());
        }
    }
    let hint = "the file system just created is on none of the devices";
    Err(Error::unexpected("find", Path::new(uuid), hint))
}
