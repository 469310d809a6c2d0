//! The whole time of a target's threads: they ran, could run, or wanted no CPU, by what they waited for.
//!
//! The parts are counted thread by thread, the whole by the number of threads: they must agree.

use serde::{Deserialize, Serialize};

use crate::counted::{Counted, CountedCpu, Memory, TOLERANCE, Target, words};
use crate::culprit::{NUMBERS, Names};
use crate::part::{Part, named};

/// Differences below this void nothing.
const NEGLIGIBLE_NS: u64 = 20_000_000;

/// Words of `struct thread` of `programs/blame/memory.h`.
const THREAD_WORDS: usize = 12;

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

/// Further numbers, of threads without any event: they could run throughout, or ran throughout.
const UNSERVED: usize = KINDS.len();
const RAN: usize = UNSERVED + 1;

/// The number of a thread that has ended.
const ENDED: u32 = 16;

/// Since when a thread without any event has done what it does.
const BEFORE: u64 = 1;

/// The time of all threads of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// Threads at the end.
    pub threads: u64,
    /// The time of all threads together, of those that began or ended meanwhile too, in nanoseconds.
    pub total_ns: u64,
    /// How long they ran.
    pub ran_ns: u64,
    /// How long they could run and did not: `waited_ns`, and the time of threads that could run throughout.
    pub could_run_ns: u64,
    /// How long they wanted no CPU, by what they waited for, the longest first.
    pub blocked: Vec<Blocked>,
    /// The part of the time in the kernel that was spent for a mutex or semaphore whose owner was known, by who held it when the
    /// wait for it began; percents are of the time of all threads. Not with PREEMPT_RT.
    #[serde(default)]
    pub locks: Vec<Part>,
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

/// The threads of each slot at the end.
pub(crate) type AtEnd = Vec<ThreadsAtEnd>;

/// The threads of a slot at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadsAtEnd {
    threads: u64,
    /// For how long they have been blocked, or done the same throughout, by kind.
    ns: [u64; RAN + 1],
    /// The part of it of threads without any event. It has nothing that could have been missed.
    throughout_ns: u64,
    /// Time of threads that waited for a lock of the kernel, by the class of who held it.
    locks: Vec<u64>,
}

/// What a thread waits for that wants no CPU: by its state, and by the system call that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedOn {
    /// Data of a pipe, a socket or a terminal: `read`, `recvmsg`, `accept`, `connect` and their like.
    Read,
    /// Room for such data: `write`, `sendmsg` and their like.
    Write,
    /// Events of several sources: `poll`, `select`, `epoll_wait`, io_uring; signals.
    Events,
    /// A time: `nanosleep`.
    Time,
    /// A lock, a condition or another thread of user space: `futex`, a semaphore.
    Futex,
    /// The end of a child: `wait4`; that it runs a program of its own: `vfork`.
    Child,
    /// A lock of a file: `flock`, `fcntl`.
    FileLock,
    /// A block or a page of a file, of network file systems too (`in_iowait`).
    Disk,
    /// Something else in the kernel, uninterruptibly: a lock, memory, the commit of a journal (`fsync`).
    Kernel,
    /// It is stopped or traced.
    Stopped,
    /// A freezer.
    Frozen,
    /// Something in another system call; a kernel thread: work.
    Other,
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
            Self::Unseen => "not seen",
        }
    }
}

/// From the maps `threads` and `held`.
pub(crate) fn threads_at_end(memory: &Memory, threads: &[u8], held: &[u8]) -> AtEnd {
    let (start, end) = memory.span();
    let mut slots = vec![ThreadsAtEnd::default(); memory.shape.slots];
    for (slot, held) in slots.iter_mut().zip(words(held).chunks_exact(NUMBERS)) {
        slot.locks = held.to_vec();
    }
    for thread in words(threads).chunks_exact(THREAD_WORDS) {
        let (slot, since, kind) = ((thread[0] >> 56) as usize, thread[8], thread[9] as u32);
        let holder = (thread[9] >> 32).checked_sub(1);
        let is_there = thread[0] as u32 != 0 && kind != ENDED;
        let Some(slot) = slots.get_mut(slot).filter(|_| is_there) else { continue };
        slot.threads += 1;
        let ns = end.saturating_sub(since.max(start));
        if let Some(sum) = slot.ns.get_mut(kind as usize).filter(|_| since > 0) {
            *sum += ns;
            slot.throughout_ns += if since == BEFORE { ns } else { 0 };
            if kind == u32::from(BlockedOn::Kernel.number())
                && let Some(sum) = holder.and_then(|holder| slot.locks.get_mut(holder as usize))
            {
                *sum += ns;
            }
        }
    }
    slots
}

