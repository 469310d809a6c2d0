//! Loading the program and attaching it to a group: bpf(2).

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use super::instructions::program;
use super::rule::{DeviceRule, Verb};
use crate::error::Error;
use crate::root::Root;

/// Commands of bpf(2), types and flags, from linux/bpf.h.
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_ATTACH: libc::c_long = 8;
const BPF_PROG_TYPE_CGROUP_DEVICE: u32 = 15;
const BPF_CGROUP_DEVICE: u32 = 6;
/// Programs of the groups above are asked as well, and all must allow.
const BPF_F_ALLOW_MULTI: u32 = 2;

/// The beginning of `union bpf_attr` for BPF_PROG_LOAD; the kernel takes what is left out as 0.
#[repr(C)]
struct Load {
    kind: u32,
    instructions: u32,
    first: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// `union bpf_attr` for BPF_PROG_ATTACH.
#[repr(C)]
struct Attach {
    group: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

/// Attaches `rules` to the cgroup v2 group at `group`. The last rule that matches a request
/// decides; what none matches is allowed, as in a new group of cgroup v1.
pub fn attach(root: &Root, group: &Path, rules: &[(Verb, DeviceRule)]) -> Result<(), Error> {
    let directory =
        File::open(root.resolve(group)).map_err(|cause| Error::new("open", group, &cause))?;
    let program = load(&program(rules, Verb::Allow))
        .map_err(|cause| explain("load a device program for", group, &cause))?;
    let request = Attach {
        group: directory.as_raw_fd() as u32,
        program: program.as_raw_fd() as u32,
        kind: BPF_CGROUP_DEVICE,
        flags: BPF_F_ALLOW_MULTI,
    };
    bpf(BPF_PROG_ATTACH, &request)
        .map(|_| ())
        .map_err(|cause| explain("attach a device program to", group, &cause))
}

fn load(program: &[u64]) -> io::Result<OwnedFd> {
    const LICENCE: &CStr = c"Dual MIT/GPL";
    let request = Load {
        kind: BPF_PROG_TYPE_CGROUP_DEVICE,
        instructions: program.len() as u32,
        first: program.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    };
    let descriptor = bpf(BPF_PROG_LOAD, &request)?;
    // SAFETY: BPF_PROG_LOAD has just returned this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

fn bpf<T>(command: libc::c_long, request: &T) -> io::Result<libc::c_long> {
    // SAFETY: `request` has the layout that `command` expects and its true size, and all that it
    // points to lives through the call.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(request), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
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
