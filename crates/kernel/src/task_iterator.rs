//! All threads of the machine in one read: an iterator of eBPF over tasks
//! (Documentation/bpf/bpf_iterators.rst; 5.8). The kernel writes a record a thread straight from
//! its own structures; /proc writes text for each thread, which costs it ten times as much.
//!
//! The numbers are those of /proc/PID/task/TID/stat and schedstat, from the same fields.

mod program;

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::bpf::{call, load_with};
use crate::btf::Btf;
use crate::error::Error;
use crate::root::Root;
use program::{Layout, RECORD, program};

/// Types and commands of bpf(2), from linux/bpf.h.
const BPF_PROG_TYPE_TRACING: u32 = 26;
const BPF_TRACE_ITER: u32 = 28;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_ITER_CREATE: libc::c_long = 33;

/// Where the kernel shows its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// `union bpf_attr` for BPF_LINK_CREATE of an iterator without a filter.
#[repr(C)]
struct Link {
    program: u32,
    target: u32,
    attach: u32,
    flags: u32,
    info: u64,
    info_len: u32,
    padding: u32,
}

/// `union bpf_attr` for BPF_ITER_CREATE.
#[repr(C)]
struct Create {
    link: u32,
    flags: u32,
}

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
    fn of(record: &[u8]) -> Option<Self> {
        let number = |at: usize| -> Option<u64> {
            Some(u64::from_ne_bytes(record.get(at * 8..at * 8 + 8)?.try_into().ok()?))
        };
        Some(Self {
            tid: number(0)? as u32,
            pid: number(1)? as u32,
            parent: number(2)? as u32,
            cpu: number(3)? as u16,
            state: state(number(4)? as u32, number(5)? as u32),
            started_ns: number(6)?,
            run_ns: number(7)?,
            wait_ns: number(8)?,
            migrations: number(9)?,
            minor_faults: number(10)?,
            major_faults: number(11)?,
            name: record.get(RECORD - 16..RECORD)?.try_into().ok()?,
        })
    }
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
    link: OwnedFd,
    _program: OwnedFd,
}

impl TaskIterator {
    /// Loads the iterator and proves that it shows this thread as /proc does. The error says what
    /// is missing: rights, a kernel with types (CONFIG_DEBUG_INFO_BTF) and eBPF, or this process
    /// is in a pid namespace of its own, where ids of tasks are others.
    pub fn open(root: &Root) -> Result<Self, Error> {
        let types = Path::new(TYPES);
        let mut buffer = Vec::new();
        let bytes = root
            .keep(types)?
            .read(&mut buffer)
            .map_err(|cause| Error::new("read", types, &cause))?;
        let unknown = |what: &str| Error::unexpected("find", types, format!("it has no {what}"));
        let btf =
            Btf::parse(bytes).ok_or_else(|| unknown("table of types that this understands"))?;
        let layout = Layout::of(&btf).map_err(unknown)?;
        let target = btf.function("bpf_iter_task").ok_or_else(|| unknown("bpf_iter_task"))?;
        let program = load_with(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, target, &program(&layout))
            .map_err(|cause| explain("load an iterator over tasks with", &cause))?;
        let link = Link {
            program: program.as_raw_fd() as u32,
            target: 0,
            attach: BPF_TRACE_ITER,
            flags: 0,
            info: 0,
            info_len: 0,
            padding: 0,
        };
        let link = call(BPF_LINK_CREATE, &link)
            .map_err(|cause| explain("link an iterator over tasks of", &cause))?;
        // SAFETY: BPF_LINK_CREATE has just returned this descriptor, and nobody else knows it.
        let link = unsafe { OwnedFd::from_raw_fd(link as i32) };
        let iterator = Self { link, _program: program };
        iterator.prove()?;
        Ok(iterator)
    }

    fn prove(&self) -> Result<(), Error> {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let mut buffer = Vec::new();
        let mut seen = false;
        self.read(&mut buffer, |task| {
            seen |= task.tid == own && task.pid == std::process::id() && task.state == b'R';
        })?;
        if seen {
            return Ok(());
        }
        Err(Error::unexpected(
            "use an iterator over tasks of",
            Path::new(TYPES),
            "it does not show this thread under its own id; is this a pid namespace?",
        ))
    }

    /// Reads all threads of the machine and hands each to `each`. `buffer` keeps its memory from
    /// one read to the next.
    pub fn read(&self, buffer: &mut Vec<u8>, mut each: impl FnMut(&Task)) -> Result<(), Error> {
        /// The kernel fills at most eight pages a read (kernel/bpf/bpf_iter.c).
        const ROOM: usize = 32 * 1024;
        buffer.resize(ROOM, 0);
        let request = Create { link: self.link.as_raw_fd() as u32, flags: 0 };
        let opened = call(BPF_ITER_CREATE, &request)
            .map_err(|cause| explain("begin an iterator over tasks of", &cause))?;
        // SAFETY: BPF_ITER_CREATE has just returned this descriptor, and nobody else knows it.
        let mut file = File::from(unsafe { OwnedFd::from_raw_fd(opened as i32) });
        loop {
            let read = match file.read(buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(cause) if matches!(cause.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {
                    continue;
                }
                Err(cause) => return Err(explain("read an iterator over tasks of", &cause)),
            };
            // Whole records only: the iterator writes a record or nothing.
            buffer[..read].chunks_exact(RECORD).filter_map(Task::of).for_each(|task| each(&task));
        }
    }
}

fn explain(operation: &'static str, cause: &std::io::Error) -> Error {
    let error = Error::new(operation, Path::new(TYPES), cause);
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => error.with_hint("it needs CAP_BPF and CAP_PERFMON"),
        Some(libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP) => {
            error.with_hint("it needs a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS (5.8)")
        }
        _ => error,
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

    /// The same threads with the same numbers as in /proc, or the reason why there is no iterator.
    #[test]
    fn a_sleeping_thread_has_the_numbers_that_proc_gives_it() {
        let root = Root::real();
        let iterator = match TaskIterator::open(&root) {
            Ok(iterator) => iterator,
            Err(error) => {
                assert!(error.hint.is_some(), "{error}");
                return;
            }
        };
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("assay asleep".to_owned());
        let thread = thread.spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = ended.recv();
        });
        let tid = told.recv().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut found = None;
        iterator
            .read(&mut Vec::new(), |task| {
                if task.tid == tid {
                    found = Some(*task);
                }
            })
            .unwrap();
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
