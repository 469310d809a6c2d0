//! Of single processes and threads: which are the kernel's own, and which are real-time.

use std::path::Path;

use assay_host::facts::Available;
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::keyed;

/// Bytes of a list of processes or threads.
const MAX_LIST: u64 = 1 << 20;

/// Bytes of a list of threads that are only counted.
const MAX_THREADS_LIST: u64 = 16 << 20;

/// Bytes of /proc/self/status.
const MAX_STATUS: u64 = 64 << 10;

/// Threads of one group that are looked at.
const MAX_THREADS: usize = 4096;

/// Bytes of a stat file, of which the longest part is the name of the program.
const MAX_STAT: u64 = 4 << 10;

/// What proc_pid_stat(5) says of a task.
struct Task {
    is_of_kernel: bool,
    is_real_time: bool,
}

/// Why processes cannot be looked up.
const ELSEWHERE: &str =
    "its processes are in another PID namespace than this one: start the container with --pid host";

/// The processes and threads of groups, as far as this process can see them.
pub(super) struct Tasks<'r> {
    pub(super) root: &'r Root,
    /// Whether /proc is that of another PID namespace: then lists of v1 lack what has no number in this one.
    is_elsewhere: bool,
}

impl<'r> Tasks<'r> {
    pub(super) fn new(root: &'r Root) -> Self {
        let status = root.read_at_most("/proc/self/status", MAX_STATUS).unwrap_or_default();
        let numbers =
            keyed::colon(&status, "NSpid").map_or(0, |all| all.split_whitespace().count());
        Self { root, is_elsewhere: numbers > 1 }
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
        self.counted(&group.join("cgroup.procs"), |task| !task.is_of_kernel)
    }

    /// Threads of a group with a real-time policy.
    pub(super) fn real_time(&self, group: &Path, is_v2: bool) -> Available<u64> {
        self.counted(&group.join(list(is_v2)), |task| task.is_real_time)
    }

    fn counted(&self, list: &Path, counts: impl Fn(&Task) -> bool) -> Available<u64> {
        // A task that has ended meanwhile is left out.
        let task = |id| task(self.root, id).filter(&counts);
        let count = |ids: Vec<u32>| ids.into_iter().take(MAX_THREADS).filter_map(task).count();
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

/// The file of the thread alone: /proc/ID/stat sums up all threads of the process.
fn task(root: &Root, id: u32) -> Option<Task> {
    const PF_KTHREAD: u64 = 0x0020_0000;
    const REAL_TIME: [u64; 3] = [1, 2, 6];
    let text = root.read_at_most(format!("/proc/{id}/task/{id}/stat"), MAX_STAT).ok()?;
    // A name may have spaces and parentheses. Field 3 follows it; flags are field 9, the policy is field 41.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Task {
        is_of_kernel: field(9)? & PF_KTHREAD != 0,
        is_real_time: REAL_TIME.contains(&field(41)?),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn stat(name: &str, flags: u64, policy: u64) -> String {
        let zeros = |count: usize| "0 ".repeat(count);
        format!("7 ({name}) S {}{flags} {}{policy} 0\n", zeros(5), zeros(31))
    }

    #[test]
    fn kernel_threads_and_real_time_threads_are_told_apart() {
        let top = tempfile::tempdir().unwrap();
        for (id, text) in [
            (1, stat("a) S (b", 0x0040_0100, 0)),
            (2, stat("kthreadd", 0x0020_8040, 0)),
            (3, stat("fifo", 0x0040_0100, 1)),
            (4, stat("migration/0", 0x0420_8040, 1)),
        ] {
            let folder = top.path().join(format!("proc/{id}/task/{id}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), text).unwrap();
        }
        let root = Root::at(top.path());
        // 5 has ended since the list was read.
        fs::write(top.path().join("cgroup.procs"), "1\n2\n3\n4\n5\n").unwrap();
        fs::write(top.path().join("cgroup.threads"), "1\n3\n5\n").unwrap();
        let tasks = Tasks::new(&root);
        assert_eq!(tasks.of_users(Path::new("/")), Available::Value(2));
        assert_eq!(tasks.real_time(Path::new("/"), true), Available::Value(1));
        assert!(tasks.real_time(Path::new("/none"), true).reason().is_some());
    }
}
