//! The limit on open files of this process (setrlimit(2), RLIMIT_NOFILE).

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Resource, getrlimit, setrlimit};

/// The soft limit before it was raised; 0 if it was not.
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// Raises the soft limit to the hard one: many groups, sources and CPUs take a descriptor each.
/// Programs started in groups get the previous limit, since programs that use select(2) break beyond
/// 1024.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    let mut raised = limit;
    raised.current = limit.maximum;
    // If it is refused, only what needs many descriptors is unavailable.
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_ok() {
        BEFORE.store(current, Ordering::SeqCst);
    }
}

/// Whether a descriptor is one of the last that this process may open. The kernel gives the lowest free number, so those
/// below are in use.
pub fn is_among_last(file: &impl AsFd, last: u64) -> bool {
    let number = u64::try_from(file.as_fd().as_raw_fd()).unwrap_or_default();
    let limit = getrlimit(Resource::Nofile).current;
    limit.is_some_and(|limit| number.saturating_add(last) >= limit)
}

/// Restores the previous limit in a child. System calls only, for use between fork and exec.
pub(crate) fn restore_limit() {
    let before = BEFORE.load(Ordering::SeqCst);
    if before > 0 {
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = Some(before);
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::kernel::process::Membership;
    use crate::kernel::root::Root;

    #[test]
    fn the_last_descriptors_are_known_by_their_numbers() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(is_among_last(&file, u64::MAX));
        assert!(!is_among_last(&file, 0));
    }

    #[test]
    fn the_limit_is_raised_for_this_process_and_not_for_its_workloads() {
        let limit = getrlimit(Resource::Nofile);
        // One file less does not disturb the tests that run beside this one.
        let soft = limit.current.map_or(1023, |current| current - 1);
        setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(soft), ..limit })
            .unwrap();
        raise_limit();
        assert_eq!(getrlimit(Resource::Nofile).current, limit.maximum);

        let groups = Membership::open(&Root::real(), &[]).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -Sn"]).stdout(Stdio::piped());
        let output = groups.spawn(&mut command).unwrap().wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), soft.to_string());
    }
}
