//! eBPF programs in C, and what loads them into the kernel.
//!
//! The objects in `programs/` are compiled by `scripts/bpf-objects` and committed. One object runs on every
//! kernel: offsets of fields are found in the types of the running kernel when it is loaded (CO-RE). The
//! programs read, and write nothing but their own maps; they go when this process does.

mod field_types;
mod fitted;
mod object;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use assay_sys::kernel::{Error, Root};

pub use object::Programs;

/// Attributes the waiting of a group's threads (`programs/blame.bpf.c`).
pub const BLAME: &[u8] = include_bytes!("../programs/blame.bpf.o");

/// The same for at most [`FEW`] groups and two sets of CPUs, which older kernels accept too (`programs/blame_few.bpf.c`).
pub const BLAME_FEW: &[u8] = include_bytes!("../programs/blame_few.bpf.o");

/// `SLOTS` in `programs/blame_few.bpf.c`.
pub const FEW: usize = 8;

/// Follows requests to disks (`programs/disk.bpf.c`).
pub const DISK: &[u8] = include_bytes!("../programs/disk.bpf.o");

/// Samples whose turn it is under BFQ (`programs/bfq.bpf.c`).
pub const BFQ: &[u8] = include_bytes!("../programs/bfq.bpf.o");

/// Both for many groups on one or two disks (`programs/disk_many.bpf.c`, `programs/bfq_many.bpf.c`).
pub const DISK_MANY: &[u8] = include_bytes!("../programs/disk_many.bpf.o");

/// See [`DISK_MANY`].
pub const BFQ_MANY: &[u8] = include_bytes!("../programs/bfq_many.bpf.o");

/// Who could have used a CPU and who got it, by group (`programs/contended.bpf.c`).
pub const CONTENDED: &[u8] = include_bytes!("../programs/contended.bpf.o");

/// The same of disks (`programs/contended_disk.bpf.c`).
pub const CONTENDED_DISK: &[u8] = include_bytes!("../programs/contended_disk.bpf.o");

/// What threads are stalled by for memory (`programs/stalls.bpf.c`).
pub const STALLS: &[u8] = include_bytes!("../programs/stalls.bpf.o");

/// The id of the group with this directory, by which programs know it.
///
/// # Errors
/// There is no such directory.
pub fn group_id(root: &Root, directory: &Path) -> Result<u64, Error> {
    std::fs::metadata(root.resolve(directory))
        .map(|metadata| metadata.ino())
        .map_err(|cause| Error::new("stat", directory, &cause))
}
