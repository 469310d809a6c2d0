//! All threads of the machine in one read: an iterator of eBPF over tasks
//! (Documentation/bpf/bpf_iterators.rst; 5.8). The kernel writes a record a thread straight from
//! its own structures into memory that is shared with it; /proc writes text for each thread, which
//! costs it ten times as much.
//!
//! The numbers are those of /proc/PID/task/TID/stat and schedstat, from the same fields.

mod layout;

use std::path::Path;

use crate::bpf_code::Code;
use crate::bpf_iterator::{BpfIterator, Functions, Limit, TYPES, Way};
use crate::btf::{Btf, lacks};
use crate::error::Error;
use crate::root::Root;
use layout::{Layout, WORDS, describe};

/// Room for so many threads of the machine at first, and at the most.
const ROOM: usize = 8 * 1024;
const MOST_ROOM: usize = 32 * 1024;

/// One thread at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub pid: u32,
    /// Process id of the parent.
    pub parent: u32,
    /// The CPU that it runs on or ran on last.
    pub cpu: u16,
    /// The state letter, as /proc gives it.
    pub state: u8,
    /// When it was started, nanoseconds after boot; in ticks it is field 22 of `stat`.
    pub started_ns: u64,
    /// Nanoseconds on a CPU.
    pub run_ns: u64,
    /// Nanoseconds for which it was ready to run and waited.
    pub wait_ns: u64,
    /// How often it was moved to another CPU.
    pub migrations: u64,
    /// Faults that needed no disk.
    pub minor_faults: u64,
    /// Faults that did.
    pub major_faults: u64,
    /// The command name, padded with zeros.
    pub name: [u8; 16],
}

impl Task {
    /// The name without its padding.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.name.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// The thread that a record is about.
    fn of(record: &[u64]) -> Option<Self> {
        let record: &[u64; WORDS] = record.try_into().ok()?;
        let mut name = [0; 16];
        name[..8].copy_from_slice(&record[WORDS - 2].to_ne_bytes());
        name[8..].copy_from_slice(&record[WORDS - 1].to_ne_bytes());
        Some(Self {
            tid: record[0] as u32,
            pid: record[1] as u32,
            parent: record[2] as u32,
            cpu: record[3] as u16,
            state: state(record[4] as u32, record[5] as u32),
            started_ns: record[6],
            run_ns: record[7],
            wait_ns: record[8],
            migrations: record[9],
            minor_faults: record[10],
            major_faults: record[11],
            name,
        })
    }
}

fn load(layout: &Layout, target: u32, way: Way, room: usize) -> Result<BpfIterator, Error> {
    // A loop is run once, for whatever thread; the first of this process lives as long as it.
    let limit = matches!(way, Way::Loop(_)).then(|| Limit::thread(std::process::id()));
    let describe = |code: &mut Code| describe(code, layout);
    BpfIterator::open((target, way), limit.as_ref(), &[], (WORDS, room), describe)
}

/// The loop over all threads, where the kernel has one.
fn functions(btf: &Btf<'_>) -> Option<Functions> {
    const BPF_TASK_ITER_ALL_THREADS: &str = "BPF_TASK_ITER_ALL_THREADS";
    let state = btf.size(btf.structure("bpf_iter_task")?)?;
    Some(Functions {
        new: btf.function("bpf_iter_task_new")?,
        next: btf.function("bpf_iter_task_next")?,
        destroy: btf.function("bpf_iter_task_destroy")?,
        state: state.next_multiple_of(8) as i32,
        flags: btf.constant(BPF_TASK_ITER_ALL_THREADS)?,
    })
}

/// The letter of a state as fs/proc/array.c finds it: the highest bit of those that are reported.
fn state(state: u32, exit: u32) -> u8 {
    const IDLE: u32 = 0x402;
    const RTLOCK: u32 = 0x1000;
    const FROZEN: u32 = 0x8000;
    let both = state | exit;
    if both & IDLE == IDLE {
        return b'I';
    }
    if both & (RTLOCK | FROZEN) != 0 && both & 0x7f == 0 {
        return b'D';
    }
    let letters = b"RSDTtXZP";
    let highest = (32 - (both & 0x7f).leading_zeros()) as usize;
    letters.get(highest).copied().unwrap_or(b'?')
}

/// An iterator that stays loaded. Loading it takes some milliseconds, since the kernel's types are
/// read once.
#[derive(Debug)]
pub struct TaskIterator {
    walker: BpfIterator,
    layout: Layout,
    target: u32,
    way: Way,
    room: usize,
}

impl TaskIterator {
    /// Loads the iterator and proves that it shows this thread as /proc does. The error says what
    /// is missing: rights, a kernel with types (CONFIG_DEBUG_INFO_BTF) and eBPF, or this process
    /// is in a pid namespace of its own, where ids of tasks are others.
    pub fn open(root: &Root) -> Result<Self, Error> {
        let mut buffer = Vec::new();
        let btf = Btf::read(root, &mut buffer)?;
        let layout = Layout::of(&btf).map_err(lacks)?;
        let target = btf.function("bpf_iter_task").ok_or_else(|| lacks("bpf_iter_task"))?;
        // The kernel finds each task anew by its id where it calls the program for each, which
        // costs as much as all the rest; its lists of tasks it only shows to a loop.
        let looped = functions(&btf)
            .and_then(|functions| Self::with(layout, target, Way::Loop(functions)).ok());
        match looped {
            Some(iterator) => Ok(iterator),
            None => Self::with(layout, target, Way::Called),
        }
    }

