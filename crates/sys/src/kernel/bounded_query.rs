//! Queries about another process, made on a separate thread with a time limit.
//!
//! /proc/PID/cmdline, /proc/PID/numa_maps and move_pages(2) wait for the lock of the address space, and
//! its owner decides how long: with one thread in a page fault on a file whose server never answers
//! (FUSE) and another in mmap(2), the caller waits for ever, in move_pages(2) even beyond SIGKILL. More
//! files wait for a process within exec(2) (`kernel::process`). So every query has a time limit. After
//! it the thread is abandoned and that process is not queried again.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::kernel::clock::thread_cpu_ns;

/// Maximum number of abandoned threads; from then on nothing is queried any more.
const MAX_ABANDONED: usize = 3;

/// A query, including the channel for its result.
type Query = Box<dyn FnOnce() + Send>;

/// Runs queries about processes, one at a time.
#[derive(Debug)]
pub struct BoundedQueries {
    limit: Duration,
    /// The channel to the query thread, if there is one.
    thread: Option<Sender<Query>>,
    /// Processes that did not answer.
    unresponsive_pids: BTreeSet<u32>,
    spent_ns: u64,
}

impl BoundedQueries {
    /// Queries with this time limit. The thread is started by the first query, with the affinity and
    /// cgroup of its caller.
    #[must_use]
    pub fn with_limit(limit: Duration) -> Self {
        Self { limit, thread: None, unresponsive_pids: BTreeSet::new(), spent_ns: 0 }
    }

    /// The result of a query about a process, or why there is none. The query must own no file: the
    /// thread has an empty descriptor table of its own.
    pub fn run<T: Send + 'static>(
        &mut self,
        pid: u32,
        query: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        if self.unresponsive_pids.contains(&pid) || self.unresponsive_pids.len() >= MAX_ABANDONED {
            return Err(self.unresponsive().unwrap_or_default());
        }
        let (to, result_receiver) = channel();
        let query: Query = Box::new(move || {
            let before = thread_cpu_ns();
            let result = query();
            // After a timeout nobody receives it.
            let _ = to.send((result, thread_cpu_ns() - before));
        });
        let thread = match self.thread.take() {
            Some(thread) => thread,
            None => begin().map_err(|cause| format!("cannot start a thread: {cause}"))?,
        };
        // A thread that has ended drops the query, and with it the result channel.
        let _ = thread.send(query);
        match result_receiver.recv_timeout(self.limit) {
            Ok((result, spent_ns)) => {
                self.spent_ns += spent_ns;
                self.thread = Some(thread);
                Ok(result)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.unresponsive_pids.insert(pid);
                Err(self.unresponsive().unwrap_or_default())
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("the query about process {pid} has failed"))
            }
        }
    }

    /// Which processes are not queried any more, and why, if any.
    #[must_use]
    pub fn unresponsive(&self) -> Option<String> {
        let ids: Vec<String> = self.unresponsive_pids.iter().map(u32::to_string).collect();
        if ids.is_empty() {
            return None;
        }
        let others = match self.unresponsive_pids.len() >= MAX_ABANDONED {
            true => "; nor is any other process",
            false => "",
        };
        Some(format!(
            "its files in /proc are locked (process {}): it did not answer within {:?}, and is not queried \
             again{others}",
            ids.join(", "),
            self.limit
        ))
    }

    /// CPU time used by all queries.
    #[must_use]
    pub const fn spent_ns(&self) -> u64 {
        self.spent_ns
    }
}

/// A thread that runs queries until the channel closes.
fn begin() -> io::Result<Sender<Query>> {
    let (to, queries): (Sender<Query>, Receiver<Query>) = channel();
    std::thread::Builder::new().spawn(move || {
        close_all_descriptors();
        for query in queries {
            query();
        }
    })?;
    Ok(to)
}

/// Gives this thread an empty descriptor table of its own. A thread that hangs in the kernel outlives
/// this process, and would keep its files open: the lock of a ledger, and the pipe whose reader waits
/// for its end.
pub fn close_all_descriptors() {
    const FIRST: libc::c_uint = 0;
    const NO_FLAGS: libc::c_uint = 0;
    /// More than a shell or a service manager ever passes down.
    const LAST: libc::c_int = 4096;
    // SAFETY: the table that is emptied belongs to this thread, which owns no descriptor in it; if it
    // cannot have its own, nothing is closed.
    unsafe {
        if libc::unshare(libc::CLONE_FILES) != 0 {
            return;
        }
        if libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, NO_FLAGS) != 0 {
            for descriptor in 0..LAST {
                libc::close(descriptor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Instant;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    /// A query that never ends while the returned sender is kept.
    fn endless() -> (Sender<()>, impl FnOnce() + Send + 'static) {
        let (keep, never) = channel::<()>();
        let query = move || {
            let _ = never.recv();
        };
        (keep, query)
    }

    #[test]
    fn an_unresponsive_process_is_never_queried_again() {
        let mut queries = BoundedQueries::with_limit(SHORT);
        assert_eq!(queries.run(1, || 7), Ok(7));
        assert_eq!(queries.unresponsive(), None);
        let begun = Instant::now();
        let mut senders = Vec::new();
        for pid in 2..5 {
            let (keep, query) = endless();
            senders.push(keep);
            let why = queries.run(pid, query).unwrap_err();
            assert!(why.contains("locked") && why.contains(&pid.to_string()), "{why}");
            assert!(queries.run(pid, || 9).is_err(), "it is queried again");
            assert_eq!(queries.run(1, || 8).is_ok(), pid < 4, "three are the limit");
        }
        assert!(
            queries.unresponsive().unwrap().contains("(process 2, 3, 4)"),
            "{:?}",
            queries.unresponsive()
        );
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_failed_query_is_an_error_and_the_next_one_runs() {
        let mut queries = BoundedQueries::with_limit(Duration::from_secs(20));
        let failed =
            queries.run(1, || assert!(std::hint::black_box(false), "as this test wants it"));
        assert!(failed.unwrap_err().contains("process 1 has failed"));
        assert_eq!(queries.run(1, || 7), Ok(7));
    }

    #[test]
    fn cpu_time_of_queries_is_counted() {
        let mut queries = BoundedQueries::with_limit(Duration::from_secs(20));
        queries
            .run(1, || {
                let before = thread_cpu_ns();
                while thread_cpu_ns() < before + 2_000_000 {}
            })
            .unwrap();
        assert!(queries.spent_ns() >= 2_000_000, "{}", queries.spent_ns());
    }

    #[test]
    fn the_query_thread_has_none_of_our_files_open() {
        // SAFETY: affects only a thread that ends with it.
        let may = std::thread::spawn(|| unsafe { libc::unshare(libc::CLONE_FILES) == 0 });
        // A container's seccomp filter may not allow it.
        if !may.join().unwrap() {
            return;
        }
        let own = File::open("/dev/null").unwrap();
        let mut queries = BoundedQueries::with_limit(Duration::from_secs(20));
        let open = queries.run(1, || std::fs::read_dir("/proc/thread-self/fd").unwrap().count());
        assert_eq!(open, Ok(1), "only the listed directory");
        assert!(own.metadata().is_ok(), "ours are open");
    }
}
