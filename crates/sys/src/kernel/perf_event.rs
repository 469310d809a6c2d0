//! perf_event_open(2): one event of a task or of a control group.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

// include/uapi/linux/perf_event.h.
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
const PERF_FORMAT_TOTAL_TIME_ENABLED: u64 = 1;
const PERF_FORMAT_TOTAL_TIME_RUNNING: u64 = 2;

/// The first version of `struct perf_event_attr`, which every kernel accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// Opens the event `config` of type `kind`. Depending on `flags`, `target` is a task (0 is this
/// thread), or with PERF_FLAG_PID_CGROUP the descriptor of a group's directory. A `cpu` of -1 means
/// any. The descriptor is closed on exec.
pub(crate) fn open(
    event: (u32, u64),
    target: libc::c_int,
    cpu: libc::c_int,
    flags: libc::c_ulong,
) -> io::Result<File> {
    open_with(event, target, cpu, flags, 0)
}

/// The same, read as three numbers: the count, the nanoseconds it was enabled, and the nanoseconds it
/// was running on a hardware counter.
pub(crate) fn open_timed(
    event: (u32, u64),
    target: libc::c_int,
    cpu: libc::c_int,
    flags: libc::c_ulong,
) -> io::Result<File> {
    let times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    open_with(event, target, cpu, flags, times)
}

fn open_with(
    (kind, config): (u32, u64),
    target: libc::c_int,
    cpu: libc::c_int,
    flags: libc::c_ulong,
    read_format: u64,
) -> io::Result<File> {
    let attributes = Attributes { kind, config, read_format, ..Attributes::default() };
    open_described(&attributes, target, cpu, flags)
}

/// Opens an event of all tasks of a CPU that fires each time its count has grown by `period`.
pub(crate) fn open_periodic(
    (kind, config): (u32, u64),
    cpu: libc::c_int,
    period: u64,
) -> io::Result<File> {
    let attributes = Attributes { kind, config, sample_period: period, ..Attributes::default() };
    open_described(&attributes, -1, cpu, 0)
}

fn open_described(
    attributes: &Attributes,
    target: libc::c_int,
    cpu: libc::c_int,
    flags: libc::c_ulong,
) -> io::Result<File> {
    let attributes = Attributes { size: size_of::<Attributes>() as u32, ..*attributes };
    // SAFETY: `attributes` has the layout and the size that it claims and lives through the call; the
    // other arguments are numbers, -1 being no event group.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            target,
            cpu,
            -1,
            flags | PERF_FLAG_FD_CLOEXEC,
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: perf_event_open has just returned this descriptor, and it is not used elsewhere.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor as i32) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_of_the_first_version_of_the_header() {
        assert_eq!(size_of::<Attributes>(), 64);
    }
}
