//! Memory that an eBPF program writes and this process reads without a system call: an array map with
//! one element, mapped (BPF_F_MMAPABLE, 5.5).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

use crate::bpf_map::{MapShape, create};

/// From linux/bpf.h.
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_MAP_TYPE_PERCPU_ARRAY: u32 = 6;
const BPF_F_MMAPABLE: u32 = 1 << 10;

/// A map with one element of 8 bytes for each CPU.
pub(crate) fn for_each_cpu() -> io::Result<OwnedFd> {
    let kind = BPF_MAP_TYPE_PERCPU_ARRAY;
    create(&MapShape { kind, key_size: 4, value_size: 8, entries: 1, flags: 0 })
}

/// The mapped memory. Programs loaded with it keep it alive.
#[derive(Debug)]
pub(crate) struct MappedArray {
    map: OwnedFd,
    start: NonNull<u64>,
    words: usize,
}

// SAFETY: the memory belongs to this value only, and is unmapped once, on drop.
unsafe impl Send for MappedArray {}

impl MappedArray {
    /// `words` words of 8 bytes, all 0.
    pub(crate) fn new(words: usize) -> io::Result<Self> {
        let value_size = u32::try_from(words * 8).map_err(|_| io::ErrorKind::InvalidInput)?;
        let map = create(&MapShape {
            kind: BPF_MAP_TYPE_ARRAY,
            key_size: 4,
            value_size,
            entries: 1,
            flags: BPF_F_MMAPABLE,
        })?;
        // SAFETY: a new mapping, at an address of the kernel's choice, of memory that belongs to the
        // map.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                words * 8,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u64>()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { map, start, words })
    }

    /// The map, for programs that write to it.
    pub(crate) fn descriptor(&self) -> i32 {
        self.map.as_raw_fd()
    }

    /// Its contents. Programs write only while they are run through a `&mut` of this value.
    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: the mapping has `words` words, is page-aligned, and lives as long as self; the only
        // writers run within calls of `run`, which has exclusive access.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    /// Writes words that programs read.
    pub(crate) fn fill(&mut self, at: usize, values: &[u64]) {
        // SAFETY: as in `words`, and `&mut self` excludes all other users here.
        let words = unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) };
        words.iter_mut().skip(at).zip(values).for_each(|(word, value)| *word = *value);
    }

    /// Sets the first words to 0, then calls `run`, in which programs write.
    pub(crate) fn run<T>(&mut self, head: usize, run: impl FnOnce() -> T) -> T {
        // SAFETY: as in `words`, and `&mut self` excludes all other users here.
        let words = unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) };
        words.iter_mut().take(head).for_each(|word| *word = 0);
        run()
    }
}

impl Drop for MappedArray {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, which nothing uses any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}
