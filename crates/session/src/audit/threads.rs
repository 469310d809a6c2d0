//! Of single processes and threads: which are the kernel's own, and which are real-time.

use std::path::Path;

use assay_facts::Available;
use assay_kernel::Root;

/// Bytes of a list of processes or threads.
const MAX_LIST: u64 = 1 << 20;

/// Threads of one group that are looked at.
const MAX_THREADS: usize = 4096;

/// Bytes of a stat file, of which the longest part is the name of the program.
const MAX_STAT: u64 = 4 << 10;

/// What proc_pid_stat(5) says of a task.
struct Task {
    is_of_kernel: bool,
    is_real_time: bool,
}

/// Processes of a group that are no kernel threads.
pub(super) fn of_users(root: &Root, group: &Path) -> Available<u64> {
    counted(root, &group.join("cgroup.procs"), |task| !task.is_of_kernel)
}

/// Threads of a group with a real-time policy.
pub(super) fn real_time(root: &Root, group: &Path, is_v2: bool) -> Available<u64> {
    let list = if is_v2 { "cgroup.threads" } else { "tasks" };
    counted(root, &group.join(list), |task| task.is_real_time)
}

fn counted(root: &Root, list: &Path, counts: impl Fn(&Task) -> bool) -> Available<u64> {
    let list = match root.read_at_most(list, MAX_LIST) {
        Ok(list) => list,
        Err(error) => return Available::NotAvailable(error.to_string()),
    };
    let ids = list.lines().filter_map(|line| line.parse::<u32>().ok()).take(MAX_THREADS);
    // A task that has ended meanwhile is left out.
    Available::Value(ids.filter_map(|id| task(root, id)).filter(counts).count() as u64)
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
        assert_eq!(of_users(&root, Path::new("/")), Available::Value(2));
        assert_eq!(real_time(&root, Path::new("/"), true), Available::Value(1));
        assert!(real_time(&root, Path::new("/none"), true).reason().is_some());
    }
}
