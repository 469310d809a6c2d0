//! What the programs counted, read from their memory (`struct memory` of `programs/blame.bpf.c`).

/// Dimensions of that memory.
pub(crate) const CLASSES: usize = 512;
const CPUS: usize = 256;
const COUNTERS: usize = 16;
const BUCKETS: usize = 40;
const SLOTS: usize = 16;
const SEGMENTS: usize = 64;
const LONGEST: usize = 8;
const SHOWN: usize = 12;
const CACHE: usize = 4096;

/// Words of 8 bytes of each of its structures.
const SEGMENT_WORDS: usize = 2;
const WAIT_WORDS: usize = 6 + SHOWN * SEGMENT_WORDS;
const SLOT_WORDS: usize = 4;
const HEAD_WORDS: usize = 15;
const CPU_WORDS: usize = HEAD_WORDS
    + COUNTERS
    + CLASSES
    + BUCKETS
    + SLOTS * SLOT_WORDS
    + SEGMENTS * SEGMENT_WORDS
    + LONGEST * WAIT_WORDS;

/// Everything that was counted, for each CPU that had an event.
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
    /// The wait of the thread that runs at the end: charged, and not yet in `run_delay`.
    pub pending: u64,
    /// What the kernel counted as waiting of the threads that were switched out here.
    pub run_delay: u64,
    /// Counters of events, in the order of `enum counter`.
    pub counters: Vec<u64>,
    /// Time charged to each class.
    pub charged: Vec<u64>,
    /// Waits by the binary logarithm of their nanoseconds.
    pub lengths: Vec<u64>,
    /// The longest waits that ended here, in no order.
    pub longest: Vec<LongWait>,
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

impl Counted {
    /// The size of the memory in bytes.
    pub const BYTES: usize = (CPUS * CPU_WORDS + CACHE) * 8;

    /// Reads the memory; `None` if it has another size than that of this version's programs.
    #[must_use]
    pub fn parse(memory: &[u8]) -> Option<Self> {
        if memory.len() != Self::BYTES {
            return None;
        }
        let words: Vec<u64> =
            memory.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let cpus = words.chunks_exact(CPU_WORDS).take(CPUS).map(cpu).enumerate();
        Some(Self { cpus: cpus.filter(|(_, cpu)| cpu.last > 0).collect() })
    }
}

/// Takes the next words off.
fn take<'w>(words: &mut &'w [u64], count: usize) -> &'w [u64] {
    let (taken, rest) = words.split_at(count.min(words.len()));
    *words = rest;
    taken
}

fn cpu(mut words: &[u64]) -> CountedCpu {
    let head = take(&mut words, HEAD_WORDS);
    let counters = take(&mut words, COUNTERS).to_vec();
    let charged = take(&mut words, CLASSES).to_vec();
    let lengths = take(&mut words, BUCKETS).to_vec();
    take(&mut words, SLOTS * SLOT_WORDS + SEGMENTS * SEGMENT_WORDS);
    let longest = words.chunks_exact(WAIT_WORDS).filter(|wait| wait[0] > 0).map(wait).collect();
    CountedCpu {
        first: head[0],
        last: head[1],
        waiting: (head[2] as i64).wrapping_add(head[3] as i64),
        began: head[4],
        pending: head[5],
        run_delay: head[6],
        counters,
        charged,
        lengths,
        longest,
    }
}

fn wait(words: &[u64]) -> LongWait {
    let name: Vec<u8> = words[4..6].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let segments = words[6..].chunks_exact(SEGMENT_WORDS).map(segment);
    LongWait {
        length: words[0],
        ended: words[1],
        quota: words[2],
        thread: words[3],
        name: String::from_utf8_lossy(name).into_owned(),
        segments: segments.filter(|segment| segment.until > 0).collect(),
    }
}

fn segment(words: &[u64]) -> Segment {
    let halves = words[1].to_ne_bytes();
    let half = |at: usize| {
        u32::from_ne_bytes([halves[at], halves[at + 1], halves[at + 2], halves[at + 3]])
    };
    Segment { until: words[0], class: half(0), thread: half(4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A memory in which this CPU has these words at its beginning.
    fn memory(cpu: usize, at: &[(usize, u64)]) -> Vec<u8> {
        let mut words = vec![0_u64; Counted::BYTES / 8];
        for (offset, value) in at {
            words[cpu * CPU_WORDS + offset] = *value;
        }
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn cpus_without_events_are_left_out() {
        let counted = Counted::parse(&memory(3, &[(0, 5), (1, 9), (2, 2), (3, u64::MAX)])).unwrap();
        assert_eq!(counted.cpus.len(), 1);
        let (number, cpu) = &counted.cpus[0];
        assert_eq!((*number, cpu.first, cpu.last), (3, 5, 9));
        assert_eq!(cpu.waiting, 1, "two wait, and one that had come from elsewhere has left");
    }

    #[test]
    fn a_wait_has_a_name_and_the_segments_that_there_were() {
        let start = CPU_WORDS - LONGEST * WAIT_WORDS;
        let name = u64::from_ne_bytes(*b"worker\0x");
        let segment = u64::from_ne_bytes([9, 0, 0, 0, 77, 0, 0, 0]);
        let words = [
            (1, 9),
            (start, 100),
            (start + 1, 9),
            (start + 4, name),
            (start + 6, 8),
            (start + 7, segment),
        ];
        let counted = Counted::parse(&memory(0, &words)).unwrap();
        let [wait] = &counted.cpus[0].1.longest[..] else { panic!("{counted:?}") };
        assert_eq!((wait.length, wait.name.as_str()), (100, "worker"));
        assert_eq!(wait.segments, [Segment { until: 8, class: 9, thread: 77 }]);
    }

    #[test]
    fn a_memory_of_another_size_is_refused() {
        assert_eq!(Counted::parse(&[0; 64]), None);
    }
}
