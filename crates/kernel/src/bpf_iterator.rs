//! eBPF iterators (Documentation/bpf/bpf_iterators.rst; 5.8): the kernel calls a program of ours for each object of
//! one kind. One system call begins a walk and one performs it, however many objects there are.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::bpf::{call, load_tracing};
use crate::bpf_map::BpfMap;
use crate::error::Error;

/// Types and commands of bpf(2), from linux/bpf.h.
const BPF_TRACE_ITER: u32 = 28;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_ITER_CREATE: libc::c_long = 33;

/// `union bpf_attr` for BPF_LINK_CREATE of an iterator.
#[repr(C)]
struct Link {
    program: u32,
    target: u32,
    attach: u32,
    flags: u32,
    info: u64,
    info_len: u32,
    padding: u32,
}

/// `union bpf_attr` for BPF_ITER_CREATE.
#[repr(C)]
struct Create {
    link: u32,
    flags: u32,
}

/// `union bpf_iter_link_info`.
#[repr(C, align(8))]
struct LinkInfo([u32; 4]);

/// The objects of a walk.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'s> {
    /// All that the kernel has.
    All,
    /// The thread with this id (6.1).
    Thread(u32),
    /// The group with this directory and all its descendants, parents before children (6.1).
    Groups(&'s File),
    /// The elements of a map (5.9).
    Elements(&'s BpfMap),
}

impl Scope<'_> {
    fn info(self) -> Option<LinkInfo> {
        const BPF_CGROUP_ITER_DESCENDANTS_PRE: u32 = 2;
        let descriptor = |file: &dyn AsFd| file.as_fd().as_raw_fd() as u32;
        Some(LinkInfo(match self {
            Self::All => return None,
            Self::Thread(tid) => [tid, 0, 0, 0],
            Self::Groups(directory) => {
                [BPF_CGROUP_ITER_DESCENDANTS_PRE, descriptor(directory), 0, 0]
            }
            Self::Elements(map) => [descriptor(map), 0, 0, 0],
        }))
    }
}

/// A loaded iterator.
#[derive(Debug)]
pub struct BpfIterator {
    link: OwnedFd,
    _program: OwnedFd,
}

impl BpfIterator {
    /// Loads the program of this name, given as instructions of 8 bytes each. `target` is the BTF id of the kernel's
    /// iterator.
    ///
    /// # Errors
    /// The kernel or its policy refuses it; the hint has the reason.
    pub fn open(
        name: &str,
        target: u32,
        instructions: &[u64],
        scope: Scope<'_>,
    ) -> Result<Self, Error> {
        let program = load_tracing(name, (BPF_TRACE_ITER, target), instructions)?;
        let info = scope.info();
        let link = Link {
            program: program.as_raw_fd() as u32,
            target: 0,
            attach: BPF_TRACE_ITER,
            flags: 0,
            info: info.as_ref().map_or(0, |info| std::ptr::from_ref(info) as u64),
            info_len: info.as_ref().map_or(0, |_| size_of::<LinkInfo>() as u32),
            padding: 0,
        };
        let link =
            call(BPF_LINK_CREATE, &link).map_err(|cause| explain("link an iterator of", &cause))?;
        // SAFETY: BPF_LINK_CREATE has just returned this descriptor, and it is not used elsewhere.
        let link = unsafe { OwnedFd::from_raw_fd(link as i32) };
        Ok(Self { link, _program: program })
    }

    /// Walks once.
    ///
    /// # Errors
    /// The kernel does not begin or does not finish the walk.
    pub fn walk(&self) -> Result<(), Error> {
        let request = Create { link: self.link.as_raw_fd() as u32, flags: 0 };
        let opened = call(BPF_ITER_CREATE, &request)
            .map_err(|cause| explain("begin an iterator of", &cause))?;
        // SAFETY: BPF_ITER_CREATE has just returned this descriptor, and it is not used elsewhere.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(opened as i32) });
        drive(file).map_err(|cause| explain("read an iterator of", &cause))
    }
}

/// Reads to the end: the program writes its output elsewhere, so the file is always empty.
fn drive(mut file: File) -> io::Result<()> {
    let mut nothing = [0; 64];
    loop {
        match file.read(&mut nothing) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // The kernel pauses after a million objects (kernel/bpf/bpf_iter.c).
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {}
            Err(cause) => return Err(cause),
        }
    }
}

fn explain(operation: &'static str, cause: &io::Error) -> Error {
    let error = Error::new(operation, Path::new("the kernel"), cause);
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => error.with_hint("it needs CAP_BPF and CAP_PERFMON"),
        Some(libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP) => {
            error.with_hint("it needs a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS (5.8)")
        }
        _ => error,
    }
}
