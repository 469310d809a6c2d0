//! Attaches programs to a group, and finds those that are.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use super::instructions::program;
use super::rule::{DeviceRule, Verb};
use crate::kernel::bpf::{call, load};
use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// bpf(2) commands, types and flags, from linux/bpf.h.
const BPF_PROG_ATTACH: libc::c_long = 8;
const BPF_PROG_GET_FD_BY_ID: libc::c_long = 13;
const BPF_PROG_QUERY: libc::c_long = 16;
const BPF_PROG_TYPE_CGROUP_DEVICE: u32 = 15;
const BPF_CGROUP_DEVICE: u32 = 6;
/// Programs of ancestor groups run as well, and all must allow.
const BPF_F_ALLOW_MULTI: u32 = 2;

/// `union bpf_attr` for BPF_PROG_ATTACH.
#[repr(C)]
struct Attach {
    group: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

/// `union bpf_attr` for BPF_PROG_QUERY (4.15), whole: from 6.17 to 7.1 the kernel writes `revision` whatever size it is given.
#[repr(C)]
struct Query {
    group: u32,
    kind: u32,
    flags: u32,
    attach_flags: Cell<u32>,
    ids: u64,
    count: Cell<u32>,
    padding: u32,
    /// Of programs, of links, and of their flags; not asked for.
    arrays: [u64; 3],
    revision: Cell<u64>,
}

/// `union bpf_attr` for BPF_PROG_GET_FD_BY_ID (4.13).
#[repr(C)]
struct ById {
    id: u32,
    next: u32,
    flags: u32,
}

/// The device programs of a cgroup v2 group itself, without those of the groups above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The ids of the programs.
    pub ids: Vec<u32>,
    /// With which they are attached.
    flags: u32,
}

/// Systemd and runtimes attach one or two.
const MOST: usize = 64;

/// Finds the programs that decide about devices for a group.
pub fn attached(root: &Root, group: &Path) -> Result<Attached, Error> {
    let directory = open(root, group)?;
    let ids = [const { Cell::new(0_u32) }; MOST];
    let query = Query {
        group: directory.as_raw_fd() as u32,
        kind: BPF_CGROUP_DEVICE,
        flags: 0,
        attach_flags: Cell::new(0),
        ids: ids.as_ptr() as u64,
        count: Cell::new(MOST as u32),
        padding: 0,
        arrays: [0; 3],
        revision: Cell::new(0),
    };
    call(BPF_PROG_QUERY, &query)
        .map_err(|cause| explain("look for device programs of", group, &cause))?;
    let ids = ids.iter().take(query.count.get() as usize).map(Cell::get).collect();
    Ok(Attached { ids, flags: query.attach_flags.get() })
}

/// Attaches the same programs to another group.
pub fn attach_too(root: &Root, group: &Path, programs: &Attached) -> Result<(), Error> {
    let directory = open(root, group)?;
    for id in &programs.ids {
        let request = ById { id: *id, next: 0, flags: 0 };
        let descriptor = call(BPF_PROG_GET_FD_BY_ID, &request)
            .map_err(|cause| explain("open the device program of", group, &cause))?;
        // SAFETY: BPF_PROG_GET_FD_BY_ID has just returned this descriptor, and it is not used elsewhere.
        let program = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
        attach_program(&directory, group, &program, programs.flags)?;
    }
    Ok(())
}

/// Attaches `rules` to the cgroup v2 group at `group`. The last matching rule decides; without one
/// access is allowed, as in a new group of cgroup v1.
pub fn attach(root: &Root, group: &Path, rules: &[(Verb, DeviceRule)]) -> Result<(), Error> {
    let directory = open(root, group)?;
    let program = load(BPF_PROG_TYPE_CGROUP_DEVICE, &program(rules, Verb::Allow))
        .map_err(|cause| explain("load a device program for", group, &cause))?;
    attach_program(&directory, group, &program, BPF_F_ALLOW_MULTI)
}

fn open(root: &Root, group: &Path) -> Result<File, Error> {
    File::open(root.resolve(group)).map_err(|cause| Error::new("open", group, &cause))
}

fn attach_program(
    directory: &File,
    group: &Path,
    program: &OwnedFd,
    flags: u32,
) -> Result<(), Error> {
    let request = Attach {
        group: directory.as_raw_fd() as u32,
        program: program.as_raw_fd() as u32,
        kind: BPF_CGROUP_DEVICE,
        flags,
    };
    call(BPF_PROG_ATTACH, &request)
        .map(|_| ())
        .map_err(|cause| explain("attach a device program to", group, &cause))
}

fn explain(operation: &'static str, group: &Path, cause: &io::Error) -> Error {
    let error = Error::new(operation, group, cause);
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => error.with_hint("it needs CAP_BPF and CAP_NET_ADMIN"),
        Some(libc::ENOSYS | libc::EINVAL) => {
            error.with_hint("it needs a cgroup v2 group and a kernel with CONFIG_CGROUP_BPF (4.15)")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// `query` of `union bpf_attr` in linux/bpf.h.
    #[test]
    fn a_query_has_room_for_all_that_a_kernel_writes() {
        assert_eq!((offset_of!(Query, count), offset_of!(Query, revision)), (24, 56));
        assert_eq!(size_of::<Query>(), 64);
    }
}
