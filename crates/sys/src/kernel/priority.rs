//! Scheduling of a thread: its policy, its nice value, and its I/O class.

use std::path::PathBuf;

use rustix::process::{Pid, getpriority_process};

use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// `IOPRIO_WHO_PROCESS` (include/uapi/linux/ioprio.h); a thread id refers to that thread only.
const WHO_PROCESS: libc::c_int = 1;

/// The class is in the upper three of sixteen bits.
const CLASS_SHIFT: u32 = 13;

/// The I/O class set for a thread (ioprio_get(2)): `none` if none was set, and it is served as best
/// effort.
pub fn io_class(thread: u32) -> Result<&'static str, Error> {
    let path = || PathBuf::from(format!("/proc/{thread}"));
    let id = libc::c_int::try_from(thread)
        .map_err(|_| Error::unexpected("ioprio_get", &path(), "no such thread id"))?;
    // SAFETY: ioprio_get takes two integers and touches no memory of ours.
    let value = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, id) };
    if value < 0 {
        return Err(Error::new("ioprio_get", &path(), &std::io::Error::last_os_error()));
    }
    Ok(match value >> CLASS_SHIFT {
        0 => "none",
        1 => "rt",
        2 => "best-effort",
        3 => "idle",
        _ => "unknown",
    })
}

/// The scheduling policy of a thread and its nice value. `None` once it has ended. A fake tree has them in /proc/PID/stat, whose
/// reader may have to wait on a host (`kernel::process`).
#[must_use]
pub fn cpu_policy(root: &Root, thread: u32) -> Option<(&'static str, i32)> {
    if !root.is_real() {
        return policy_of(&root.read(format!("/proc/{thread}/stat")).ok()?);
    }
    let id = Pid::from_raw(thread.try_into().ok()?)?;
    // SAFETY: sched_getscheduler takes an integer and touches no memory of ours.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, id.as_raw_nonzero().get()) };
    // With it a policy may be reset in children (SCHED_RESET_ON_FORK).
    let policy = u32::try_from(policy).ok()? & !(libc::SCHED_RESET_ON_FORK as u32);
    Some((name(policy), getpriority_process(Some(id)).ok()?))
}

fn policy_of(stat: &str) -> Option<(&'static str, i32)> {
    // The command name is in parentheses and may contain blanks; field 3 follows it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let nice = fields.nth(19 - 3)?.parse().ok()?;
    Some((name(fields.nth(41 - 20)?.parse().ok()?), nice))
}

fn name(policy: u32) -> &'static str {
    match policy {
        0 => "other",
        1 => "fifo",
        2 => "rr",
        3 => "batch",
        5 => "idle",
        6 => "deadline",
        7 => "ext",
        _ => "unknown",
    }
}

/// Gives the calling process the highest priority of the fair class, as far as it may: it also leaves its session, since
/// where each session is a group of its own only that group's nice value counts against others (sched(7), "The
/// autogroup feature").
pub fn go_before_others() {
    let _ = rustix::process::setpriority_process(None, -20);
    if rustix::process::setsid().is_ok() {
        let _ = std::fs::write("/proc/self/autogroup", "-20");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_those_of_the_manual_page() {
        let fields: Vec<String> = (4..=52).map(|field| (1000 + field).to_string()).collect();
        let line = |nice: &str, policy: &str| {
            let mut fields = fields.clone();
            fields[19 - 4] = nice.to_owned();
            fields[41 - 4] = policy.to_owned();
            format!("7 (a) b) S {}", fields.join(" "))
        };
        assert_eq!(policy_of(&line("-5", "0")), Some(("other", -5)));
        assert_eq!(policy_of(&line("19", "5")), Some(("idle", 19)));
        assert_eq!(policy_of("7 (cut"), None);
    }

    #[test]
    fn a_thread_has_the_class_that_was_set() {
        std::thread::spawn(|| {
            let id = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            // SAFETY: ioprio_set takes three integers; 0 is the calling thread, which belongs to this
            // test.
            let set =
                unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, 3 << CLASS_SHIFT) };
            assert_eq!(set, 0);
            assert_eq!(io_class(id).unwrap(), "idle");
            assert_eq!(cpu_policy(&Root::real(), id).unwrap().0, "other");
        })
        .join()
        .unwrap();
    }
}
