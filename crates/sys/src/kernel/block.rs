//! Block devices by number, and opening them exclusively.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::kernel::error::Error;

/// Major and minor number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceNumber {
    /// The driver's number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

impl DeviceNumber {
    fn from_dev(device: u64) -> Self {
        Self { major: rustix::fs::major(device), minor: rustix::fs::minor(device) }
    }
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The numbers of the block device with the node at `path`; an error if it is not a block device.
pub fn numbers(path: &Path) -> Result<DeviceNumber, Error> {
    let metadata = fs::metadata(path).map_err(|cause| Error::new("stat", path, &cause))?;
    if !metadata.file_type().is_block_device() {
        return Err(Error::unexpected("use", path, "it is not a block device"));
    }
    Ok(DeviceNumber::from_dev(metadata.rdev()))
}

/// The numbers of the open block device.
pub fn numbers_of(disk: &File, path: &Path) -> Result<DeviceNumber, Error> {
    let metadata = disk.metadata().map_err(|cause| Error::new("stat", path, &cause))?;
    if !metadata.file_type().is_block_device() {
        return Err(Error::unexpected("use", path, "it is not a block device"));
    }
    Ok(DeviceNumber::from_dev(metadata.rdev()))
}

/// The kernel's sequence number of the open disk, counting added disks and media changes
/// (BLKGETDISKSEQ, Linux 5.15); `None` where it is not available.
#[must_use]
pub fn diskseq(disk: &File) -> Option<u64> {
    const BLKGETDISKSEQ: libc::c_ulong =
        rustix::ioctl::opcode::read::<u64>(0x12, 128) as libc::c_ulong;
    let mut number = 0_u64;
    // SAFETY: the kernel writes one u64 to `number`, which lives through the call.
    let answer = unsafe { libc::ioctl(disk.as_raw_fd(), BLKGETDISKSEQ as _, &raw mut number) };
    (answer == 0).then_some(number)
}

/// The numbers of the device that holds the file system of `path` (`st_dev`).
pub fn holding(path: &Path) -> Result<DeviceNumber, Error> {
    let metadata = fs::metadata(path).map_err(|cause| Error::new("stat", path, &cause))?;
    Ok(DeviceNumber::from_dev(metadata.dev()))
}

/// Opens a block device for reading and writing with O_EXCL: fails with EBUSY if it, or one of its
/// partitions, is mounted, used as swap or part of another device.
pub fn open_exclusive(path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL)
        .open(path)
        .map_err(|cause| Error::new("open exclusively", path, &cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_file_is_not_a_block_device() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(numbers(file.path()).is_err());
    }

    #[test]
    fn a_file_and_its_directory_are_on_the_same_device() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(holding(&file).unwrap(), holding(directory.path()).unwrap());
    }
}
