//! The whole time of a target's threads: they ran, could run, or wanted no CPU, by what they waited for.
//!
//! The parts are counted thread by thread, the whole by the number of threads: they must agree.

use serde::{Deserialize, Serialize};

use crate::counted::{Counted, CountedCpu, Memory, TOLERANCE, Target, words};

/// Differences below this, of threads that come or go while they are counted, void nothing.
const NEGLIGIBLE_NS: u64 = 20_000_000;

/// Words of `struct thread` of `programs/blame/memory.h`.
const THREAD_WORDS: usize = 10;

/// What was waited for, as `enum blocked` there numbers it.
const KINDS: [BlockedOn; 13] = [
    BlockedOn::Other,
    BlockedOn::Read,
    BlockedOn::Write,
    BlockedOn::Events,
    BlockedOn::Time,
    BlockedOn::Futex,
    BlockedOn::Child,
    BlockedOn::FileLock,
    BlockedOn::Disk,
    BlockedOn::Kernel,
    BlockedOn::Stopped,
    BlockedOn::Frozen,
    BlockedOn::Unseen,
];

/// The number of a thread that has ended.
const ENDED: u32 = 16;

/// The time of all threads of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// Threads at the end.
    pub threads: u64,
    /// The time of all threads together, of those that began or ended meanwhile too, in nanoseconds.
    pub total_ns: u64,
    /// How long they ran.
    pub ran_ns: u64,
    /// How long they could run and did not: `waited_ns`.
    pub could_run_ns: u64,
    /// How long they wanted no CPU, by what they waited for, the longest first.
    pub blocked: Vec<Blocked>,
    /// How far all of these together are from the total, in percent of it.
    pub difference_percent: f64,
    /// Why the parts cannot be relied on, if they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A part of the time in which threads wanted no CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Blocked {
    /// What they waited for.
    pub on: BlockedOn,
    /// In nanoseconds.
    pub ns: u64,
    /// Of the time of all threads.
    pub percent: f64,
}

/// What a thread waits for that wants no CPU: by its state, and by the system call that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedOn {
    /// Data of a pipe, a socket or a terminal: `read`, `recvmsg`, `accept` and their like.
    Read,
    /// Room for such data: `write`, `sendmsg` and their like.
    Write,
    /// Events of several sources: `poll`, `select`, `epoll_wait`, io_uring; signals.
    Events,
    /// A time: `nanosleep`.
    Time,
    /// A lock, a condition or another thread of user space: `futex`.
    Futex,
    /// The end of a child: `wait4`.
    Child,
    /// A lock of a file: `flock`, `fcntl`.
    FileLock,
    /// A disk (`in_iowait`).
    Disk,
    /// Something in the kernel, uninterruptibly: a lock, memory, a network file system.
    Kernel,
    /// It is stopped or traced.
    Stopped,
    /// A freezer.
    Frozen,
    /// Something in another system call; a kernel thread: work.
    Other,
    /// Not known, since it had no event from the beginning to the end: it slept, or could run and was never served.
    Throughout,
    /// The kernel did not show that it was switched out: it ran at first.
    Unseen,
}

impl BlockedOn {
    /// The number of this kind in `enum blocked`.
    pub(crate) fn number(self) -> u8 {
        KINDS.iter().position(|kind| *kind == self).unwrap_or(0) as u8
    }

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Read => "data to read (pipe, socket, terminal)",
            Self::Write => "room to write",
            Self::Events => "events (poll, epoll, io_uring, signals)",
            Self::Time => "a time to pass (nanosleep)",
            Self::Futex => "a lock or another thread (futex)",
            Self::Child => "a child to end",
            Self::FileLock => "a lock of a file",
            Self::Disk => "a disk",
            Self::Kernel => "the kernel, uninterruptibly",
            Self::Stopped => "stopped or traced",
            Self::Frozen => "frozen",
            Self::Other => "other system calls",
            Self::Throughout => "no event: asleep, or never served",
            Self::Unseen => "not seen",
        }
    }
}

