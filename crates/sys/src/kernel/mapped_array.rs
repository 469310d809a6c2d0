//! Memory that an eBPF program writes and this process reads without a system call: a mapped array (BPF_F_MMAPABLE,
//! 5.5).

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;

use crate::kernel::bpf_map::{BpfMap, explain};
use crate::kernel::error::Error;

/// The elements of an array, one after another. Programs loaded with it keep it alive.
#[derive(Debug)]
pub struct MappedArray {
    start: NonNull<u64>,
    words: usize,
}

// SAFETY: the memory belongs to this value only, and is unmapped once, on drop.
unsafe impl Send for MappedArray {}

impl MappedArray {
    /// Maps the elements of this array, whose size in bytes is a multiple of 8.
    ///
    /// # Errors
    /// The kernel refuses it: the map is no array, or has not the flag BPF_F_MMAPABLE.
    pub fn new(map: &BpfMap) -> Result<Self, Error> {
        let words = map.shape().value_size as usize / 8 * map.shape().entries as usize;
        // SAFETY: a new mapping, at an address of the kernel's choice, of memory that belongs to the
        // map.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                words * 8,
                libc::PROT_READ,
                libc::MAP_SHARED,
                map.as_fd().as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast::<u64>()).filter(|_| start != libc::MAP_FAILED) {
            Some(start) => Ok(Self { start, words }),
            None => Err(explain("map", &io::Error::last_os_error())),
        }
    }

    /// Copies its contents while programs may write, each word as it is at some moment of the call. The buffer keeps its
    /// room from one call to the next.
    pub fn copy_to(&self, words: &mut Vec<u64>) {
        words.clear();
        // SAFETY: the mapping has `words` words, is page-aligned, and lives as long as self. Others write meanwhile: each
        // word is read once, and aligned words are not torn.
        words.extend(
            (0..self.words).map(|at| unsafe { self.start.as_ptr().add(at).read_volatile() }),
        );
    }
}

impl Drop for MappedArray {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, which nothing uses any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}
