//! What the programs counted for one target, read from their maps (`programs/blame/memory.h` of the crate `bpf`).

use crate::culprit::{NUMBERS as CLASSES, OWN};

/// Sums of parts may differ by this share from what they are held against: the kernel's own counter, or threads times time.
pub const TOLERANCE: f64 = 0.01;

/// Dimensions of those maps.
const COUNTERS: usize = 8;
const BUCKETS: usize = 40;
const SEGMENTS: usize = 64;
const LONGEST: usize = 8;
const SHOWN: usize = 12;

/// Words of 8 bytes of each of their structures.
const SEGMENT_WORDS: usize = 2;
const WAIT_WORDS: usize = 7 + SHOWN * SEGMENT_WORDS;
const CPU_HEAD: usize = 16;
/// What its functions hand to each other.
const CPU_SCRATCH: usize = 13;
const CPU_WORDS: usize = CPU_HEAD + COUNTERS + SEGMENTS * SEGMENT_WORDS + CPU_SCRATCH;
const SLOT_HEAD: usize = 11;

/// The position of `RAN_NS` in `enum slot_counter`.
const RAN_NS: usize = 7;
const KINDS: usize = 16;
const LIVES: usize = 5;
const SLOT_WORDS: usize =
    SLOT_HEAD + COUNTERS + CLASSES + BUCKETS + LONGEST * WAIT_WORDS + KINDS + LIVES;

/// How many of each there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// CPUs, from 0 on.
    pub cpus: usize,
    /// Slots that count waiting.
    pub slots: usize,
}

/// The contents of the maps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Their dimensions.
    pub shape: Shape,
    /// `struct cpu`.
    pub cpus: Vec<u8>,
    /// `struct slot`, by CPU.
    pub slots: Vec<u8>,
}

/// A group or process whose waiting is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// The group's path, or the process.
    pub name: String,
    /// Where its waiting is counted.
    pub slots: Vec<usize>,
    /// The classes of its own threads.
    pub classes: Vec<u32>,
}

/// Everything that was counted for a target, for each CPU that had an event or to which a waiting thread was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// By CPU number, in order.
    pub cpus: Vec<(usize, CountedCpu)>,
}

/// What was counted on one CPU, times in nanoseconds of its run queue's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedCpu {
    /// The first event.
    pub first: u64,
    /// Everything up to here is charged.
    pub last: u64,
    /// Threads that wait at the end, and the sum of the times at which they began to (with wrap-around).
    pub waiting: i64,
    /// See `waiting`.
    pub began: u64,
    /// What is charged but not yet in `run_delay` besides: the wait of the thread that runs at the end, and moves.
    pub pending: u64,
    /// What the kernel counted as waiting of the threads that were switched out here.
    pub run_delay: u64,
    /// The part of ended waits for which an idle CPU was there that the thread may use.
    pub idle_elsewhere: u64,
    /// How long the target's threads ran here.
    pub ran: u64,
    /// Counters of the CPU, in the order of `enum counter`.
    pub counters: [u64; COUNTERS],
    /// Counters of the target on it, in the order of `enum slot_counter`.
    pub own_counters: [u64; COUNTERS],
    /// Time charged to each class.
    pub charged: Vec<u64>,
    /// Waits by the binary logarithm of their nanoseconds.
    pub lengths: Vec<u64>,
    /// The longest waits that ended here, in no order.
    pub longest: Vec<LongWait>,
    /// Time of threads that wanted no CPU and want one again, by what they waited for.
    pub blocked: [u64; KINDS],
    /// Threads that began or came, the sum of when, threads that ended, the sum of when (with wrap-around), and threads that went.
    pub lives: [u64; LIVES],
}

impl Counted {
    /// The sum over all CPUs, with wrap-around.
    pub(crate) fn sum(&self, value: impl Fn(&CountedCpu) -> u64) -> u64 {
        self.cpus.iter().map(|(_, cpu)| value(cpu)).fold(0, u64::wrapping_add)
    }
}

impl CountedCpu {
    /// The waiting of all threads here.
    pub(crate) fn waited(&self) -> u64 {
        self.charged.iter().copied().fold(0, u64::wrapping_add)
    }
}

/// One of the longest waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongWait {
    /// How long it took.
    pub length: u64,
    /// When it ended.
    pub ended: u64,
    /// The part for which the group was throttled.
    pub quota: u64,
    /// The part for which an idle CPU was there that the thread may use.
    pub idle_elsewhere: u64,
    /// The thread's id.
    pub thread: u64,
    /// The thread's name.
    pub name: String,
    /// What the CPU ran before the end, newest first.
    pub segments: Vec<Segment>,
}

/// What a CPU ran up to a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its end.
    pub until: u64,
    /// The class of what ran.
    pub class: u32,
    /// The thread that ran.
    pub thread: u32,
}

impl Memory {
    /// The sizes of its maps.
    pub(crate) const fn sizes(shape: Shape) -> (usize, usize) {
        (shape.cpus * CPU_WORDS * 8, shape.cpus * shape.slots * SLOT_WORDS * 8)
    }