impl ThreadTime {
    /// From what was counted for a target.
    pub(crate) fn new(
        memory: &Memory,
        target: &Target,
        counted: &Counted,
        at_end: &AtEnd,
        names: &Names,
    ) -> Self {
        let (start, end) = memory.span();
        let slots = || target.slots.iter().filter_map(|slot| at_end.get(*slot));
        let threads: u64 = slots().map(|slot| slot.threads).sum();
        let [births, born, deaths, died, moved] =
            [0, 1, 2, 3, 4].map(|index| counted.sum(|cpu| cpu.lives[index]));
        let at_start = (threads + deaths).saturating_sub(births);
        // Wraps around within: the sums of times are larger than their difference.
        let total_ns = threads
            .wrapping_mul(end)
            .wrapping_add(died)
            .wrapping_sub(born)
            .wrapping_sub(at_start.wrapping_mul(start));
        let still = |kind: usize| slots().map(|slot| slot.ns[kind]).sum::<u64>();
        let ns: [u64; KINDS.len()] =
            std::array::from_fn(|kind| counted.sum(|cpu| cpu.blocked[kind]) + still(kind));
        // Charged up to the last event of each CPU.
        let waits = |cpu: &CountedCpu| cpu.waiting.max(0) as u64 * end.saturating_sub(cpu.last);
        let could_run_ns = counted.sum(|cpu| cpu.waited() + waits(cpu)) + still(UNSERVED);
        let ran_ns = counted.sum(|cpu| cpu.ran) + still(RAN);
        let percent = |ns: u64| ns as f64 / total_ns.max(1) as f64 * 100.0;
        let mut blocked: Vec<Blocked> = KINDS
            .into_iter()
            .zip(ns)
            .filter(|(_, ns)| *ns > 0)
            .map(|(on, ns)| Blocked { on, ns, percent: percent(ns) })
            .collect();
        blocked.sort_by_key(|part| std::cmp::Reverse(part.ns));
        let mut locks = vec![0; NUMBERS];
        for (class, ns) in slots().flat_map(|slot| slot.locks.iter().enumerate()) {
            locks[target.seen(class as u32) as usize] += ns;
        }
        let found = ran_ns + could_run_ns + blocked.iter().map(|part| part.ns).sum::<u64>();
        let with_events = total_ns.saturating_sub(slots().map(|slot| slot.throughout_ns).sum());
        let allowed = (with_events as f64 * TOLERANCE).max(NEGLIGIBLE_NS as f64);
        let reason = match found.abs_diff(total_ns) as f64 > allowed {
            // What one was last seen to do here was counted to the end.
            _ if moved > 0 => Some(format!("{moved} threads were moved to another group")),
            true => Some(format!(
                "the parts sum up to {:.3} s, and {threads} threads had {:.3} s: threads were moved to another group, or events were \
                 missed",
                found as f64 / 1e9,
                total_ns as f64 / 1e9
            )),
            false => None,
        };
        let difference_percent = percent(found) - percent(total_ns);
        let locks = named(&locks, total_ns, names);
        Self { threads, total_ns, ran_ns, could_run_ns, blocked, locks, difference_percent, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::Shape;
    use crate::culprit::Culprit;

    const START: u64 = 1_000_000_000;
    const END: u64 = 3_000_000_000;

    fn thread(id: u32, slot: u8, blocked: u64, kind: u32) -> Vec<u8> {
        let mut words = [0_u64; THREAD_WORDS];
        words[0] = u64::from(id) | u64::from(slot) << 56;
        (words[8], words[9]) = (blocked, kind.into());
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// A machine with one CPU whose events were from `START` to `END`, and what it counted for the target.
    fn time(cpu: CountedCpu, threads: &[Vec<u8>]) -> ThreadTime {
        let shape = Shape { cpus: 1, slots: 2 };
        let mut memory = Memory { shape, cpus: Vec::new(), slots: Vec::new() };
        memory.cpus = vec![0; Memory::sizes(shape).0];
        memory.cpus[..8].copy_from_slice(&START.to_ne_bytes());
        memory.cpus[8..16].copy_from_slice(&END.to_ne_bytes());
        let target = Target { name: "/a".to_owned(), slots: vec![0], classes: vec![8] };
        let counted = Counted { cpus: vec![(0, cpu)] };
        // Slot 0 has waited a second for locks that class 9 held.
        let mut held = vec![0; 2 * NUMBERS * 8];
        held[9 * 8..10 * 8].copy_from_slice(&1_000_000_000_u64.to_ne_bytes());
        let at_end = threads_at_end(&memory, &threads.concat(), &held);
        let names = Names(vec!["/a".to_owned(), "/b".to_owned()]);
        ThreadTime::new(&memory, &target, &counted, &at_end, &names)
    }

    #[test]
    fn parts_of_threads_that_sleep_began_and_ended_sum_up_to_the_whole() {
        // One slept from 1.5 s on, one from before to after, one was never served, one ran throughout, one is of another group; one
        // began at 2 s, ran for 0.4 s and ended; one has been waiting for a CPU since its last event at 2.5 s.
        let [futex, child] = [BlockedOn::Futex, BlockedOn::Child].map(|on| on.number().into());
        let threads = [
            thread(7, 0, 1_500_000_000, futex),
            thread(8, 0, 0, ENDED),
            thread(9, 1, 5, futex),
            thread(10, 0, BEFORE, child),
            thread(11, 0, BEFORE, UNSERVED as u32),
            thread(12, 0, BEFORE, RAN as u32),
            thread(13, 0, 0, 0),
        ];
        let mut cpu = CountedCpu { ran: 2_400_000_000, ..CountedCpu::default() };
        (cpu.waiting, cpu.last) = (1, 2_500_000_000);
        cpu.lives = [1, 2_000_000_000, 1, 2_400_000_000, 0];
        let found = time(cpu, &threads);
        assert_eq!((found.threads, found.total_ns, found.reason), (5, 10_400_000_000, None));
        assert_eq!((found.ran_ns, found.could_run_ns), (4_400_000_000, 2_500_000_000));
        let parts: Vec<_> = found.blocked.iter().map(|part| (part.on, part.ns)).collect();
        let expected = [(BlockedOn::Child, 2_000_000_000), (BlockedOn::Futex, 1_500_000_000)];
        assert_eq!(parts, expected);
        assert!(found.difference_percent.abs() < 1e-9, "{:?}", found.difference_percent);
    }

    #[test]
    fn locks_go_to_who_held_them_when_the_wait_began() {
        let kernel = u32::from(BlockedOn::Kernel.number());
        let waits = |class: u64| {
            let mut bytes = thread(class as u32, 0, 2_000_000_000, kernel);
            bytes[76..80].copy_from_slice(&(class as u32 + 1).to_ne_bytes());
            bytes
        };
        let found =
            time(CountedCpu::default(), &[waits(8), waits(9), waits(9), thread(7, 0, 5, kernel)]);
        let locks: Vec<_> =
            found.locks.iter().map(|part| (part.culprit, part.group.as_deref(), part.ns)).collect();
        let expected = [
            (Culprit::Group, Some("/b"), 3_000_000_000),
            (Culprit::OwnThreads, None, 1_000_000_000),
        ];
        assert_eq!(locks, expected);
    }

    #[test]
    fn a_sum_that_misses_the_whole_by_more_than_a_percent_is_void() {
        // Those that sleep throughout make no error smaller.
        let mut threads = vec![thread(1, 0, BEFORE, 0); 50];
        threads.push(thread(7, 0, 0, 0));
        let ran = |ran, moved| {
            let mut cpu = CountedCpu { ran, ..CountedCpu::default() };
            (cpu.last, cpu.lives[4]) = (END, moved);
            time(cpu, &threads)
        };
        assert_eq!(ran(1_985_000_000, 0).reason, None);
        let reason = ran(1_900_000_000, 0).reason.unwrap();
        assert!(
            reason.starts_with("the parts sum up to 101.900 s, and 51 threads had 102.000 s"),
            "{reason}"
        );
        assert_eq!(ran(2_000_000_000, 2).reason.unwrap(), "2 threads were moved to another group");
    }

    #[test]
    fn kinds_have_the_numbers_of_the_programs() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(usize::from(kind.number()), number);
        }
    }
}
