//! Loop devices: files that look like disks (loop(4)).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::kernel::error::Error;

// include/uapi/linux/loop.h; these numbers are the same on every architecture.
const LOOP_CLR_FD: libc::c_ulong = 0x4C01;
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_CTL_ADD: libc::c_ulong = 0x4C80;
const LOOP_CTL_REMOVE: libc::c_ulong = 0x4C81;
const LO_FLAGS_DIRECT_IO: u32 = 16;

const CONTROL: &str = "/dev/loop-control";

/// `struct loop_info64` of include/uapi/linux/loop.h.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of include/uapi/linux/loop.h.
#[repr(C)]
struct LoopConfig {
    descriptor: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// The device node of loop device `number`.
#[must_use]
pub fn node(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/loop{number}"))
}

/// Adds the loop device `number`, which must not exist yet (EEXIST).
pub fn add(number: u32) -> Result<(), Error> {
    control("LOOP_CTL_ADD", LOOP_CTL_ADD, number)
}

/// Removes the loop device `number`. It must be detached and closed (EBUSY) and exist (ENODEV).
pub fn remove(number: u32) -> Result<(), Error> {
    control("LOOP_CTL_REMOVE", LOOP_CTL_REMOVE, number)
}

fn control(operation: &'static str, request: libc::c_ulong, number: u32) -> Result<(), Error> {
    let file = open("open", Path::new(CONTROL))?;
    // SAFETY: both requests take the device number by value and touch no memory of this process.
    let answer =
        unsafe { libc::ioctl(file.as_raw_fd(), request as _, libc::c_ulong::from(number)) };
    check(operation, &node(number), answer)
}

/// Attaches `image` to the free loop device at `device` with this logical block size in bytes; `direct`
/// requests that it bypass the page cache of the image.
///
/// On a file system without direct I/O the kernel falls back silently, so the caller must check
/// `loop/dio`. Needs Linux 5.8; EBUSY when the device is attached already.
pub fn configure(device: &Path, image: &File, direct: bool, block_size: u32) -> Result<(), Error> {
    let file = open("open", device)?;
    let mut config = LoopConfig {
        descriptor: u32::try_from(image.as_raw_fd()).unwrap_or(u32::MAX),
        block_size,
        info: empty_info(),
        reserved: [0; 8],
    };
    config.info.flags = if direct { LO_FLAGS_DIRECT_IO } else { 0 };
    // SAFETY: `config` has the layout of `struct loop_config`, is only read by the kernel, and lives
    // through the call.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_CONFIGURE as _, &raw const config) };
    check("LOOP_CONFIGURE", device, answer)
}

const fn empty_info() -> LoopInfo {
    LoopInfo {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    }
}

/// Device and inode of the file attached to `device`, whatever its name is by now; ENXIO when nothing
/// is attached.
pub fn backing(device: &Path) -> Result<(u64, u64), Error> {
    let file = File::open(device).map_err(|cause| Error::new("open", device, &cause))?;
    let mut info = empty_info();
    // SAFETY: `info` has the layout of `struct loop_info64`, which the kernel fills, and lives through
    // the call.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut info) };
    check("LOOP_GET_STATUS64", device, answer)?;
    Ok((info.device, info.inode))
}

/// Detaches the image from `device`. While others hold the device open the kernel only schedules the
/// detach for the last close, so the caller must wait until `loop/backing_file` is gone. ENXIO when
/// nothing is attached.
pub fn detach(device: &Path) -> Result<(), Error> {
    let file = open("open", device)?;
    // SAFETY: LOOP_CLR_FD ignores its argument.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_CLR_FD as _, 0) };
    check("LOOP_CLR_FD", device, answer)
}

fn open(operation: &'static str, path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|cause| Error::new(operation, path, &cause))
}

fn check(operation: &'static str, path: &Path, answer: i32) -> Result<(), Error> {
    if answer < 0 { Err(Error::new(operation, path, &io::Error::last_os_error())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernels_header() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(size_of::<LoopConfig>(), 304);
    }

    #[test]
    fn a_missing_device_is_named_in_the_error() {
        let error = detach(Path::new("/nonexistent/loop0")).unwrap_err();
        assert!(error.is(rustix::io::Errno::NOENT));
        assert!(error.to_string().contains("/nonexistent/loop0"), "{error}");
    }
}
