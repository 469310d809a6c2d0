//! What blocks a process, as far as it is visible from outside.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::kernel::bounded_query::BoundedQueries;
use crate::kernel::parse::keyed;
use crate::kernel::process::PATIENCE;
use crate::kernel::root::Root;

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
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
];

/// Where a thread waits whose file system somebody else must answer for: the server of FUSE (fs/fuse/dev.c), that of NFS
/// (net/sunrpc/sched.c), or who has frozen it (`sb_start_write`; kernel/locking/percpu-rwsem.c).
const WAITS_FOR_OTHERS: [&str; 3] =
    ["request_wait_answer", "rpc_wait_bit_killable", "percpu_rwsem_wait"];

/// Describes one thread of this process in the same way.
#[must_use]
pub fn describe_thread(root: &Root, tid: u32) -> String {
    let pid = std::process::id();
    let state = threads(root, pid).into_iter().find(|(id, _)| *id == tid);
    words(root, pid, state.unwrap_or((tid, '?')))
}

/// Describes a process: `state D, waits in wait_on_page, for /mnt/file`. If one of its threads hangs in the
/// kernel, it is that thread: the first one of a killed process is a zombie until the last one has ended.
#[must_use]
pub fn describe(root: &Root, pid: u32) -> String {
    let threads = threads(root, pid);
    let hangs = threads.iter().find(|(_, state)| *state == UNINTERRUPTIBLE);
    words(root, pid, *hangs.or_else(|| threads.first()).unwrap_or(&(pid, '?')))
}

fn words(root: &Root, pid: u32, (tid, state): (u32, char)) -> String {
    let mut words = format!("state {state}");
    if tid != pid {
        words = format!("thread {tid}, {words}");
    }
    let own_root = root.clone();
    let read = move || (place(&own_root, pid, tid), file(&own_root, pid, tid));
    let mut queries = BoundedQueries::with_limit(PATIENCE);
    let Ok((place, file)) = queries.run(pid, read) else {
        // No answer, or no thread for the question.
        let within = queries.unresponsive().map(|_| ", within exec(2)");
        return words + within.unwrap_or_default();
    };
    // "0" is a process that does not wait, or one that this process may not inspect.
    if !place.is_empty() && place != "0" {
        words += &format!(", waits in {place}");
    }
    if let Some(file) = file {
        words += &format!(", for {}", file.display());
    }
    words
}

/// The state of a thread that no signal reaches.
const UNINTERRUPTIBLE: char = 'D';

