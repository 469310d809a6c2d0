//! Attaches the program to a group.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use super::instructions::program;
use super::rule::{DeviceRule, Verb};
use crate::kernel::bpf::{call, load};
use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// bpf(2) commands, types and flags, from linux/bpf.h.
const BPF_PROG_ATTACH: libc::c_long = 8;
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

/// Attaches `rules` to the cgroup v2 group at `group`. The last matching rule decides; without one
/// access is allowed, as in a new group of cgroup v1.
pub fn attach(root: &Root, group: &Path, rules: &[(Verb, DeviceRule)]) -> Result<(), Error> {
    let directory =
        File::open(root.resolve(group)).map_err(|cause| Error::new("open", group, &cause))?;
    let program = load(BPF_PROG_TYPE_CGROUP_DEVICE, &program(rules, Verb::Allow))
        .map_err(|cause| explain("load a device program for", group, &cause))?;
    let request = Attach {
        group: directory.as_raw_fd() as u32,
        program: program.as_raw_fd() as u32,
        kind: BPF_CGROUP_DEVICE,
        flags: BPF_F_ALLOW_MULTI,
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
