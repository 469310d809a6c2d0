//! eBPF programs on tracepoints of the kernel, with typed arguments (`tp_btf`, 5.5;
//! Documentation/bpf/libbpf/program_types.rst).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::kernel::bpf::{call, load_tracing};
use crate::kernel::bpf_info::{self, Ran};
use crate::kernel::error::Error;

/// From linux/bpf.h.
const BPF_TRACE_RAW_TP: u32 = 23;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_long = 17;

/// `union bpf_attr` for BPF_RAW_TRACEPOINT_OPEN.
#[repr(C)]
struct Attach {
    name: u64,
    program: u32,
    padding: u32,
}

/// A program that runs at each event of its tracepoint. It is detached when this value is dropped or the
/// process ends, however it ends.
#[derive(Debug)]
pub struct Attached {
    _link: OwnedFd,
    program: OwnedFd,
}

impl Attached {
    pub(crate) fn new(link: OwnedFd, program: OwnedFd) -> Self {
        Self { _link: link, program }
    }

    /// What the program has done so far; `None` if the kernel does not tell.
    #[must_use]
    pub fn ran(&self) -> Option<Ran> {
        bpf_info::ran(&self.program)
    }
}

/// Loads a program, given as instructions of 8 bytes each, and attaches it to the tracepoint with this
/// name, whose type has this BTF id.
///
/// # Errors
/// The kernel or its policy refuses it; the hint has the verifier's reason.
pub fn attach(tracepoint: &str, target: u32, program: &[u64]) -> Result<Attached, Error> {
    let program = load_tracing(tracepoint, (BPF_TRACE_RAW_TP, target), program)?;
    // The kernel knows the tracepoint from the program.
    let request = Attach { name: 0, program: program.as_raw_fd() as u32, padding: 0 };
    let link = call(BPF_RAW_TRACEPOINT_OPEN, &request).map_err(|cause| {
        Error::new("attach a program to the tracepoint", Path::new(tracepoint), &cause)
    })?;
    // SAFETY: BPF_RAW_TRACEPOINT_OPEN has just returned this descriptor, and it is not used elsewhere.
    let link = unsafe { OwnedFd::from_raw_fd(link as i32) };
    Ok(Attached::new(link, program))
}
