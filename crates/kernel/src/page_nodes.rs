//! On which node pages of this process really are (move_pages(2)): a policy is only a wish.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::pages::page_size;

/// Looks at up to `most` pages, evenly spread over a slice: how many are on which node. Pages that
/// were never touched are on none and counted nowhere.
pub fn of<T>(slice: &[T], most: usize) -> Result<BTreeMap<u16, usize>, Error> {
    let bytes = size_of_val(slice);
    let count = most.min(bytes / page_size()).max(1);
    let first = slice.as_ptr().cast::<u8>();
    let addresses: Vec<*const u8> =
        (0..count).map(|number| first.wrapping_add(bytes / count * number)).collect();
    let mut status: Vec<libc::c_int> = vec![-1; count];
    // SAFETY: both arrays have `count` items and live through the call. Without target nodes the
    // kernel moves nothing: it only writes the node of each page, or a negative errno.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0 as libc::pid_t,
            count as libc::c_ulong,
            addresses.as_ptr(),
            std::ptr::null::<libc::c_int>(),
            status.as_mut_ptr(),
            0 as libc::c_int,
        )
    };
    if answer < 0 {
        let cause = io::Error::last_os_error();
        let hint = match cause.raw_os_error() {
            Some(libc::ENOSYS) => "this kernel has no NUMA support (CONFIG_NUMA, CONFIG_MIGRATION)",
            _ => "the sandbox that this runs in may forbid it",
        };
        return Err(Error::new("move_pages", Path::new("this process"), &cause).with_hint(hint));
    }
    let mut nodes = BTreeMap::new();
    for node in status.iter().filter_map(|node| u16::try_from(*node).ok()) {
        *nodes.entry(node).or_insert(0) += 1;
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{HugePages, Pages};

    #[test]
    fn pages_are_on_nodes_once_they_were_touched() {
        let mut pages = Pages::<u64>::zeroed(64 * page_size() / 8, HugePages::Never).unwrap();
        // A kernel without NUMA, or a sandbox, leaves nothing to be tested.
        let Ok(untouched) = of(&pages, 16) else { return };
        assert!(untouched.is_empty(), "{untouched:?}");
        pages.fill(1);
        let found = of(&pages, 16).unwrap();
        assert_eq!(found.values().sum::<usize>(), 16, "{found:?}");
    }
}