    /// What was counted for a target; `None` if the maps have other sizes than those of this version's programs.
    #[must_use]
    pub fn counted(&self, target: &Target) -> Option<Counted> {
        let Shape { cpus, slots } = self.shape;
        if (self.cpus.len(), self.slots.len()) != Self::sizes(self.shape) {
            return None;
        }
        let [heads, waits] = [&self.cpus, &self.slots].map(|bytes| words(bytes));
        let on_cpu = |number: usize| {
            let mut cpu = head(&heads[number * CPU_WORDS..][..CPU_WORDS], target);
            for slot in target.slots.iter().map(|slot| number * slots + slot) {
                add_slot(&mut cpu, &waits[slot * SLOT_WORDS..][..SLOT_WORDS], target);
            }
            (number, cpu)
        };
        let mut cpus: Vec<_> = (0..cpus).map(on_cpu).filter(|(_, cpu)| cpu.last > 0).collect();
        let end = cpus.iter().map(|(_, cpu)| cpu.last).max().unwrap_or(0);
        for (number, cpu) in &mut cpus {
            cpu.ran += still_runs(&heads[*number * CPU_WORDS..][..CPU_WORDS], target, end);
        }
        Some(Counted { cpus })
    }

    /// From the first event of any CPU to the last one.
    pub(crate) fn span(&self) -> (u64, u64) {
        let heads = words(&self.cpus);
        let seen = || heads.chunks_exact(CPU_WORDS).filter(|head| head[1] > 0);
        let first = seen().map(|head| head[0]).filter(|first| *first > 0).min().unwrap_or(0);
        (first, seen().map(|head| head[1]).max().unwrap_or(0).max(first))
    }
}

/// For how long a thread of the target has been running on a CPU at the end: it is counted when it is switched out.
fn still_runs(words: &[u64], target: &Target, end: u64) -> u64 {
    let [_, class] = halves(words[13]);
    let switches = words[15] as usize;
    let last = CPU_HEAD + COUNTERS + switches.wrapping_sub(1) % SEGMENTS * SEGMENT_WORDS;
    match target.classes.contains(&class) && switches > 0 {
        true => end.saturating_sub(words[last]),
        false => 0,
    }
}

impl Target {
    /// A class as this target sees it.
    pub(crate) fn seen(&self, class: u32) -> u32 {
        if self.classes.contains(&class) { OWN } else { class }
    }
}

pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

fn add(sums: &mut [u64], more: &[u64]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
}

fn head(words: &[u64], target: &Target) -> CountedCpu {
    let mut cpu = CountedCpu { first: words[0], last: words[1], ..CountedCpu::default() };
    if target.slots.contains(&(words[5] as usize)) {
        cpu.pending = words[4];
    }
    add(&mut cpu.counters, &words[CPU_HEAD..]);
    cpu
}

fn add_slot(cpu: &mut CountedCpu, words: &[u64], target: &Target) {
    let [waiting, arrived] = halves(words[0]);
    cpu.waiting += i64::from(waiting as i32) + i64::from(arrived as i32);
    cpu.began = cpu.began.wrapping_add(words[1]).wrapping_add(words[2]);
    cpu.pending = cpu.pending.wrapping_add(words[3]);
    cpu.run_delay += words[7];
    cpu.idle_elsewhere += words[8];
    cpu.ran += words[SLOT_HEAD + RAN_NS];
    add(&mut cpu.own_counters, &words[SLOT_HEAD..]);
    let (charged, rest) = words[SLOT_HEAD + COUNTERS..].split_at(CLASSES);
    let (lengths, rest) = rest.split_at(BUCKETS);
    let (longest, rest) = rest.split_at(LONGEST * WAIT_WORDS);
    add(&mut cpu.blocked, rest);
    add(&mut cpu.lives, &rest[KINDS..]);
    cpu.charged.resize(CLASSES, 0);
    for (class, ns) in charged.iter().enumerate() {
        let sum = &mut cpu.charged[target.seen(class as u32) as usize];
        *sum = sum.wrapping_add(*ns);
    }
    cpu.lengths.resize(BUCKETS, 0);
    add(&mut cpu.lengths, lengths);
    let longest = longest.chunks_exact(WAIT_WORDS).filter(|wait| wait[0] > 0);
    cpu.longest.extend(longest.map(|words| wait(words, target)));
}

