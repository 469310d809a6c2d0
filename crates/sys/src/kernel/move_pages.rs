//! The NUMA nodes of single pages of any process (move_pages(2) without a destination).

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// Waits until the lock of the process's address space is free, or the process is gone. [`query`] waits
/// for it uninterruptibly; this wait can be ended by SIGKILL, so that a process which holds the lock
/// for ever does not keep this one from ending.
pub fn await_lock(root: &Root, pid: u32) {
    let maps = File::open(root.resolve(format!("/proc/{pid}/numa_maps")));
    // One byte is enough; for it the kernel walks only the page tables of the first mapping.
    let _ = maps.and_then(|mut maps| maps.read(&mut [0]));
}

/// Queries the node of each of these addresses of a process. `nodes[i]` becomes the node, or a negative
/// error number: `-ENOENT` where no page is present, `-EFAULT` for the zero page or a hole. Nothing is
/// moved. Needs ptrace read access to the process (4.13).
pub fn query(pid: u32, addresses: &[u64], nodes: &mut [i32]) -> Result<(), Error> {
    let count = addresses.len().min(nodes.len());
    // SAFETY: both arrays hold `count` items and live through the call; without an array of
    // destinations the kernel only writes to `nodes`. The addresses belong to the other process and are
    // never dereferenced here.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            libc::c_long::from(pid),
            count,
            addresses.as_ptr(),
            std::ptr::null::<i32>(),
            nodes.as_mut_ptr(),
            0,
        )
    };
    if answer >= 0 {
        return Ok(());
    }
    let cause = io::Error::last_os_error();
    let error = Error::new("move_pages", &PathBuf::from(format!("/proc/{pid}")), &cause);
    Err(match cause.raw_os_error() {
        Some(libc::ENOSYS) => error.with_hint("this kernel has no NUMA support (CONFIG_NUMA)"),
        Some(libc::EPERM) => error.with_hint("it needs CAP_SYS_PTRACE, or a process of your own"),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::anonymous_memory::{HugePages, Pages, page_size};

    #[test]
    fn a_touched_page_has_a_node_and_an_untouched_one_has_none() {
        let mut pages = Pages::<u8>::zeroed(64 * page_size(), HugePages::Never).unwrap();
        pages[0] = 1;
        let first = pages.as_ptr() as u64;
        let mut nodes = [i32::MIN; 2];
        let far = first + 40 * page_size() as u64;
        match query(std::process::id(), &[first, far], &mut nodes) {
            Ok(()) => {
                assert!(nodes[0] >= 0, "{nodes:?}");
                assert!(nodes[1] < 0, "{nodes:?}");
            }
            // A kernel without NUMA has no such call.
            Err(error) => assert!(error.is(rustix::io::Errno::NOSYS), "{error}"),
        }
    }

    #[test]
    fn a_missing_process_is_an_error_with_its_id() {
        let error = query(0x3fff_fffe, &[4096], &mut [0]).unwrap_err();
        assert!(error.to_string().contains("/proc/1073741822"), "{error}");
    }
}
