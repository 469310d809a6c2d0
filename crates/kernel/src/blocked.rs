//! Describes what blocks a process, as far as it is visible from outside.

use std::path::PathBuf;

use crate::process::state;
use crate::root::Root;

/// System calls whose first argument is a descriptor and that wait for its file.
const ON_A_DESCRIPTOR: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_ioctl,
    libc::SYS_getdents64,
    libc::SYS_openat,
];

/// Describes a process: `state D, waits in wait_on_page, for /mnt/file`.
#[must_use]
pub fn describe(root: &Root, pid: u32) -> String {
    let mut words = format!("state {}", state(root, pid).unwrap_or('?'));
    // "0" is a process that does not wait, or one that this process may not inspect.
    let waits = root.read_trimmed(format!("/proc/{pid}/wchan")).unwrap_or_default();
    if !waits.is_empty() && waits != "0" {
        words += &format!(", waits in {waits}");
    }
    if let Some(file) = file(root, pid) {
        words += &format!(", for {}", file.display());
    }
    words
}

/// The file of the system call in which the process waits (/proc/PID/syscall).
fn file(root: &Root, pid: u32) -> Option<PathBuf> {
    let text = root.read(format!("/proc/{pid}/syscall")).ok()?;
    let descriptor = descriptor(&text)?;
    std::fs::read_link(root.resolve(format!("/proc/{pid}/fd/{descriptor}"))).ok()
}

fn descriptor(text: &str) -> Option<u32> {
    let mut words = text.split_whitespace();
    let call: libc::c_long = words.next()?.parse().ok()?;
    let first = words.next()?.strip_prefix("0x")?;
    if !ON_A_DESCRIPTOR.contains(&call) {
        return None;
    }
    u32::from_str_radix(first, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn only_calls_on_a_descriptor_name_one() {
        let line = |call: libc::c_long| format!("{call} 0x3 0x7ffd 0x1000 0x0 0x0 0x0 0x7 0x8");
        assert_eq!(descriptor(&line(libc::SYS_read)), Some(3));
        assert_eq!(descriptor(&line(libc::SYS_futex)), None);
        assert_eq!(descriptor("running"), None);
        assert_eq!(descriptor("-1 0x7ffd 0x7"), None);
    }

    #[test]
    fn a_process_waiting_for_a_pipe_is_described() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = child.as_mut().unwrap();
        let root = Root::real();
        let mut description = String::new();
        for _ in 0..500 {
            description = describe(&root, child.id());
            // Just after waking up it is listed as running.
            if description.starts_with("state S") && description.contains("pipe:") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Without permission to trace others only the state is visible.
        let may_trace = rustix::process::geteuid().is_root();
        assert!(
            description.starts_with("state S") && (description.contains("for pipe:") || !may_trace),
            "{description}"
        );
    }
}