fn wait(words: &[u64], target: &Target) -> LongWait {
    let name: Vec<u8> = words[5..7].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let segment = |words: &[u64]| {
        let [class, thread] = halves(words[1]);
        Segment { until: words[0], class: target.seen(class), thread }
    };
    let segments = words[7..].chunks_exact(SEGMENT_WORDS).map(segment);
    LongWait {
        length: words[0],
        ended: words[1],
        quota: words[2],
        idle_elsewhere: words[3],
        thread: words[4],
        name: String::from_utf8_lossy(name).into_owned(),
        segments: segments.filter(|segment| segment.until > 0).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { cpus: 4, slots: 2 };

    fn bytes(words: usize, at: &[(usize, u64)]) -> Vec<u8> {
        let mut all = vec![0_u64; words];
        at.iter().for_each(|(offset, value)| all[*offset] = *value);
        all.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// Maps of which CPU 3 and its slot 1 have these words.
    fn memory(cpu: &[(usize, u64)], slot: &[(usize, u64)]) -> Memory {
        let moved = |base: usize, words: &[(usize, u64)]| {
            words.iter().map(|(at, value)| (base + at, *value)).collect::<Vec<_>>()
        };
        let Shape { cpus, slots } = SHAPE;
        Memory {
            shape: SHAPE,
            cpus: bytes(cpus * CPU_WORDS, &moved(3 * CPU_WORDS, cpu)),
            slots: bytes(cpus * slots * SLOT_WORDS, &moved(7 * SLOT_WORDS, slot)),
        }
    }

    fn target(slots: &[usize], classes: &[u32]) -> Target {
        Target { name: "/a".to_owned(), slots: slots.to_vec(), classes: classes.to_vec() }
    }

    #[test]
    fn a_target_has_what_its_slots_counted_on_cpus_with_events() {
        let waiting = u64::from_ne_bytes([2, 0, 0, 0, 255, 255, 255, 255]);
        let cpu = [(0, 5), (1, 9), (4, 70), (5, 1), (CPU_HEAD + 4, 3)];
        let memory = memory(&cpu, &[(0, waiting), (7, 40), (SLOT_HEAD, 6)]);
        let counted = memory.counted(&target(&[0, 1], &[8])).unwrap();
        let [(3, cpu)] = &counted.cpus[..] else { panic!("{counted:?}") };
        assert_eq!((cpu.first, cpu.last, cpu.pending, cpu.run_delay), (5, 9, 70, 40));
        assert_eq!(cpu.waiting, 1, "two wait, and one that had come from elsewhere has left");
        assert_eq!((cpu.counters[4], cpu.own_counters[0]), (3, 6));
        let other = memory.counted(&target(&[0], &[9])).unwrap();
        let cpu = &other.cpus[0].1;
        assert_eq!((cpu.pending, cpu.run_delay, cpu.waiting), (0, 0, 0));
    }

    #[test]
    fn a_thread_that_still_runs_at_the_end_has_run_since_it_was_switched_in() {
        let running = |class: u32, switches: u64| {
            let halves = [0, class].map(u32::to_ne_bytes).concat();
            let word = u64::from_ne_bytes(halves.try_into().unwrap());
            let until = CPU_HEAD + COUNTERS + 2 * SEGMENT_WORDS;
            [(1, 900), (13, word), (15, switches), (until, 300)]
        };
        let ran = |class, switches| {
            let mut memory = memory(&running(class, switches), &[(SLOT_HEAD + RAN_NS, 50)]);
            // The clock of another CPU says how long ago that was.
            memory.cpus[8..16].copy_from_slice(&1_000_u64.to_ne_bytes());
            let counted = memory.counted(&target(&[1], &[8])).unwrap();
            counted.cpus.iter().map(|(_, cpu)| cpu.ran).collect::<Vec<_>>()
        };
        assert_eq!(ran(8, SEGMENTS as u64 + 3), [0, 750]);
        assert_eq!(ran(9, SEGMENTS as u64 + 3), [0, 50], "another group's");
        assert_eq!(ran(8, 0), [0, 50], "no switch was seen");
    }

    #[test]
    fn a_target_sees_groups_within_it_as_its_own_threads_and_others_as_groups() {
        let start = SLOT_HEAD + COUNTERS;
        let slot = [(start, 1), (start + 8, 20), (start + 9, 300), (start + 10, 4_000)];
        let memory = memory(&[(1, 9)], &slot);
        let charged = |classes: &[u32]| {
            let counted = memory.counted(&target(&[1], classes)).unwrap();
            counted.cpus[0].1.charged.clone()
        };
        assert_eq!(charged(&[8, 9])[7..11], [320, 0, 0, 4_000]);
        assert_eq!(charged(&[9])[7..11], [300, 20, 0, 4_000]);
    }

    #[test]
    fn a_wait_has_a_name_and_the_segments_that_there_were() {
        let start = SLOT_HEAD + COUNTERS + CLASSES + BUCKETS;
        let name = u64::from_ne_bytes(*b"worker\0x");
        let segment = u64::from_ne_bytes([9, 0, 0, 0, 77, 0, 0, 0]);
        let slot = [
            (start, 100),
            (start + 1, 9),
            (start + 3, 60),
            (start + 5, name),
            (start + 7, 8),
            (start + 8, segment),
        ];
        let counted = memory(&[(1, 9)], &slot).counted(&target(&[1], &[8])).unwrap();
        let [wait] = &counted.cpus[0].1.longest[..] else { panic!("{counted:?}") };
        assert_eq!((wait.length, wait.idle_elsewhere, wait.name.as_str()), (100, 60, "worker"));
        assert_eq!(wait.segments, [Segment { until: 8, class: 9, thread: 77 }]);
    }

    #[test]
    fn maps_of_another_size_are_refused() {
        let mut memory = memory(&[], &[]);
        memory.slots.pop();
        assert_eq!(memory.counted(&target(&[0], &[8])), None);
    }
}
