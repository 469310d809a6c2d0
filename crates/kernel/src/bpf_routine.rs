//! eBPF programs that this process runs by a system call (BPF_PROG_TYPE_SYSCALL, 5.14), without attaching them.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use crate::bpf::{call, load_routine};
use crate::error::Error;

/// From linux/bpf.h.
const BPF_PROG_TEST_RUN: libc::c_long = 10;

/// `union bpf_attr` for BPF_PROG_TEST_RUN, as far as programs of this type use it.
#[repr(C)]
#[derive(Default)]
struct Run {
    program: u32,
    result: u32,
    data_sizes: [u32; 2],
    data: [u64; 2],
    repeat: u32,
    duration: u32,
    context_sizes: [u32; 2],
    context: [u64; 2],
    flags: u32,
    cpu: u32,
}

/// A loaded program.
#[derive(Debug)]
pub struct BpfRoutine(OwnedFd);

impl BpfRoutine {
    /// Loads the program of this name, given as instructions of 8 bytes each.
    ///
    /// # Errors
    /// The kernel or its policy refuses it; the hint has the reason.
    pub fn load(name: &str, instructions: &[u64]) -> Result<Self, Error> {
        load_routine(name, instructions).map(Self)
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// The kernel does not run it.
    pub fn run(&self) -> Result<(), Error> {
        let request = Run { program: self.0.as_raw_fd() as u32, ..Run::default() };
        call(BPF_PROG_TEST_RUN, &request)
            .map(drop)
            .map_err(|cause| Error::new("run a program in", Path::new("the kernel"), &cause))
    }
}
