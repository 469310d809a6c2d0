//! bpf(2): loading eBPF programs.

use std::ffi::CStr;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// From linux/bpf.h.
const BPF_PROG_LOAD: libc::c_long = 5;

/// The start of `union bpf_attr` for BPF_PROG_LOAD; the kernel takes omitted fields as 0.
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

/// Loads a program of this type (`BPF_PROG_TYPE_*`), given as instructions of 8 bytes each. It exists
/// until its descriptor and attachments are gone.
pub(crate) fn load(kind: u32, program: &[u64]) -> io::Result<OwnedFd> {
    let descriptor = call(BPF_PROG_LOAD, &plain(kind, program))?;
    // SAFETY: BPF_PROG_LOAD has just returned this descriptor, and it is not used elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

fn plain(kind: u32, program: &[u64]) -> Load {
    const LICENCE: &CStr = c"Dual MIT/GPL";
    Load {
        kind,
        instructions: program.len() as u32,
        first: program.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    }
}

/// The same, extended as far as BPF_PROG_TYPE_TRACING needs it.
#[repr(C)]
struct LoadTraced {
    plain: Load,
    name: [u8; 16],
    interface: u32,
    attach: u32,
    types: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_size: u32,
    lines: u64,
    line_count: u32,
    target: u32,
    target_program: u32,
    padding: u32,
}

/// Loads a program of this type to be attached as `attach` (`BPF_TRACE_*`) to the kernel function with
/// this BTF id.
pub(crate) fn load_with(
    kind: u32,
    attach: u32,
    target: u32,
    program: &[u64],
) -> io::Result<OwnedFd> {
    load_logged((kind, attach, target), program, &mut [])
}

/// The same. If the verifier refuses it, its messages are in `log`, if there is room.
pub(crate) fn load_logged(
    (kind, attach, target): (u32, u32, u32),
    program: &[u64],
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    let mut plain = plain(kind, program);
    if !log.is_empty() {
        plain.log_level = 1;
        plain.log_size = u32::try_from(log.len()).unwrap_or(u32::MAX);
        plain.log = log.as_mut_ptr() as u64;
    }
    let request = LoadTraced {
        plain,
        name: *b"assay\0\0\0\0\0\0\0\0\0\0\0",
        interface: 0,
        attach,
        types: 0,
        function_size: 0,
        functions: 0,
        function_count: 0,
        line_size: 0,
        lines: 0,
        line_count: 0,
        target,
        target_program: 0,
        padding: 0,
    };
    let descriptor = call(BPF_PROG_LOAD, &request)?;
    // SAFETY: BPF_PROG_LOAD has just returned this descriptor, and it is not used elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// Calls bpf(2) with one command and the start of its `union bpf_attr`.
pub(crate) fn call<T>(command: libc::c_long, request: &T) -> io::Result<libc::c_long> {
    // SAFETY: `request` has the layout that `command` expects and its true size, and everything it
    // points to lives through the call.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(request), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
