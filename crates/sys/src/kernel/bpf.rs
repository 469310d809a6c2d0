//! bpf(2): loading eBPF programs.

use std::ffi::CStr;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;

use crate::kernel::error::Error;
use crate::kernel::signal;

/// From linux/bpf.h.
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_TYPE_TRACING: u32 = 26;

/// Room for the verifier's messages; it writes the last ones if there are more.
const LOG: usize = 1 << 16;

/// How often a program is loaded whose verification a signal interrupts.
const ATTEMPTS: usize = 5;

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

/// Loads the tracing program of this name, given as instructions of 8 bytes each, to be attached as `BPF_TRACE_*` to
/// what has this BTF id. The hint of the error has the verifier's reason. Nothing is loaded once this process is asked to end: on a
/// busy machine a verification takes seconds.
pub(crate) fn load_tracing(
    name: &str,
    attachment: (u32, u32),
    program: &[u64],
) -> Result<OwnedFd, Error> {
    // Without a log first: writing it takes longer than the verification.
    load_again(|| load_logged(attachment, program, &mut [])).or_else(|cause| {
        if signal::is_asked_to_end() {
            let why = "this process was asked to end";
            return Err(Error::unexpected("load the eBPF program", Path::new(name), why));
        }
        let mut log = vec![0; LOG];
        // ENOSPC of the second attempt would say that its log is longer, not what is wrong.
        load_logged(attachment, program, &mut log).map_err(|_| refusal(name, &cause, &log))
    })
}

/// If the verifier refuses the program, its messages are in `log`, if there is room.
fn load_logged(
    (attach, target): (u32, u32),
    program: &[u64],
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    let mut plain = plain(BPF_PROG_TYPE_TRACING, program);
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

/// Calls bpf(2) with one command and the start of its `union bpf_attr`. What the kernel writes there is a `Cell`.
pub(crate) fn call<T>(command: libc::c_long, request: &T) -> io::Result<libc::c_long> {
    // SAFETY: `request` has the layout that `command` expects and its true size, and everything it
    // points to lives through the call.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(request), size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// What the loader puts in place of an instruction that reads a field which the kernel lacks, in the verifier's words.
const LACKING: &str = "invalid func unknown#195896080";

/// The verifier gives up when a signal arrives (`do_check`, kernel/bpf/verifier.c); it is asked again, as
/// libbpf does, unless the signal asks for the end.
fn load_again(mut load: impl FnMut() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let mut result = Err(io::Error::from_raw_os_error(libc::EAGAIN));
    for _ in 0..ATTEMPTS {
        match &result {
            Err(cause)
                if cause.raw_os_error() == Some(libc::EAGAIN) && !signal::is_asked_to_end() =>
            {
                result = load();
            }
            _ => break,
        }
    }
    result
}

fn refusal(name: &str, cause: &io::Error, log: &[u8]) -> Error {
    let error = Error::new("load the eBPF program", Path::new(name), cause);
    let messages = CStr::from_bytes_until_nul(log).unwrap_or_default().to_string_lossy();
    let permitted = !matches!(cause.raw_os_error(), Some(libc::EPERM));
    // The last line is a statistic.
    let reason = messages.lines().rev().find(|line| !line.starts_with("processed "));
    match reason.filter(|line| !line.is_empty()) {
        Some(line) if line.contains(LACKING) => {
            error.with_hint("this kernel lacks a type or field that the program reads")
        }
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
    use crate::kernel::signal_forwarding;

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
    fn nothing_is_loaded_once_the_end_is_asked_for() {
        signal_forwarding::note_signals();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM)
            .unwrap();
        while !signal::is_asked_to_end() {
            std::thread::yield_now();
        }
        let program = [0xb7, 0x95]; // r0 = 0; exit
        let error = load_tracing("sched_switch", (23, 0), &program).unwrap_err();
        let _ = signal_forwarding::take();
        assert!(error.to_string().contains("asked to end"), "{error}");
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
