//! Of single processes and threads: which are the kernel's own, and which are real-time.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use assay_host::facts::Available;
use assay_sys::kernel::bounded_query::BoundedQueries;
use assay_sys::kernel::parse::keyed;
use assay_sys::kernel::{Root, priority, process};

/// Bytes of a list of processes or threads.
const MAX_LIST: u64 = 1 << 20;

/// Bytes of a list of threads that are only counted.
const MAX_THREADS_LIST: u64 = 16 << 20;

/// Bytes of /proc/self/status.
const MAX_STATUS: u64 = 64 << 10;

/// How long a process may keep its files from being read.
const PATIENCE: Duration = Duration::from_secs(1);

/// Threads of one group that are looked at.
const MAX_THREADS: usize = 4096;

/// Why processes cannot be looked up.
const ELSEWHERE: &str =
    "its processes are in another PID namespace than this one: start the container with --pid host";

/// The processes and threads of groups, as far as this process can see them.
pub(super) struct Tasks<'r> {
    pub(super) root: &'r Root,
    /// Whether /proc is that of another PID namespace: then lists of v1 lack what has no number in this one.
    is_elsewhere: bool,
    /// For what a process may keep from being read.
    pub(super) queries: RefCell<BoundedQueries>,
}

impl<'r> Tasks<'r> {
    pub(super) fn new(root: &'r Root) -> Self {
        let status = root.read_at_most("/proc/self/status", MAX_STATUS).unwrap_or_default();
        let numbers =
            keyed::colon(&status, "NSpid").map_or(0, |all| all.split_whitespace().count());
        let queries = RefCell::new(BoundedQueries::with_limit(PATIENCE));
        Self { root, is_elsewhere: numbers > 1, queries }
    }

    /// How many threads a group has. Lists of v2 have a line of each, with 0 for those of another namespace.
    pub(super) fn threads(&self, group: &Path, is_v2: bool) -> Available<u64> {
        if self.is_elsewhere && !is_v2 {
            return Available::NotAvailable(ELSEWHERE.to_owned());
        }
        let text = self.root.read_at_most(group.join(list(is_v2)), MAX_THREADS_LIST);
        text.map(|text| text.lines().count() as u64).into()
    }

    /// Processes of a group that are no kernel threads.
    pub(super) fn of_users(&self, group: &Path) -> Available<u64> {
        let is_of_user = |id| process::is_kernel_thread(self.root, id) == Some(false);
        self.counted(&group.join("cgroup.procs"), is_of_user)
    }

    /// Threads of a group with a real-time policy.
    pub(super) fn real_time(&self, group: &Path, is_v2: bool) -> Available<u64> {
        const REAL_TIME: [&str; 3] = ["fifo", "rr", "deadline"];
        let policy = |id| priority::cpu_policy(self.root, id);
        let is_real_time = |id| policy(id).is_some_and(|(policy, _)| REAL_TIME.contains(&policy));
        self.counted(&group.join(list(is_v2)), is_real_time)
    }

    /// A task that has ended meanwhile is left out.
    fn counted(&self, list: &Path, counts: impl Fn(u32) -> bool) -> Available<u64> {
        let count =
            |ids: Vec<u32>| ids.into_iter().take(MAX_THREADS).filter(|id| counts(*id)).count();
        self.ids(list).map(|ids| count(ids) as u64).into()
    }

    /// The numbers in a list of processes or threads, if each of them has one here.
    pub(super) fn ids(&self, list: &Path) -> Result<Vec<u32>, String> {
        let text = self.root.read_at_most(list, MAX_LIST).map_err(|error| error.to_string())?;
        let ids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if self.is_elsewhere || ids.contains(&0) {
            return Err(ELSEWHERE.to_owned());
        }
        Ok(ids)
    }
}

const fn list(is_v2: bool) -> &'static str {
    if is_v2 { "cgroup.threads" } else { "tasks" }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn kernel_threads_and_real_time_threads_are_told_apart() {
        let top = tempfile::tempdir().unwrap();
        for (id, status, policy) in [
            (1, "State:\tS\nKthread:\t0\n", 0),
            (2, "State:\tS\nKthread:\t1\n", 0),
            (3, "State:\tS\nVmSize:\t8 kB\n", 1),
            (4, "State:\tI\n", 1),
            (6, "State:\tZ\n", 0),
        ] {
            let folder = top.path().join(format!("proc/{id}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("status"), status).unwrap();
            let zeros = |count: usize| "0 ".repeat(count);
            let stat = format!("7 (a) S (b) S {}{policy} 0\n", zeros(37));
            fs::write(folder.join("stat"), stat).unwrap();
        }
        let root = Root::at(top.path());
        // 5 has ended since the list was read.
        fs::write(top.path().join("cgroup.procs"), "1\n2\n3\n4\n5\n6\n").unwrap();
        fs::write(top.path().join("cgroup.threads"), "1\n3\n5\n").unwrap();
        let tasks = Tasks::new(&root);
        assert_eq!(tasks.of_users(Path::new("/")), Available::Value(3));
        assert_eq!(tasks.real_time(Path::new("/"), true), Available::Value(1));
        assert!(tasks.real_time(Path::new("/none"), true).reason().is_some());
    }
}
