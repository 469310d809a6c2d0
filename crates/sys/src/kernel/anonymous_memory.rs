//! Memory of load generators: anonymous pages of an exactly known size, with huge pages requested or
//! forbidden.

use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::kernel::error::Error;

/// Advice to the kernel about transparent huge pages (madvise(2)). The result is visible in
/// `AnonHugePages`: the host may forbid them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HugePages {
    /// No advice: the host's setting decides.
    #[default]
    System,
    /// `MADV_HUGEPAGE`: use them, unless the host says `never`.
    Advise,
    /// `MADV_NOHUGEPAGE`: avoid them, even if the host says `always`.
    Never,
}

mod plain {
    /// Types for which all-zero bits are a valid value and that own nothing.
    pub trait Plain: Copy + Send + Sync + 'static {}
    impl Plain for u8 {}
    impl Plain for u32 {}
    impl Plain for u64 {}
    impl Plain for f32 {}
    impl Plain for f64 {}
    impl Plain for [u32; 2] {}
}
use plain::Plain;

/// A slice of zeroes in a mapping of its own. Pages are allocated at first touch, on the memory node of
/// the touching CPU, and released on drop.
#[derive(Debug)]
pub struct Pages<T: Plain> {
    start: NonNull<T>,
    len: usize,
    mapped: usize,
    owns: PhantomData<T>,
}

// SAFETY: the mapping belongs to this value only, and `T` is plain data.
unsafe impl<T: Plain> Send for Pages<T> {}
// SAFETY: shared access gives `&[T]` only.
unsafe impl<T: Plain> Sync for Pages<T> {}

impl<T: Plain> Pages<T> {
    /// `len` zeroes. Fails where the address space or the overcommit policy does not allow it; success
    /// does not guarantee that there is memory for it (proc_sys_vm(5), `overcommit_memory`).
    pub fn zeroed(len: usize, huge: HugePages) -> Result<Self, Error> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| too_large(len))?;
        let mapped = up_to_pages(bytes.max(1)).ok_or_else(|| too_large(len))?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no existing
        // memory.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, protection, flags) }
            .map_err(|cause| {
                Error::new("map", Path::new("anonymous memory"), &cause.into())
                    .with_value(&format!("{mapped} bytes"))
            })?;
        let start = NonNull::new(start.cast::<T>()).ok_or_else(|| too_large(len))?;
        let pages = Self { start, len, mapped, owns: PhantomData };
        pages.advise(huge);
        Ok(pages)
    }

    /// A kernel without transparent huge pages returns EINVAL, which is harmless; the result is visible
    /// in `AnonHugePages`.
    fn advise(&self, huge: HugePages) {
        let advice = match huge {
            HugePages::System => return,
            HugePages::Advise => Advice::LinuxHugepage,
            HugePages::Never => Advice::LinuxNoHugepage,
        };
        // SAFETY: this advice changes how the mapping is backed, never its contents, and the range is
        // exactly this mapping.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), self.mapped, advice) };
    }

    /// Keeps the first `len` items and releases whole pages after them. Does nothing if it is not
    /// longer than that.
    pub fn shrink(&mut self, len: usize) {
        let len = len.min(self.len);
        let Some(kept_bytes) = up_to_pages((len * size_of::<T>()).max(1)) else { return };
        if kept_bytes < self.mapped {
            // SAFETY: the tail of this mapping begins at a page boundary and contains no item below
            // `len`; `&mut self` proves that there are no other references to it.
            let unmapped = unsafe {
                munmap(
                    self.start.as_ptr().cast::<u8>().add(kept_bytes).cast(),
                    self.mapped - kept_bytes,
                )
            };
            if unmapped.is_ok() {
                self.mapped = kept_bytes;
            }
        }
        self.len = len;
    }

    /// Size of the mapping in bytes.
    #[must_use]
    pub fn mapped_bytes(&self) -> usize {
        self.mapped
    }
}

impl<T: Plain> Deref for Pages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `len` items, zeroed or written since, each a valid `T`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for Pages<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Plain> Drop for Pages<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value and ends with it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

/// A slice as atomics, while it is borrowed (`AtomicU32::from_mut_slice` is unstable).
pub fn shared_u32(slice: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: `AtomicU32` has the size and the alignment of `u32` (its documentation), and the
    // unique borrow excludes accesses that are not atomic.
    unsafe { &*(std::ptr::from_mut(slice) as *const [AtomicU32]) }
}

/// The bits of single-precision numbers as atomics.
pub fn shared_f32_bits(slice: &mut [f32]) -> &[AtomicU32] {
    const { assert!(align_of::<f32>() == align_of::<AtomicU32>()) };
    // SAFETY: as above; `f32` has the size of `u32`, and all bits are a value of both.
    unsafe { &*(std::ptr::from_mut(slice) as *const [AtomicU32]) }
}

/// The same for 64-bit words.
pub fn shared_u64(slice: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>(), "a 64-bit target") };
    // SAFETY: as above; the alignment is checked at compile time.
    unsafe { &*(std::ptr::from_mut(slice) as *const [AtomicU64]) }
}

/// The size of a page.
#[must_use]
pub fn page_size() -> usize {
    rustix::param::page_size()
}

fn up_to_pages(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(page_size())
}

fn too_large(len: usize) -> Error {
    Error::new("map", Path::new("anonymous memory"), &io::Error::from_raw_os_error(libc::ENOMEM))
        .with_value(&format!("{len} items"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn pages_are_zero_and_keep_what_is_written() {
        let mut pages = Pages::<u64>::zeroed(10_000, HugePages::Advise).unwrap();
        assert!(pages.iter().all(|word| *word == 0));
        pages[9_999] = 7;
        shared_u64(&mut pages)[0].store(5, Ordering::Relaxed);
        assert_eq!((pages[0], pages[9_999], pages.len()), (5, 7, 10_000));
        assert_eq!(pages.mapped_bytes(), 80_000_usize.next_multiple_of(page_size()));
    }

    #[test]
    fn shrinking_releases_the_tail_and_keeps_the_head() {
        let mut pages = Pages::<u32>::zeroed(1 << 20, HugePages::Never).unwrap();
        pages.fill(3);
        pages.shrink(1000);
        assert_eq!(pages.mapped_bytes(), page_size());
        assert_eq!(pages.len(), 1000);
        assert!(pages.iter().all(|word| *word == 3));
        pages.shrink(2000);
        assert_eq!(pages.len(), 1000);
    }

    #[test]
    fn zero_items_are_an_empty_slice() {
        let mut pages = Pages::<[u32; 2]>::zeroed(0, HugePages::System).unwrap();
        assert!(pages.is_empty());
        pages.shrink(0);
        assert!(pages.is_empty());
    }

    #[test]
    fn more_than_the_address_space_is_an_error_with_the_size() {
        let error = Pages::<u64>::zeroed(usize::MAX / 16, HugePages::System).unwrap_err();
        assert!(error.is(rustix::io::Errno::NOMEM), "{error}");
        assert!(error.to_string().contains("anonymous memory"), "{error}");
        assert!(Pages::<u64>::zeroed(usize::MAX, HugePages::System).is_err());
    }
}
