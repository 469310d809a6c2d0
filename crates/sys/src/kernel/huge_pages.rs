//! Memory in huge pages (mmap(2), MAP_HUGETLB; Documentation/admin-guide/mm/hugetlbpage.rst).

use std::path::Path;

use crate::kernel::error::Error;

/// Anonymous private memory in huge pages, released on drop.
#[derive(Debug)]
pub struct HugePages {
    address: *mut u8,
    page: usize,
    count: usize,
}

impl HugePages {
    /// Maps `count` huge pages of `page` bytes, a power of two. `reserve` makes the kernel reserve them
    /// now, so that a shortage shows here (ENOMEM) and not as SIGBUS at the first touch.
    pub fn map(page: usize, count: usize, reserve: bool) -> Result<Self, Error> {
        let path = Path::new("huge pages");
        if !page.is_power_of_two() || count == 0 {
            return Err(Error::unexpected("mmap", path, "a page size must be a power of two"));
        }
        let length = page
            .checked_mul(count)
            .ok_or_else(|| Error::unexpected("mmap", path, "larger than the address space"))?;
        let size = page.trailing_zeros().cast_signed() << libc::MAP_HUGE_SHIFT;
        let reservation = if reserve { 0 } else { libc::MAP_NORESERVE };
        let flags =
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | size | reservation;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no other memory.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(Error::new("mmap", path, &std::io::Error::last_os_error())
                .with_value(&format!("{count} pages of {page} bytes")));
        }
        Ok(Self { address: address.cast(), page, count })
    }

    /// Writes to one of the pages; a number beyond the last has no effect. If the kernel cannot provide
    /// the page, the first touch raises SIGBUS, which ends the process.
    pub fn touch(&mut self, number: usize) {
        if number < self.count {
            // SAFETY: the address is inside the mapping, which lives as long as `self` and belongs only
            // to it.
            unsafe { self.address.add(number * self.page).write_volatile(1) };
        }
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping created by `map`, and nothing uses it any more.
        unsafe {
            libc::munmap(self.address.cast(), self.page * self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_mapping_is_an_error() {
        assert!(HugePages::map(3 << 20, 1, true).is_err());
        assert!(HugePages::map(2 << 20, 0, true).is_err());
        let error = HugePages::map(2 << 20, 1 << 30, true).unwrap_err();
        assert!(error.errno.is_some(), "{error}");
    }
}