    fn with(layout: Layout, target: u32, way: Way) -> Result<Self, Error> {
        let walker = load(&layout, target, way, ROOM)?;
        let mut iterator = Self { walker, layout, target, way, room: ROOM };
        iterator.prove()?;
        Ok(iterator)
    }

    /// Whether the kernel goes over its lists of tasks (6.7) instead of over ids.
    #[must_use]
    pub const fn goes_over_lists(&self) -> bool {
        matches!(self.way, Way::Loop(_))
    }

    fn prove(&mut self) -> Result<(), Error> {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let pid = std::process::id();
        let seen = |task: Task| task.tid == own && task.pid == pid && task.state == b'R';
        if self.read()?.any(seen) {
            return Ok(());
        }
        Err(Error::unexpected(
            "use an iterator over tasks of",
            Path::new(TYPES),
            "it does not show this thread under its own id; is this a pid namespace?",
        ))
    }

    /// Reads all threads of the machine. On a machine with more threads than there is room for,
    /// the room is doubled, up to 32,768 threads, beyond which this is an error.
    pub fn read(&mut self) -> Result<impl Iterator<Item = Task> + '_, Error> {
        while !self.walker.walk()? {
            self.room *= 2;
            if self.room > MOST_ROOM {
                let why = format!("this machine has more than {MOST_ROOM} threads");
                return Err(Error::unexpected("use an iterator over", Path::new(TYPES), why));
            }
            self.walker = load(&self.layout, self.target, self.way, self.room)?;
        }
        Ok(self.walker.records().filter_map(Task::of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_letters_of_proc() {
        let letters = [(0, b'R'), (1, b'S'), (2, b'D'), (4, b'T'), (8, b't'), (0x402, b'I')];
        for (bits, letter) in letters {
            assert_eq!(state(bits, 0), letter, "{bits:#x}");
        }
        assert_eq!((state(0, 0x20), state(0, 0x10)), (b'Z', b'X'));
        assert_eq!(state(0x8000, 0), b'D', "frozen");
    }

    /// Both ways where the kernel has them, or the reason why there is none.
    fn iterators() -> Vec<TaskIterator> {
        let first = match TaskIterator::open(&Root::real()) {
            Ok(iterator) => iterator,
            Err(error) => {
                assert!(error.hint.is_some(), "{error}");
                return Vec::new();
            }
        };
        let other = first
            .goes_over_lists()
            .then(|| TaskIterator::with(first.layout, first.target, Way::Called).unwrap());
        [Some(first), other].into_iter().flatten().collect()
    }

    #[test]
    fn a_kernel_that_has_a_loop_over_tasks_takes_ours() {
        let Some(iterator) = iterators().into_iter().next() else { return };
        let mut buffer = Vec::new();
        let btf = Btf::read(&Root::real(), &mut buffer).unwrap();
        if let Some(functions) = functions(&btf) {
            let loaded = load(&iterator.layout, iterator.target, Way::Loop(functions), 9);
            assert!(iterator.goes_over_lists(), "{loaded:?}");
        }
    }

    #[test]
    fn both_ways_show_the_threads_of_this_process() {
        let own = std::process::id();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let ended = std::sync::Arc::new(std::sync::Mutex::new(ended));
        let sleepers: Vec<_> = (0..20)
            .map(|_| {
                let ended = std::sync::Arc::clone(&ended);
                std::thread::spawn(move || {
                    let _ = ended.lock().map(|ended| ended.recv());
                })
            })
            .collect();
        let shown: Vec<usize> = iterators()
            .iter_mut()
            .map(|iterator| iterator.read().unwrap().filter(|task| task.pid == own).count())
            .collect();
        drop(end);
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
        // Other tests of this process start and end threads of their own.
        assert!(shown.iter().all(|count| *count > 20), "{shown:?}");
    }

    #[test]
    fn more_threads_than_there_is_room_for_are_shown_in_a_second_walk() {
        for mut iterator in iterators() {
            let whole = iterator.read().unwrap().count();
            iterator.walker = load(&iterator.layout, iterator.target, iterator.way, 3).unwrap();
            iterator.room = 3;
            let again = iterator.read().unwrap().count();
            assert!(whole > 3 && again * 2 > whole, "{whole} {again}");
        }
    }

    #[test]
    fn a_sleeping_thread_has_the_numbers_that_proc_gives_it() {
        let root = Root::real();
        for mut iterator in iterators() {
            let (tell, told) = std::sync::mpsc::channel();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let thread = std::thread::Builder::new().name("assay asleep".to_owned());
            let thread = thread.spawn(move || {
                tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
                let _ = ended.recv();
            });
            let tid = told.recv().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(50));
            let found = iterator.read().unwrap().find(|task| task.tid == tid);
            let found = found.unwrap();
            let folder = format!("/proc/self/task/{tid}");
            let text = root.read(format!("{folder}/stat")).unwrap();
            let stat = crate::task::stat(text.as_bytes()).unwrap();
            let text = root.read(format!("{folder}/schedstat")).unwrap();
            let sched = crate::task::schedstat(text.as_bytes()).unwrap();
            drop(end);
            thread.unwrap().join().unwrap();
            assert_eq!((found.name(), found.pid), (&b"assay asleep"[..], std::process::id()));
            assert_eq!((found.state, found.cpu, found.parent), (stat.state, stat.cpu, stat.parent));
            assert_eq!((found.run_ns, found.wait_ns), (sched.run_ns, sched.wait_ns));
            // Ticks of 10 ms, as /proc shows them (USER_HZ).
            assert_eq!(found.started_ns / 10_000_000, stat.started);
        }
    }
}
