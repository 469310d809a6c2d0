//! Memory in huge pages (mmap(2), MAP_HUGETLB; Documentation/admin-guide/mm/hugetlbpage.rst).

use std::path::Path;

use crate::error::Error;

/// Anonymous private memory in huge pages. It is given back when the value goes away.
#[derive(Debug)]
pub struct HugePages {
    address: *mut u8,
    page: usize,
    count: usize,
}

impl HugePages {
    /// Maps `count` huge pages of `page` bytes, a power of two. `reserve` makes the kernel set
    /// them aside now, so that a lack shows here (ENOMEM) and not as SIGBUS at the first touch.
    pub fn map(page: usize, count: usize, reserve: bool) -> Result<Self, Error> {
        let path = Path::new("huge pages");
        if !page.is_power_of_two() || count == 0 {
            return Err(Error::unexpected("mmap", path, "a page's size is a power of two"));
        }
        let length = page.checked_mul(count).ok_or_else(|| {
            Error::unexpected("mmap", path, "more than the address space can hold")
        })?;
        let size = page.trailing_zeros().cast_signed() << libc::MAP_HUGE_SHIFT;
        let kept = if reserve { 0 } else { libc::MAP_NORESERVE };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | size | kept;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no other memory.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(Error::new("mmap", path, &std::io::Error::last_os_error())
                .with_value(&format!("{count} pages of {page} bytes")));
        }
        Ok(Self { address: address.cast(), page, count })
    }

    /// Writes into one of the pages; a number beyond the last does nothing. The kernel answers
    /// the first touch of a page that it cannot give with SIGBUS, which ends the process.
    pub fn touch(&mut self, number: usize) {
        if number < self.count {
            // SAFETY: the place is inside the mapping, which lives as long as `self` and belongs
            // to it alone.
            unsafe { self.address.add(number * self.page).write_volatile(1) };
        }
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping that `map` has made, and nobody uses it any more.
        unsafe {
            libc::munmap(self.address.cast(), self.page * self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_mapped_is_an_error_and_no_mapping() {
        assert!(HugePages::map(3 << 20, 1, true).is_err());
        assert!(HugePages::map(2 << 20, 0, true).is_err());
        let error = HugePages::map(2 << 20, 1 << 30, true).unwrap_err();
        assert!(error.errno.is_some(), "{error}");
    }
}
