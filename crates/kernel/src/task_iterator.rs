//! All threads of the machine in one read: an eBPF iterator over tasks
//! (Documentation/bpf/bpf_iterators.rst; 5.8). The kernel writes a record per thread directly from its
//! own structures into shared memory; /proc formats text for each thread, which costs ten times as
//! much.
//!
//! The numbers are those of /proc/PID/task/TID/stat and schedstat, from the same fields.

mod layout;

use std::path::Path;

use crate::bpf_code::Code;
use crate::bpf_iterator::{BpfIterator, Functions, Iteration, Limit, TYPES};
use crate::btf::{Btf, lacks};
use crate::error::Error;
use crate::root::Root;
use layout::{Layout, WORDS, describe};

/// Initial and maximum capacity, in threads.
const ROOM: usize = 8 * 1024;
const MAX_ROOM: usize = 32 * 1024;

/// One thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub pid: u32,
    /// Process id of the parent.
    pub parent: u32,
    /// The CPU on which it runs or last ran.
    pub cpu: u16,
    /// The state letter, as /proc gives it.
    pub state: u8,
    /// Start time in nanoseconds after boot; in ticks it is field 22 of `stat`.
    pub started_ns: u64,
    /// Nanoseconds on a CPU.
    pub run_ns: u64,
    /// Nanoseconds for which it was runnable and waited.
    pub wait_ns: u64,
    /// Number of migrations to another CPU.
    pub migrations: u64,
    /// Page faults without disk I/O.
    pub minor_faults: u64,
    /// Page faults with disk I/O.
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

    /// Parses a record.
    fn parse(record: &[u64]) -> Option<Self> {
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

fn load(
    layout: &Layout,
    target: u32,
    iteration: Iteration,
    room: usize,
) -> Result<BpfIterator, Error> {
    // A loop is run once, for an arbitrary thread; the main thread of this process exists as long as
    // the process.
    let limit = matches!(iteration, Iteration::Loop(_)).then(|| Limit::thread(std::process::id()));
    let describe = |code: &mut Code| describe(code, layout);
    BpfIterator::open((target, iteration), limit.as_ref(), &[], (WORDS, room), describe)
}

/// The loop over all threads, if the kernel has one.
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

/// The letter of a state as computed in fs/proc/array.c: from the highest of the reported bits.
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

/// A loaded iterator. Loading it takes some milliseconds, since the kernel's types have to be read.
#[derive(Debug)]
pub struct TaskIterator {
    iterator: BpfIterator,
    layout: Layout,
    target: u32,
    iteration: Iteration,
    room: usize,
}

impl TaskIterator {
    /// Loads the iterator and verifies that it shows this thread as /proc does. The error says what is
    /// missing: privileges, a kernel with types (CONFIG_DEBUG_INFO_BTF) and eBPF, or the initial pid
    /// namespace, because in others task ids differ.
    pub fn open(root: &Root) -> Result<Self, Error> {
        let mut buffer = Vec::new();
        let btf = Btf::read(root, &mut buffer)?;
        let layout = Layout::new(&btf).map_err(lacks)?;
        let target = btf.function("bpf_iter_task").ok_or_else(|| lacks("bpf_iter_task"))?;
        // When the kernel calls the program for each task, it looks each task up by its id, which costs
        // as much as all the rest; it exposes its lists of tasks only to a loop.
        let looped = functions(&btf)
            .and_then(|functions| Self::with(layout, target, Iteration::Loop(functions)).ok());
        match looped {
            Some(iterator) => Ok(iterator),
            None => Self::with(layout, target, Iteration::PerObject),
        }
    }

    fn with(layout: Layout, target: u32, iteration: Iteration) -> Result<Self, Error> {
        let bpf = load(&layout, target, iteration, ROOM)?;
        let mut iterator = Self { iterator: bpf, layout, target, iteration, room: ROOM };
        iterator.verify()?;
        Ok(iterator)
    }

    /// Whether the kernel iterates over its lists of tasks (6.7) instead of over ids.
    #[must_use]
    pub const fn goes_over_lists(&self) -> bool {
        matches!(self.iteration, Iteration::Loop(_))
    }

    fn verify(&mut self) -> Result<(), Error> {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let pid = std::process::id();
        let is_own = |task: Task| task.tid == own && task.pid == pid && task.state == b'R';
        if self.read()?.any(is_own) {
            return Ok(());
        }
        Err(Error::unexpected(
            "use an iterator over tasks of",
            Path::new(TYPES),
            "it does not show this thread under its own id; is this a pid namespace?",
        ))
    }

    /// Reads all threads of the machine. If the machine has more threads than the capacity, the
    /// capacity is doubled, up to 32,768 threads, beyond which this is an error.
    pub fn read(&mut self) -> Result<impl Iterator<Item = Task> + '_, Error> {
        while !self.iterator.walk()? {
            self.room *= 2;
            if self.room > MAX_ROOM {
                let why = format!("this machine has more than {MAX_ROOM} threads");
                return Err(Error::unexpected("use an iterator over", Path::new(TYPES), why));
            }
            self.iterator = load(&self.layout, self.target, self.iteration, self.room)?;
        }
        Ok(self.iterator.records().filter_map(Task::parse))
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

    /// Both kinds of iteration if the kernel supports them, or none if there is a reason.
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
            .then(|| TaskIterator::with(first.layout, first.target, Iteration::PerObject).unwrap());
        [Some(first), other].into_iter().flatten().collect()
    }

    #[test]
    fn a_kernel_with_task_loops_accepts_ours() {
        let Some(iterator) = iterators().into_iter().next() else { return };
        let mut buffer = Vec::new();
        let btf = Btf::read(&Root::real(), &mut buffer).unwrap();
        if let Some(functions) = functions(&btf) {
            let loaded = load(&iterator.layout, iterator.target, Iteration::Loop(functions), 9);
            assert!(iterator.goes_over_lists(), "{loaded:?}");
        }
    }

    #[test]
    fn both_iterations_show_the_threads_of_this_process() {
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
    fn threads_beyond_the_capacity_are_read_in_a_second_walk() {
        for mut iterator in iterators() {
            let whole = iterator.read().unwrap().count();
            iterator.iterator =
                load(&iterator.layout, iterator.target, iterator.iteration, 3).unwrap();
            iterator.room = 3;
            let again = iterator.read().unwrap().count();
            assert!(whole > 3 && again * 2 > whole, "{whole} {again}");
        }
    }

    #[test]
    fn a_sleeping_thread_has_the_numbers_of_proc() {
        let root = Root::real();
        for mut iterator in iterators() {
            let (sender, receiver) = std::sync::mpsc::channel();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let thread = std::thread::Builder::new().name("assay asleep".to_owned());
            let thread = thread.spawn(move || {
                sender.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
                let _ = ended.recv();
            });
            let tid = receiver.recv().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(50));
            let task = iterator.read().unwrap().find(|task| task.tid == tid);
            let task = task.unwrap();
            let folder = format!("/proc/self/task/{tid}");
            let text = root.read(format!("{folder}/stat")).unwrap();
            let stat = crate::task::stat(text.as_bytes()).unwrap();
            let text = root.read(format!("{folder}/schedstat")).unwrap();
            let sched = crate::task::schedstat(text.as_bytes()).unwrap();
            drop(end);
            thread.unwrap().join().unwrap();
            assert_eq!((task.name(), task.pid), (&b"assay asleep"[..], std::process::id()));
            assert_eq!((task.state, task.cpu, task.parent), (stat.state, stat.cpu, stat.parent));
            assert_eq!((task.run_ns, task.wait_ns), (sched.run_ns, sched.wait_ns));
            // Ticks of 10 ms, as /proc shows them (USER_HZ).
            assert_eq!(task.started_ns / 10_000_000, stat.started);
        }
    }
}
