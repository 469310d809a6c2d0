//! NUMA memory policy of this process (set_mempolicy(2)).

use std::io;
use std::path::Path;

use assay_sys::kernel::Error;

/// A mode of linux/mempolicy.h with its name.
type Mode = (libc::c_int, &'static str);
const BIND: Mode = (2, "set_mempolicy(MPOL_BIND)");
const INTERLEAVE: Mode = (3, "set_mempolicy(MPOL_INTERLEAVE)");
/// Bits of the node mask: the largest `MAX_NUMNODES` of x86-64 and arm64.
const MAX_NODES: usize = 1024;

/// From now on new pages of this thread, and of threads that it starts, are interleaved over these
/// nodes. Existing pages are not moved. /proc/self/numa_maps shows the actual placement.
pub fn interleave(nodes: &[u16]) -> Result<(), Error> {
    set(INTERLEAVE, nodes)
}

/// The same, but only from these nodes, the nearest first: when they are full, the process is killed by
/// the OOM killer.
pub fn bind(nodes: &[u16]) -> Result<(), Error> {
    set(BIND, nodes)
}

fn set((mode, operation): Mode, nodes: &[u16]) -> Result<(), Error> {
    let mut mask = [0u64; MAX_NODES / 64];
    for &node in nodes {
        let word = mask
            .get_mut(usize::from(node) / 64)
            .ok_or_else(|| failed(operation, nodes, &io::Error::from_raw_os_error(libc::EINVAL)))?;
        *word |= 1 << (node % 64);
    }
    // SAFETY: the mask lives through the call and has MAX_NODES bits. The kernel reads one bit less
    // than the number it is given (set_mempolicy(2), BUGS), hence the extra bit.
    let answer =
        unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask.as_ptr(), MAX_NODES + 1) };
    if answer == 0 { Ok(()) } else { Err(failed(operation, nodes, &io::Error::last_os_error())) }
}

fn failed(operation: &'static str, nodes: &[u16], cause: &io::Error) -> Error {
    let hint = match cause.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no NUMA support (CONFIG_NUMA)",
        Some(libc::EPERM) => "the sandbox of this process forbids it",
        _ => "name nodes that are online and allowed: Mems_allowed_list in /proc/self/status",
    };
    let nodes: Vec<String> = nodes.iter().map(u16::to_string).collect();
    Error::new(operation, Path::new("this process"), cause)
        .with_value(&format!("nodes {}", nodes.join(",")))
        .with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_node_is_an_error_with_its_number() {
        for node in [1000, 2000] {
            for error in [interleave(&[node]).unwrap_err(), bind(&[node]).unwrap_err()] {
                assert!(error.to_string().contains(&node.to_string()), "{error}");
            }
        }
    }
}
