//! All threads of the machine in one read (`programs/tasks.bpf.c`). The kernel writes a record per thread directly
//! from its own structures into shared memory; /proc formats text for each thread, which costs ten times as much.
//!
//! The numbers are those of /proc/PID/task/TID/stat and schedstat, from the same fields.

use std::path::Path;

use assay_kernel::bpf_iterator::Scope;
use assay_kernel::mapped_array::MappedArray;
use assay_kernel::{Error, Root};

use crate::prepared::{Prepared, Reading};

const TASKS: &[u8] = include_bytes!("../programs/tasks.bpf.o");

/// Initial and maximum capacity, in threads.
const ROOM: u32 = 8 * 1024;
const MAX_ROOM: u32 = 32 * 1024;

/// Words of a record, and of the head before the records.
const WORDS: usize = 11;

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

    /// Parses a record: `struct record` of the program.
    fn parse(record: &[u64]) -> Option<Self> {
        let record: &[u64; WORDS] = record.try_into().ok()?;
        let mut name = [0; 16];
        name[..8].copy_from_slice(&record[8].to_ne_bytes());
        name[8..].copy_from_slice(&record[9].to_ne_bytes());
        Some(Self {
            tid: record[0] as u32,
            pid: (record[0] >> 32) as u32,
            parent: record[1] as u32,
            cpu: (record[1] >> 32) as u16,
            state: state((record[1] >> 48) as u32),
            started_ns: record[2],
            run_ns: record[3],
            wait_ns: record[4],
            migrations: record[5],
            minor_faults: record[6],
            major_faults: record[7],
            name,
        })
    }
}

/// The letter of a state as computed in fs/proc/array.c: from the highest of the reported bits of both states of a task.
fn state(both: u32) -> u8 {
    const IDLE: u32 = 0x402;
    const RTLOCK: u32 = 0x1000;
    const FROZEN: u32 = 0x8000;
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

/// A loaded iterator. Loading it takes some ten milliseconds, since the kernel's types have to be read.
#[derive(Debug)]
pub struct TaskIterator {
    root: Root,
    walk: Walk,
    room: u32,
}

/// The program with its memory.
#[derive(Debug)]
struct Walk {
    memory: MappedArray,
    reading: Reading,
    in_a_loop: bool,
}

impl Walk {
    /// A walk for up to `room` threads, in a loop (6.7) or by a call for each.
    fn load(root: &Root, room: u32, in_a_loop: bool) -> Result<Self, Error> {
        let mut prepared = Prepared::new(root, TASKS, &[("records", room + 1)], &[])?;
        let memory = MappedArray::new(prepared.take_map("records")?)?;
        let reading = match in_a_loop {
            true => Reading::AtOnce(prepared.routine("in_a_loop")?),
            false => Reading::Each(prepared.iterator("each", "task", Scope::All)?),
        };
        Ok(Self { memory, reading, in_a_loop })
    }

    /// Walks once; returns whether there was room for all threads.
    fn walk(&mut self) -> Result<bool, Error> {
        let Self { memory, reading, .. } = self;
        memory.run(2, || reading.run())?;
        Ok(memory.words().get(1) == Some(&0))
    }

    fn records(&self) -> impl Iterator<Item = &[u64]> {
        let count = self.memory.words().first().map_or(0, |count| *count as usize);
        self.memory.words().chunks_exact(WORDS).skip(1).take(count)
    }
}

impl TaskIterator {
    /// Loads the iterator and verifies that it shows this thread as /proc does. The error says what is missing:
    /// privileges, a kernel with types (CONFIG_DEBUG_INFO_BTF) and eBPF, or the initial pid namespace, because in others
    /// task ids differ.
    pub fn open(root: &Root) -> Result<Self, Error> {
        Self::with(root, true).or_else(|_: Error| Self::with(root, false))
    }

    fn with(root: &Root, in_a_loop: bool) -> Result<Self, Error> {
        let walk = Walk::load(root, ROOM, in_a_loop)?;
        let mut iterator = Self { root: root.clone(), walk, room: ROOM };
        iterator.verify()?;
        Ok(iterator)
    }

    /// Whether the kernel iterates over its lists of tasks (6.7) instead of over ids.
    #[must_use]
    pub const fn goes_over_lists(&self) -> bool {
        self.walk.in_a_loop
    }

    fn verify(&mut self) -> Result<(), Error> {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let pid = std::process::id();
        let is_own = |task: Task| task.tid == own && task.pid == pid && task.state == b'R';
        if self.read()?.any(is_own) {
            return Ok(());
        }
        Err(Error::unexpected(
            "use an iterator over the tasks of",
            Path::new("this kernel"),
            "it does not show this thread under its own id; is this a pid namespace?",
        ))
    }

    /// Reads all threads of the machine. If the machine has more threads than the capacity, the
    /// capacity is doubled, up to 32,768 threads, beyond which this is an error.
    pub fn read(&mut self) -> Result<impl Iterator<Item = Task> + '_, Error> {
        while !self.walk.walk()? {
            self.room *= 2;
            if self.room > MAX_ROOM {
                let why = format!("this machine has more than {MAX_ROOM} threads");
                let path = Path::new("this kernel");
                return Err(Error::unexpected("use an iterator over the tasks of", path, why));
            }
            self.walk = Walk::load(&self.root, self.room, self.walk.in_a_loop)?;
        }
        Ok(self.walk.records().filter_map(Task::parse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_letters_of_proc() {
        let letters = [(0, b'R'), (1, b'S'), (2, b'D'), (4, b'T'), (8, b't'), (0x402, b'I')];
        for (bits, letter) in letters {
            assert_eq!(state(bits), letter, "{bits:#x}");
        }
        assert_eq!((state(0x20), state(0x10)), (b'Z', b'X'));
        assert_eq!(state(0x8000), b'D', "frozen");
    }

    /// Both kinds of iteration if the kernel supports them, or none if there is a reason.
    fn iterators() -> Vec<TaskIterator> {
        let first = match TaskIterator::open(&Root::real()) {
            Ok(iterator) => iterator,
            Err(error) => {
                assert!(error.hint.is_some() && error.operation != "prepare", "{error}");
                return Vec::new();
            }
        };
        let other =
            first.goes_over_lists().then(|| TaskIterator::with(&Root::real(), false).unwrap());
        [Some(first), other].into_iter().flatten().collect()
    }

    #[test]
    fn a_kernel_with_task_loops_accepts_ours() {
        if iterators().is_empty() {
            return;
        }
        if let Err(error) = TaskIterator::with(&Root::real(), true) {
            assert_eq!(error.operation, "find the kernel function", "{error}");
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
            iterator.walk = Walk::load(&Root::real(), 3, iterator.walk.in_a_loop).unwrap();
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
            let stat = assay_kernel::task::stat(text.as_bytes()).unwrap();
            let text = root.read(format!("{folder}/schedstat")).unwrap();
            let sched = assay_kernel::task::schedstat(text.as_bytes()).unwrap();
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
