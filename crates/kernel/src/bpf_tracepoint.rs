//! eBPF programs on tracepoints of the kernel, with typed arguments (`tp_btf`, 5.5;
//! Documentation/bpf/libbpf/program_types.rst).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::bpf::{call, load_logged};
use crate::error::Error;

pub use crate::bpf_iterator::TYPES;

/// From linux/bpf.h.
const BPF_PROG_TYPE_TRACING: u32 = 26;
const BPF_TRACE_RAW_TP: u32 = 23;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_long = 17;

/// Room for the verifier's messages; it writes the last ones if there are more.
const LOG: usize = 1 << 16;

/// How often a program is loaded whose verification a signal interrupts.
const ATTEMPTS: usize = 5;

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
    _program: OwnedFd,
}

impl Attached {
    pub(crate) fn new(link: OwnedFd, program: OwnedFd) -> Self {
        Self { _link: link, _program: program }
    }
}

/// Loads a program, given as instructions of 8 bytes each, and attaches it to the tracepoint with this
/// name, whose type has this BTF id.
///
/// # Errors
/// The kernel or its policy refuses it; the hint has the verifier's reason.
pub fn attach(tracepoint: &str, target: u32, program: &[u64]) -> Result<Attached, Error> {
    let kind = (BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, target);
    // Without a log first: writing it takes longer than the verification.
    let program = load_again(|| load_logged(kind, program, &mut [])).or_else(|cause| {
        let mut log = vec![0; LOG];
        // ENOSPC of the second attempt would say that its log is longer, not what is wrong.
        load_logged(kind, program, &mut log).map_err(|_| refusal(tracepoint, &cause, &log))
    })?;
    // The kernel knows the tracepoint from the program.
    let request = Attach { name: 0, program: program.as_raw_fd() as u32, padding: 0 };
    let link = call(BPF_RAW_TRACEPOINT_OPEN, &request).map_err(|cause| {
        Error::new("attach a program to the tracepoint", Path::new(tracepoint), &cause)
    })?;
    // SAFETY: BPF_RAW_TRACEPOINT_OPEN has just returned this descriptor, and it is not used elsewhere.
    let link = unsafe { OwnedFd::from_raw_fd(link as i32) };
    Ok(Attached { _link: link, _program: program })
}

/// The verifier gives up when a signal arrives (`do_check`, kernel/bpf/verifier.c); it is asked again, as
/// libbpf does.
fn load_again(mut load: impl FnMut() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let mut result = load();
    for _ in 1..ATTEMPTS {
        match &result {
            Err(cause) if cause.raw_os_error() == Some(libc::EAGAIN) => result = load(),
            _ => break,
        }
    }
    result
}

fn refusal(tracepoint: &str, cause: &io::Error, log: &[u8]) -> Error {
    let error = Error::new("load a program for the tracepoint", Path::new(tracepoint), cause);
    let messages = CStr::from_bytes_until_nul(log).unwrap_or_default().to_string_lossy();
    let permitted = !matches!(cause.raw_os_error(), Some(libc::EPERM));
    // The last line is a statistic.
    let reason = messages.lines().rev().find(|line| !line.starts_with("processed "));
    match reason.filter(|line| !line.is_empty()) {
        Some(line) => error.with_hint(format!("the verifier says: {line}")),
        None if permitted => error,
        None => error.with_hint(
            "it needs CAP_BPF and CAP_PERFMON, and a policy of the kernel that allows tracing programs",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_a_signal_interrupts_is_repeated_and_ends() {
        let interrupted = || Err(io::Error::from_raw_os_error(libc::EAGAIN));
        let mut loads = 0;
        let third = load_again(|| {
            loads += 1;
            if loads < 3 { interrupted() } else { Ok(std::fs::File::open("/dev/null")?.into()) }
        });
        assert!(third.is_ok() && loads == 3);
        let mut loads = 0;
        let never = load_again(|| {
            loads += 1;
            interrupted()
        });
        assert!(never.is_err() && loads == ATTEMPTS);
    }

    #[test]
    fn a_refusal_has_the_last_message_of_the_verifier() {
        let cause = io::Error::from_raw_os_error(libc::EACCES);
        let log = b"0: (79) r1\nR1 invalid mem access\nprocessed 3 insns\n\0\0";
        let hint = refusal("sched_switch", &cause, log).hint.unwrap();
        assert_eq!(hint, "the verifier says: R1 invalid mem access");
    }

    #[test]
    fn a_policy_that_refuses_without_a_message_is_named() {
        let cause = io::Error::from_raw_os_error(libc::EPERM);
        let hint = refusal("sched_switch", &cause, &[0; 4]).hint.unwrap();
        assert!(hint.contains("policy") && hint.contains("CAP_PERFMON"), "{hint}");
    }
}
