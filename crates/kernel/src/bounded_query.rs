//! Questions about the memory of another process, asked on a thread beside the one that wants to know.
//!
//! /proc/PID/maps, /proc/PID/numa_maps and move_pages(2) wait for the lock of the address space, and whose
//! it is decides how long: one thread in a page fault on a file whose server never answers (FUSE), another in
//! mmap(2), and whoever asks waits for ever, in move_pages(2) where not even SIGKILL ends it. So an answer
//! is waited for only so long. Then the thread is left behind and that process is never asked again.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::clock::thread_cpu_ns;

/// Threads that are left behind at the most; with that many nobody is asked any more.
const MOST_LEFT: usize = 3;

/// A question, with the way back for its answer.
type Question = Box<dyn FnOnce() + Send>;

/// Asks about processes, one question at a time.
#[derive(Debug)]
pub struct BoundedQueries {
    limit: Duration,
    /// To the thread that asks, where there is one.
    thread: Option<Sender<Question>>,
    /// Processes that did not answer.
    locked: BTreeSet<u32>,
    spent_ns: u64,
}

impl BoundedQueries {
    /// Waits for an answer so long at the most. The thread is begun with the first question, where and
    /// as whatever asks it runs.
    #[must_use]
    pub fn waiting(limit: Duration) -> Self {
        Self { limit, thread: None, locked: BTreeSet::new(), spent_ns: 0 }
    }

    /// The answer to a question about a process, or why there is none. The question must own no file: the
    /// thread has a table of descriptors of its own, in which there is none.
    pub fn ask<T: Send + 'static>(
        &mut self,
        pid: u32,
        question: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        if self.locked.contains(&pid) || self.locked.len() >= MOST_LEFT {
            return Err(self.locked().unwrap_or_default());
        }
        let (to, answer) = channel();
        let question: Question = Box::new(move || {
            let before = thread_cpu_ns();
            let said = question();
            // Nobody waits for it any more where it took too long.
            let _ = to.send((said, thread_cpu_ns() - before));
        });
        let thread = match self.thread.take() {
            Some(thread) => thread,
            None => begin().map_err(|cause| format!("no thread can be begun: {cause}"))?,
        };
        // One that has ended drops the question, and with it the way back.
        let _ = thread.send(question);
        match answer.recv_timeout(self.limit) {
            Ok((said, spent_ns)) => {
                self.spent_ns += spent_ns;
                self.thread = Some(thread);
                Ok(said)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.locked.insert(pid);
                Err(self.locked().unwrap_or_default())
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("what was asked about process {pid} has failed"))
            }
        }
    }

    /// Who is not asked any more, and why, if anybody is not.
    #[must_use]
    pub fn locked(&self) -> Option<String> {
        let ids: Vec<String> = self.locked.iter().map(u32::to_string).collect();
        if ids.is_empty() {
            return None;
        }
        let nobody = match self.locked.len() >= MOST_LEFT {
            true => "; nor is any other process",
            false => "",
        };
        Some(format!(
            "its memory map is locked (process {}): it did not answer within {:?}, and is not asked \
             again{nobody}",
            ids.join(", "),
            self.limit
        ))
    }

    /// CPU time that all answers have taken.
    #[must_use]
    pub const fn spent_ns(&self) -> u64 {
        self.spent_ns
    }
}

/// A thread that answers until nobody can ask it any more.
fn begin() -> io::Result<Sender<Question>> {
    let (to, questions): (Sender<Question>, Receiver<Question>) = channel();
    std::thread::Builder::new().spawn(move || {
        have_nothing_open();
        for question in questions {
            question();
        }
    })?;
    Ok(to)
}

/// From here on this thread has descriptors of its own, and none. One that hangs in the kernel outlives
/// this process, and would keep open what the others have: the lock of a ledger, and the pipe at whose
/// other end somebody waits for our last word.
fn have_nothing_open() {
    const FIRST: libc::c_uint = 0;
    const NO_FLAGS: libc::c_uint = 0;
    /// More than a shell or a service manager ever hands down.
    const LAST: libc::c_int = 4096;
    // SAFETY: the table that is emptied is this thread's own, and it owns no descriptor in it; where it
    // cannot have one, nothing is closed.
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

    /// A question that nobody answers while the other end is kept.
    fn endless() -> (Sender<()>, impl FnOnce() + Send + 'static) {
        let (keep, never) = channel::<()>();
        let question = move || {
            let _ = never.recv();
        };
        (keep, question)
    }

    #[test]
    fn who_does_not_answer_is_left_behind_and_never_asked_again() {
        let mut aside = BoundedQueries::waiting(SHORT);
        assert_eq!(aside.ask(1, || 7), Ok(7));
        assert_eq!(aside.locked(), None);
        let begun = Instant::now();
        let mut kept = Vec::new();
        for pid in 2..5 {
            let (keep, question) = endless();
            kept.push(keep);
            let why = aside.ask(pid, question).unwrap_err();
            assert!(why.contains("locked") && why.contains(&pid.to_string()), "{why}");
            assert!(aside.ask(pid, || 9).is_err(), "it is asked again");
            assert_eq!(aside.ask(1, || 8).is_ok(), pid < 4, "three are enough");
        }
        assert!(aside.locked().unwrap().contains("(process 2, 3, 4)"), "{:?}", aside.locked());
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_question_that_fails_is_an_error_and_the_next_is_answered() {
        let mut aside = BoundedQueries::waiting(Duration::from_secs(20));
        let failed = aside.ask(1, || assert!(std::hint::black_box(false), "as this test wants it"));
        assert!(failed.unwrap_err().contains("process 1 has failed"));
        assert_eq!(aside.ask(1, || 7), Ok(7));
    }

    #[test]
    fn what_answers_takes_is_counted() {
        let mut aside = BoundedQueries::waiting(Duration::from_secs(20));
        aside
            .ask(1, || {
                let before = thread_cpu_ns();
                while thread_cpu_ns() < before + 2_000_000 {}
            })
            .unwrap();
        assert!(aside.spent_ns() >= 2_000_000, "{}", aside.spent_ns());
    }

    #[test]
    fn the_thread_that_asks_has_nothing_of_ours_open() {
        // SAFETY: of a thread that ends with it.
        let may = std::thread::spawn(|| unsafe { libc::unshare(libc::CLONE_FILES) == 0 });
        // A container's filter may not allow it.
        if !may.join().unwrap() {
            return;
        }
        let own = File::open("/dev/null").unwrap();
        let mut aside = BoundedQueries::waiting(Duration::from_secs(20));
        let open = aside.ask(1, || std::fs::read_dir("/proc/thread-self/fd").unwrap().count());
        assert_eq!(open, Ok(1), "the list itself");
        assert!(own.metadata().is_ok(), "ours are open");
    }
}
