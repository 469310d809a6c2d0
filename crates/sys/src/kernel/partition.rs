//! Adds and removes partitions in the kernel directly, independently of partition tables.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::kernel::error::Error;

const BLKPG: libc::c_ulong = rustix::ioctl::opcode::none(0x12, 105) as libc::c_ulong;
const BLKPG_ADD_PARTITION: i32 = 1;
const BLKPG_DEL_PARTITION: i32 = 2;

/// `struct blkpg_partition` of include/uapi/linux/blkpg.h. The names are ignored by the kernel.
#[repr(C)]
struct Partition {
    start: i64,
    length: i64,
    number: i32,
    device_name: [u8; 64],
    volume_name: [u8; 64],
}

/// `struct blkpg_ioctl_arg` of include/uapi/linux/blkpg.h.
#[repr(C)]
struct Argument {
    operation: i32,
    flags: i32,
    length: i32,
    data: *mut Partition,
}

/// Adds partition `number` of `disk`, with start and length in bytes (multiples of 512). EBUSY if it
/// exists or overlaps another.
pub fn add(disk: &Path, number: u32, start: u64, length: u64) -> Result<(), Error> {
    blkpg("BLKPG_ADD_PARTITION", BLKPG_ADD_PARTITION, disk, number, start, length)
}

/// Removes partition `number` of `disk` from the kernel; the data stays. ENXIO if it does not exist,
/// EBUSY while it is open or mounted.
pub fn remove(disk: &Path, number: u32) -> Result<(), Error> {
    blkpg("BLKPG_DEL_PARTITION", BLKPG_DEL_PARTITION, disk, number, 0, 0)
}

fn blkpg(
    name: &'static str,
    operation: i32,
    disk: &Path,
    number: u32,
    start: u64,
    length: u64,
) -> Result<(), Error> {
    let wrong = |cause: &io::Error| {
        Error::new(name, disk, cause).with_value(&format!("partition {number}"))
    };
    let file = File::open(disk).map_err(|cause| wrong(&cause))?;
    let too_large = |_| wrong(&io::Error::from_raw_os_error(libc::EINVAL));
    let mut partition = Partition {
        start: i64::try_from(start).map_err(too_large)?,
        length: i64::try_from(length).map_err(too_large)?,
        number: i32::try_from(number).map_err(too_large)?,
        device_name: [0; 64],
        volume_name: [0; 64],
    };
    let argument = Argument {
        operation,
        flags: 0,
        length: size_of::<Partition>() as i32,
        data: &raw mut partition,
    };
    // SAFETY: both structures have the layout of the kernel's header, `data` points to a live
    // `Partition` of the given length, and both outlive the call.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), BLKPG as _, &raw const argument) };
    if answer < 0 { Err(wrong(&io::Error::last_os_error())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernels_header() {
        assert_eq!(size_of::<Partition>(), 152);
        assert_eq!(size_of::<Argument>(), 12 + 4 + size_of::<usize>());
    }

    #[test]
    fn a_file_that_is_not_a_disk_is_refused_with_the_partition_number() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = remove(file.path(), 3).unwrap_err();
        assert!(error.is(rustix::io::Errno::NOTTY), "{error}");
        assert!(error.to_string().contains("partition 3"), "{error}");
    }
}
