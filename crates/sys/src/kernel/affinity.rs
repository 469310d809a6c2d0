//! CPU affinity of threads, and the CPU on which they last ran.

use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// Number of CPUs in a mask: NR_CPUS is at most 8192. A mask shorter than the kernel's own is refused
/// (EINVAL), as glibc's of 1024 is on large machines.
const MAX_CPUS: usize = 8192;

type Mask = [u64; MAX_CPUS / 64];

/// Binds the calling thread, and threads that it starts from then on, to these CPUs
/// (sched_setaffinity(2)).
pub fn bind_self(cpus: &[u16]) -> Result<(), Error> {
    bind_thread(0, cpus, Path::new("/proc/self"))
}

/// Binds a thread to these CPUs.
pub fn bind(thread: u32, cpus: &[u16]) -> Result<(), Error> {
    let path = PathBuf::from(format!("/proc/{thread}"));
    let id =
        known_id(thread).ok_or_else(|| Error::unexpected("sched_setaffinity", &path, NO_THREAD))?;
    bind_thread(id, cpus, &path)
}

const NO_THREAD: &str = "no such process id";

fn known_id(thread: u32) -> Option<i32> {
    i32::try_from(thread).ok().filter(|id| *id > 0)
}

/// 0 is this thread.
fn bind_thread(id: i32, cpus: &[u16], path: &Path) -> Result<(), Error> {
    let mut mask: Mask = [0; MAX_CPUS / 64];
    for cpu in cpus {
        if let Some(word) = mask.get_mut(usize::from(*cpu) / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    // SAFETY: the mask lives through the call and its length is passed.
    let answer = unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, id, size_of::<Mask>(), &raw const mask)
    };
    if answer == 0 {
        return Ok(());
    }
    let cause = io::Error::last_os_error();
    Err(Error::new("sched_setaffinity", path, &cause).with_value(&format!("{cpus:?}")))
}

/// The CPUs that a thread may run on, with its cpuset applied (sched_getaffinity(2)).
pub fn allowed_cpus(pid: u32) -> Result<Vec<u16>, Error> {
    let path = PathBuf::from(format!("/proc/{pid}"));
    let id =
        known_id(pid).ok_or_else(|| Error::unexpected("sched_getaffinity", &path, NO_THREAD))?;
    let mut mask: Mask = [0; MAX_CPUS / 64];
    // SAFETY: the kernel writes no more than the length passed, which is the mask's.
    let answer =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, id, size_of::<Mask>(), &raw mut mask) };
    if answer < 0 {
        return Err(Error::new("sched_getaffinity", &path, &io::Error::last_os_error()));
    }
    let is_set = |cpu: &u16| mask[usize::from(*cpu) / 64] >> (cpu % 64) & 1 == 1;
    Ok((0..MAX_CPUS as u16).filter(is_set).collect())
}

/// The CPU on which a process last ran: field 39 of /proc/PID/stat (proc_pid_stat(5)).
#[must_use]
pub fn last_cpu(root: &Root, pid: u32) -> Option<u16> {
    last_cpu_at(root, &format!("/proc/{pid}"))
}

/// The same for the process or thread with this folder, `/proc/PID/task/TID`.
#[must_use]
pub fn last_cpu_at(root: &Root, folder: &str) -> Option<u16> {
    let stat = root.read(format!("{folder}/stat")).ok()?;
    // The command name is in parentheses and may contain blanks; field 3 follows it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(39 - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_thread_runs_on_its_cpu() {
        std::thread::spawn(|| {
            let allowed =
                allowed_cpus(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let last = *allowed.last().unwrap();
            bind_self(&[last]).unwrap();
            let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            assert_eq!(allowed_cpus(tid).unwrap(), [last]);
            assert_eq!(last_cpu(&Root::real(), tid), Some(last));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_mask_has_room_for_every_cpu_of_any_kernel() {
        // The kernel refuses a mask that is shorter than its own. x86-64 with MAXSMP has 8192 CPUs.
        let last = std::fs::read_to_string("/sys/devices/system/cpu/kernel_max").unwrap();
        let last: usize = last.trim().parse().unwrap();
        assert!(size_of::<Mask>() * 8 > last.max(8191), "{last}");
    }

    #[test]
    fn field_39_is_found_after_a_name_with_blanks_and_parentheses() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("proc/7");
        std::fs::create_dir_all(&folder).unwrap();
        let fields: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        std::fs::write(folder.join("stat"), format!("7 (a) b (c)) R {}\n", fields.join(" ")))
            .unwrap();
        assert_eq!(last_cpu(&Root::at(tree.path()), 7), Some(39));
    }
}