impl ThreadTime {
    /// From what was counted for a target, the map `threads`, and the number of its threads when counting ended; `None` if the map
    /// has another size than this version's.
    pub(crate) fn new(
        memory: &Memory,
        target: &Target,
        counted: &Counted,
        threads: &[u8],
        alive: u64,
    ) -> Option<Self> {
        let (start, end) = memory.span();
        let [births, born, deaths, died] =
            [0, 1, 2, 3].map(|index| counted.sum(|cpu| cpu.lives[index]));
        let at_start = (alive + deaths).saturating_sub(births);
        // Wraps around within: the sums of times are larger than their difference.
        let total_ns = alive
            .wrapping_mul(end)
            .wrapping_add(died)
            .wrapping_sub(born)
            .wrapping_sub(at_start.wrapping_mul(start));
        let mut known = 0;
        let mut ns: [u64; KINDS.len()] =
            std::array::from_fn(|kind| counted.sum(|cpu| cpu.blocked[kind]));
        if !threads.len().is_multiple_of(THREAD_WORDS * 8) {
            return None;
        }
        for thread in words(threads).chunks_exact(THREAD_WORDS) {
            let (slot, kind) = ((thread[0] >> 56) as usize, thread[9] as u32);
            if thread[0] as u32 == 0 || !target.slots.contains(&slot) || kind == ENDED {
                continue;
            }
            known += 1;
            let since = thread[8];
            if let Some(ns) = ns.get_mut(kind as usize).filter(|_| since > 0) {
                *ns += end.saturating_sub(since);
            }
        }
        let (ran_ns, could_run_ns) = (counted.sum(|cpu| cpu.ran), counted.sum(CountedCpu::waited));
        let throughout = alive.saturating_sub(known) * (end - start);
        let parts = KINDS.into_iter().zip(ns).chain([(BlockedOn::Throughout, throughout)]);
        let percent = |ns: u64| ns as f64 / total_ns.max(1) as f64 * 100.0;
        let mut blocked: Vec<Blocked> = parts
            .filter(|(_, ns)| *ns > 0)
            .map(|(on, ns)| Blocked { on, ns, percent: percent(ns) })
            .collect();
        blocked.sort_by_key(|part| std::cmp::Reverse(part.ns));
        let found = ran_ns + could_run_ns + blocked.iter().map(|part| part.ns).sum::<u64>();
        let allowed = (total_ns as f64 * TOLERANCE).max(NEGLIGIBLE_NS as f64);
        let reason = (found.abs_diff(total_ns) as f64 > allowed).then(|| {
            format!(
                "the parts sum up to {:.3} s, and {alive} threads had {:.3} s: threads were moved into the group or out of it, \
                 or events were missed",
                found as f64 / 1e9,
                total_ns as f64 / 1e9
            )
        });
        let difference_percent = percent(found) - percent(total_ns);
        Some(Self {
            threads: alive,
            total_ns,
            ran_ns,
            could_run_ns,
            blocked,
            difference_percent,
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::Shape;

    const START: u64 = 1_000_000_000;
    const END: u64 = 3_000_000_000;

    fn thread(id: u32, slot: u8, blocked: u64, kind: u32) -> Vec<u8> {
        let mut words = [0_u64; THREAD_WORDS];
        words[0] = u64::from(id) | u64::from(slot) << 56;
        (words[8], words[9]) = (blocked, kind.into());
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// A machine with one CPU whose events were from `START` to `END`, and what it counted for the target.
    fn time(cpu: CountedCpu, threads: &[Vec<u8>], alive: u64) -> ThreadTime {
        let shape = Shape { cpus: 1, slots: 1 };
        let mut memory = Memory { shape, cpus: Vec::new(), slots: Vec::new() };
        memory.cpus = vec![0; Memory::sizes(shape).0];
        memory.cpus[..8].copy_from_slice(&START.to_ne_bytes());
        memory.cpus[8..16].copy_from_slice(&END.to_ne_bytes());
        let target = Target { name: "/a".to_owned(), slots: vec![0], classes: vec![8] };
        let counted = Counted { cpus: vec![(0, cpu)] };
        ThreadTime::new(&memory, &target, &counted, &threads.concat(), alive).unwrap()
    }

    #[test]
    fn parts_of_threads_that_sleep_began_and_ended_sum_up_to_the_whole() {
        // One slept from 1.5 s on, one from before to after; one began at 2 s, ran for 0.4 s and ended.
        let futex = BlockedOn::Futex.number().into();
        let threads =
            [thread(7, 0, 1_500_000_000, futex), thread(8, 0, 0, ENDED), thread(9, 1, 5, futex)];
        let mut cpu = CountedCpu { ran: 900_000_000, ..CountedCpu::default() };
        cpu.lives = [1, 2_000_000_000, 1, 2_400_000_000];
        let found = time(cpu, &threads, 2);
        assert_eq!((found.total_ns, found.reason.as_deref()), (4_400_000_000, None));
        let parts: Vec<_> = found.blocked.iter().map(|part| (part.on, part.ns)).collect();
        let expected = [(BlockedOn::Throughout, 2_000_000_000), (BlockedOn::Futex, 1_500_000_000)];
        assert_eq!(parts, expected);
        assert!(found.difference_percent.abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_sum_that_misses_the_whole_by_more_than_a_percent_is_void() {
        let known = thread(7, 0, 0, 0);
        let ran = |ran| {
            time(CountedCpu { ran, ..CountedCpu::default() }, std::slice::from_ref(&known), 1)
        };
        assert_eq!(ran(1_985_000_000).reason, None);
        let reason = ran(1_900_000_000).reason.unwrap();
        assert!(
            reason.starts_with("the parts sum up to 1.900 s, and 1 threads had 2.000 s"),
            "{reason}"
        );
    }

    #[test]
    fn kinds_have_the_numbers_of_the_programs() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(usize::from(kind.number()), number);
        }
    }
}