/// The threads of a process that have not ended, with their states, the first one first; if all have ended,
/// that one.
fn threads(root: &Root, pid: u32) -> Vec<(u32, char)> {
    let names = root.list(format!("/proc/{pid}/task")).unwrap_or_default();
    let mut tids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    tids.sort_by_key(|tid| (*tid != pid, *tid));
    let state = |tid: u32| {
        let status = root.read(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        Some((tid, keyed::colon(&status, "State")?.chars().next()?))
    };
    let all: Vec<(u32, char)> = tids.into_iter().filter_map(state).collect();
    let alive: Vec<(u32, char)> =
        all.iter().copied().filter(|(_, state)| !matches!(state, 'Z' | 'X')).collect();
    if alive.is_empty() { all } else { alive }
}

/// Notices processes that hang in the kernel.
#[derive(Debug, Default)]
pub struct HangWatch {
    /// How often a process was scheduled, and since when it has not been.
    seen: HashMap<u32, (u64, Instant)>,
    /// When it looked at any of them last.
    looked: Option<Instant>,
    next_look: Option<Instant>,
}

impl HangWatch {
    /// Whether every one of these processes has been hanging for `limit`. It looks at them ten times a second
    /// at most, so that it may be called in a loop.
    pub fn all_hang(&mut self, root: &Root, pids: &[u32], limit: Duration) -> bool {
        const INTERVAL: Duration = Duration::from_millis(100);
        if self.next_look.is_some_and(|next| Instant::now() < next) {
            return false;
        }
        self.next_look = Some(Instant::now() + INTERVAL);
        // Each one is looked at.
        pids.iter().filter(|pid| self.hangs_for(root, **pid) < limit).count() == 0
    }

    /// How long every thread of the process has been in state D, without having been scheduled once, as far
    /// as calls of this function have noticed; zero if it is not so now. Writing back gigabytes, for
    /// comparison, wakes a thread again and again.
    fn hangs_for(&mut self, root: &Root, pid: u32) -> Duration {
        let mut threads = threads(root, pid);
        if !threads.iter().all(|(_, state)| *state == UNINTERRUPTIBLE) {
            threads.clear();
        }
        self.threads_hang_for(root, pid, &threads, pid)
    }

    /// How long this thread of this process has not been scheduled once, in whatever state it waits; zero if it
    /// is stopped or traced.
    pub fn thread_hangs_for(&mut self, root: &Root, tid: u32) -> Duration {
        let pid = std::process::id();
        let mut threads = threads(root, pid);
        threads.retain(|(id, state)| *id == tid && !matches!(state, 'R' | 'T' | 't'));
        self.threads_hang_for(root, pid, &threads, tid)
    }

    /// The thread of this process that keeps the first one from going on, if neither has been scheduled for `limit`: it waits
    /// for the answer of a file system. Or the first one itself, in state D for `long`, whatever it waits for.
    pub fn stuck_thread(&mut self, root: &Root, limit: Duration, long: Duration) -> Option<u32> {
        let pid = std::process::id();
        let all = threads(root, pid);
        // Each one is looked at.
        let hanging: Vec<(u32, Duration)> =
            all.iter().map(|(tid, _)| (*tid, self.thread_hangs_for(root, *tid))).collect();
        let (_, first) = *hanging.iter().find(|(tid, _)| *tid == pid)?;
        if first >= long && all.contains(&(pid, UNINTERRUPTIBLE)) {
            return Some(pid);
        }
        let mut hang = hanging.iter().filter(|(_, time)| *time.min(&first) >= limit);
        hang.find(|(tid, _)| waits_for_others(root, pid, *tid)).map(|(tid, _)| *tid)
    }

    fn threads_hang_for(
        &mut self,
        root: &Root,
        pid: u32,
        threads: &[(u32, char)],
        key: u32,
    ) -> Duration {
        /// Callers look ten times a second at least.
        const STOPPED: Duration = Duration::from_secs(1);
        // Whatever stopped or froze this process may have stopped those it watches as well.
        if self.looked.is_some_and(|looked| looked.elapsed() > STOPPED) {
            self.seen.clear();
        }
        self.looked = Some(Instant::now());
        if threads.is_empty() {
            self.seen.remove(&key);
            return Duration::ZERO;
        }
        let switches = threads.iter().map(|(tid, _)| switches(root, pid, *tid)).sum();
        let (before, since) = self.seen.entry(key).or_insert((switches, Instant::now()));
        if *before != switches {
            (*before, *since) = (switches, Instant::now());
        }
        since.elapsed()
    }
}

fn waits_for_others(root: &Root, pid: u32, tid: u32) -> bool {
    WAITS_FOR_OTHERS.contains(&place(root, pid, tid).as_str())
}

/// The function of the kernel in which the thread waits.
fn place(root: &Root, pid: u32, tid: u32) -> String {
    root.read_trimmed(format!("/proc/{pid}/task/{tid}/wchan")).unwrap_or_default()
}

/// How often a thread was scheduled (proc_pid_status(5), since Linux 2.6.23).
fn switches(root: &Root, pid: u32, tid: u32) -> u64 {
    let text = root.read(format!("/proc/{pid}/task/{tid}/status")).unwrap_or_default();
    let counts = text.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
    counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

/// The file of the system call in which the thread waits (/proc/PID/task/TID/syscall).
fn file(root: &Root, pid: u32, tid: u32) -> Option<PathBuf> {
    let text = root.read(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let descriptor = descriptor(&text)?;
    std::fs::read_link(root.resolve(format!("/proc/{pid}/task/{tid}/fd/{descriptor}"))).ok()
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

    use crate::kernel::fifo::Fifo;

    #[test]
    fn only_calls_on_a_descriptor_name_one() {
        let line = |call: libc::c_long| format!("{call} 0x3 0x7ffd 0x1000 0x0 0x0 0x0 0x7 0x8");
        assert_eq!(descriptor(&line(libc::SYS_read)), Some(3));
        assert_eq!(descriptor(&line(libc::SYS_futex)), None);
        assert_eq!(descriptor("running"), None);
        assert_eq!(descriptor("-1 0x7ffd 0x7"), None);
    }

    /// Writes the files of a thread into a fake tree.
    fn thread(root: &Root, (pid, tid): (u32, u32), state: char, switches: u64) {
        let folder = root.resolve(format!("/proc/{pid}/task/{tid}"));
        std::fs::create_dir_all(&folder).unwrap();
        let status = format!(
            "Name:\ta) b\nState:\t{state} (x)\nvoluntary_ctxt_switches:\t{switches}\n\
             nonvoluntary_ctxt_switches:\t1\n"
        );
        for (name, text) in [("status", &*status), ("wchan", "request_wait_answer")] {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }

    #[test]
    fn a_process_hangs_if_none_of_its_threads_is_ever_scheduled() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let mut watch = HangWatch::default();
        assert_eq!(watch.hangs_for(&root, 7), Duration::ZERO, "it is gone");
        thread(&root, (7, 7), 'Z', 5);
        thread(&root, (7, 9), 'D', 5);
        let look = |watch: &mut HangWatch| {
            std::thread::sleep(Duration::from_millis(20));
            watch.hangs_for(&root, 7)
        };
        watch.hangs_for(&root, 7);
        let first = look(&mut watch);
        assert!(first >= Duration::from_millis(20) && look(&mut watch) > first, "{first:?}");
        let words = describe(&root, 7);
        assert_eq!(words, "thread 9, state D, waits in request_wait_answer");
        thread(&root, (7, 9), 'D', 6);
        let before = look(&mut watch);
        assert!(before < first, "it was scheduled");
        assert!(look(&mut watch) > before);
        thread(&root, (7, 8), 'S', 5);
        assert_eq!(look(&mut watch), Duration::ZERO, "another one works");
        assert!(!watch.all_hang(&root, &[7], Duration::from_nanos(1)));
        thread(&root, (7, 8), 'Z', 5);
        watch.next_look = None;
        assert!(!watch.all_hang(&root, &[7], Duration::from_secs(3600)));
        watch.next_look = None;
        assert!(watch.all_hang(&root, &[7], Duration::from_nanos(1)));
        watch.next_look = None;
        assert!(!watch.all_hang(&root, &[7, 10], Duration::from_nanos(1)), "10 is gone");
    }

    #[test]
    fn a_thread_that_waits_for_others_is_found_once_the_first_one_waits_too() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let own = std::process::id();
        let look = |first: (char, u64), place: &str| {
            let mut watch = HangWatch::default();
            thread(&root, (own, own), 'S', 5);
            thread(&root, (own, own + 1), 'D', 5);
            std::fs::write(root.resolve(format!("/proc/{own}/task/{own}/wchan")), "0").unwrap();
            let other = root.resolve(format!("/proc/{own}/task/{}/wchan", own + 1));
            std::fs::write(other, place).unwrap();
            let (short, long) = (Duration::from_millis(10), Duration::from_millis(20));
            assert_eq!(watch.stuck_thread(&root, short, long), None, "nothing has hung so far");
            std::thread::sleep(long);
            let (state, switches) = first;
            thread(&root, (own, own), state, switches);
            std::fs::write(root.resolve(format!("/proc/{own}/task/{own}/wchan")), "0").unwrap();
            watch.stuck_thread(&root, short, long)
        };
        for place in WAITS_FOR_OTHERS {
            assert_eq!(look(('S', 5), place), Some(own + 1));
        }
        assert_eq!(look(('S', 5), "folio_wait_bit_common"), None, "a disk, which is slow");
        assert_eq!(look(('S', 6), WAITS_FOR_OTHERS[0]), None, "the first one goes on");
        assert_eq!(look(('R', 5), WAITS_FOR_OTHERS[0]), None, "it waits for a CPU");
        assert_eq!(look(('D', 5), "folio_wait_bit_common"), Some(own), "a disk, for long");
    }

    /// A process that is stopped or frozen is not scheduled, and hangs in nothing.
    #[test]
    fn the_time_in_which_a_process_is_stopped_does_not_count() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let mut watch = HangWatch::default();
        let (own, pause) = (std::process::id(), Duration::from_millis(20));
        let mut look = |state: char, pause: Duration| {
            thread(&root, (own, own + 1), state, 5);
            std::thread::sleep(pause);
            watch.thread_hangs_for(&root, own + 1)
        };
        look('S', pause);
        assert!(look('S', pause) >= pause);
        for stopped in ['T', 't'] {
            assert_eq!(look(stopped, pause), Duration::ZERO);
        }
        look('S', pause);
        // As if this process, and the watch in it, had been stopped for that long.
        let long = Duration::from_millis(1200);
        assert!(look('S', long) < long, "the pause counts");
    }

    /// A FIFO without a writer acts as a file whose reader waits.
    #[test]
    fn a_process_within_exec_is_described_all_the_same() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        thread(&root, (7, 7), 'D', 5);
        std::fs::remove_file(tree.path().join("proc/7/task/7/wchan")).unwrap();
        drop(Fifo::make(&tree.path().join("proc/7/task/7"), "wchan").unwrap());
        assert_eq!(describe(&root, 7), "state D, within exec(2)");
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
            std::thread::sleep(Duration::from_millis(10));
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
