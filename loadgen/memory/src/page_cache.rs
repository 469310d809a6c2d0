//! Page cache usage of a file, and how much of it is not on disk yet.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use assay_sys::kernel::Error;
use assay_sys::kernel::anonymous_memory::page_size;

/// The page cache usage of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cached {
    /// In memory.
    pub resident: u64,
    /// Dirty, with writeback not yet started; `None` before Linux 6.5.
    pub dirty: Option<u64>,
    /// Under writeback; `None` before Linux 6.5.
    pub writeback: Option<u64>,
}

/// cachestat(2), the same number on all architectures except alpha.
const SYS_CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of linux/mman.h; a length of 0 means up to the end.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of linux/mman.h, in pages.
#[repr(C)]
#[derive(Default)]
struct Statistics {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The page cache usage of all of `file`: by cachestat(2) of Linux 6.5 and newer, else by mincore(2),
/// which does not report dirty pages. Needs write access to the file, or ownership.
pub fn usage(file: &File, path: &Path) -> Result<Cached, Error> {
    let (range, mut statistics) = (Range { offset: 0, length: 0 }, Statistics::default());
    // SAFETY: both structures have the layout of linux/mman.h and live through the call.
    let answer = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut statistics,
            0 as libc::c_uint,
        )
    };
    if answer == 0 {
        let bytes = |pages: u64| pages * page_size() as u64;
        return Ok(Cached {
            resident: bytes(statistics.cached),
            dirty: Some(bytes(statistics.dirty)),
            writeback: Some(bytes(statistics.writeback)),
        });
    }
    let cause = io::Error::last_os_error();
    match cause.raw_os_error() {
        // A sandbox that does not know the call yet returns EPERM.
        Some(libc::ENOSYS | libc::EPERM) => by_mincore(file, path),
        _ => Err(Error::new("cachestat", path, &cause)),
    }
}

fn by_mincore(file: &File, path: &Path) -> Result<Cached, Error> {
    let none = |resident| Cached { resident, dirty: None, writeback: None };
    let length = file.metadata().map_err(|cause| Error::new("stat", path, &cause))?.len();
    let Ok(length @ 1..) = usize::try_from(length) else { return Ok(none(0)) };
    let mut pages = vec![0_u8; length.div_ceil(page_size())];
    // SAFETY: a new mapping at an address of the kernel's choice, never read through; mincore writes
    // one byte for each of its pages to `pages`, which has that many.
    let failed = unsafe {
        let address = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if address == libc::MAP_FAILED {
            return Err(Error::new("mmap", path, &io::Error::last_os_error()));
        }
        let failed = libc::mincore(address, length, pages.as_mut_ptr()) != 0;
        let cause = io::Error::last_os_error();
        libc::munmap(address, length);
        failed.then_some(cause)
    };
    match failed {
        Some(cause) => Err(Error::new("mincore", path, &cause)),
        None => {
            let resident = pages.iter().filter(|page| **page & 1 == 1).count();
            Ok(none((resident * page_size()) as u64))
        }
    }
}

/// Drops the clean pages of `file` from the page cache (posix_fadvise(2), POSIX_FADV_DONTNEED). Dirty
/// pages stay: write them out first. Check the result with [`usage`].
pub fn drop_clean_pages(file: impl AsFd, path: &Path) -> Result<(), Error> {
    fadvise(file, 0, None, Advice::DontNeed)
        .map_err(|cause| Error::new("posix_fadvise", path, &cause.into()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SIZE: usize = 1 << 20;

    #[test]
    fn a_written_file_is_in_memory_and_clean_after_a_sync() {
        let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.write_all(&vec![7; SIZE]).unwrap();
        let path = file.path().to_owned();
        let written = usage(file.as_file(), &path).unwrap();
        assert_eq!(written.resident, SIZE as u64);
        file.as_file().sync_all().unwrap();
        let synced = usage(file.as_file(), &path).unwrap();
        assert!(synced.dirty.is_none_or(|bytes| bytes == 0), "{synced:?}");
        assert_eq!(by_mincore(file.as_file(), &path).unwrap().resident, SIZE as u64);
    }

    #[test]
    fn an_empty_file_has_nothing_in_memory() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        assert_eq!(usage(file.as_file(), file.path()).unwrap().resident, 0);
        assert_eq!(by_mincore(file.as_file(), file.path()).unwrap().resident, 0);
    }

    #[test]
    fn dropped_pages_of_a_file_on_disk_are_not_in_memory() {
        let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.write_all(&vec![7; SIZE]).unwrap();
        file.as_file().sync_all().unwrap();
        drop_clean_pages(file.as_file(), file.path()).unwrap();
        let resident = usage(file.as_file(), file.path()).unwrap().resident;
        // A file system in memory (tmpfs) keeps everything.
        assert!(resident == 0 || resident == SIZE as u64, "{resident}");
    }
}
