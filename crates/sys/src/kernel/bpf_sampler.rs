//! eBPF programs that run at fixed intervals (`BPF_PROG_TYPE_PERF_EVENT`, 4.9), on the clock of one CPU.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use crate::kernel::bpf;
use crate::kernel::bpf_tracepoint::Attached;
use crate::kernel::error::Error;
use crate::kernel::perf_event::open_periodic;

/// From linux/bpf.h.
const BPF_PROG_TYPE_PERF_EVENT: u32 = 7;

// include/uapi/linux/perf_event.h.
const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
const PERF_EVENT_IOC_SET_BPF: libc::c_ulong = 0x4004_2408;

/// Loads a program, given as instructions of 8 bytes each, and runs it on this CPU every `period_ns`, also while the
/// CPU is idle.
///
/// # Errors
/// The kernel or its policy refuses it.
pub fn attach_sampler(cpu: i32, period_ns: u64, program: &[u64]) -> Result<Attached, Error> {
    let explain = |operation| {
        move |cause: io::Error| {
            Error::new(operation, Path::new("the clock of a CPU"), &cause).with_hint(
                "it needs CAP_BPF and CAP_PERFMON, and a policy of the kernel that allows them",
            )
        }
    };
    let program =
        bpf::load(BPF_PROG_TYPE_PERF_EVENT, program).map_err(explain("load a program for"))?;
    let event = (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    let clock = open_periodic(event, cpu, period_ns).map_err(explain("open"))?;
    set_program(&clock.as_raw_fd(), &program).map_err(explain("attach a program to"))?;
    Ok(Attached::new(clock.into(), program))
}

fn set_program(event: &libc::c_int, program: &OwnedFd) -> io::Result<()> {
    // SAFETY: both descriptors are open, and this request takes a number.
    let result = unsafe { libc::ioctl(*event, PERF_EVENT_IOC_SET_BPF as _, program.as_raw_fd()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
