//! eBPF programs that run once for each object of a kind, as for each thread (`iter`, 5.8; Documentation/bpf/bpf_iterators.rst).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::kernel::bpf::{call, load_tracing};
use crate::kernel::error::Error;

// From linux/bpf.h.
const BPF_TRACE_ITER: u32 = 28;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_ITER_CREATE: libc::c_long = 33;

/// The start of `union bpf_attr` for BPF_LINK_CREATE.
#[repr(C)]
struct Link {
    program: u32,
    target: u32,
    attachment: u32,
    flags: u32,
}

/// `union bpf_attr` for BPF_ITER_CREATE.
#[repr(C)]
struct Walk {
    link: u32,
    flags: u32,
}

/// A program that is run by [`BpfIterator::walk`]. It goes with this value.
#[derive(Debug)]
pub struct BpfIterator {
    name: String,
    link: OwnedFd,
}

impl BpfIterator {
    /// Loads a program, given as instructions of 8 bytes each, for the kind of objects whose function `bpf_iter_NAME` has this
    /// BTF id.
    ///
    /// # Errors
    /// The kernel or its policy refuses it; the hint has the verifier's reason.
    pub fn load(name: &str, target: u32, program: &[u64]) -> Result<Self, Error> {
        let program = load_tracing(name, (BPF_TRACE_ITER, target), program)?;
        let program = program.as_raw_fd() as u32;
        let request = Link { program, target: 0, attachment: BPF_TRACE_ITER, flags: 0 };
        let link = create(BPF_LINK_CREATE, &request)
            .map_err(|cause| Error::new("attach the eBPF iterator", Path::new(name), &cause))?;
        Ok(Self { name: name.to_owned(), link })
    }

    /// Runs the program for each object there is.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn walk(&self) -> Result<(), Error> {
        let request = Walk { link: self.link.as_raw_fd() as u32, flags: 0 };
        // The program runs while this is read. It prints nothing.
        let read = |walk: OwnedFd| File::from(walk).read_to_end(&mut Vec::new());
        create(BPF_ITER_CREATE, &request)
            .and_then(read)
            .map_err(|cause| Error::new("run the eBPF iterator", Path::new(&self.name), &cause))?;
        Ok(())
    }
}

fn create<T>(command: libc::c_long, request: &T) -> io::Result<OwnedFd> {
    let descriptor = call(command, request)?;
    // SAFETY: the command has just returned this descriptor, and it is not used elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}
