//! What `programs/disk.bpf.c` counted, from the memory that it shares with this process.

use super::layout::{CLASSES, Layout};

/// Sizes in `programs/disk.bpf.c`.
const SHARDS: usize = 4;
const BUCKETS: usize = 64;
const STAGES: usize = 4;
const CPUS: usize = 256;
const CHUNK: usize = 16;

/// Words of `struct group` before `time`.
const GROUP_HEAD: usize = 18;
const GROUP: usize = GROUP_HEAD + STAGES + STAGES * BUCKETS;

/// Offset in `struct disk`, in bytes.
const DEVICE: usize = 7 * 8;

/// Offsets in `struct disk`, in bytes.
impl Layout {
    const fn member_classes(self) -> usize {
        DEVICE + 2 * self.members * 4
    }

    const fn clocks(self) -> usize {
        self.member_classes() + (self.members + CLASSES) * 4
    }

    const fn charged(self) -> usize {
        self.clocks() + (self.members + 1) * 8 + self.members / CHUNK * 4
    }

    const fn charged_idle(self) -> usize {
        self.charged() + self.members * self.members * 8
    }

    const fn disk(self) -> usize {
        self.charged_idle() + self.members * 8
    }

    /// Where a shard has the sums of a member of a disk.
    const fn group(self, shard: usize, disk: usize, member: usize) -> usize {
        let before = (shard * self.disks + disk) * self.members + member;
        self.disks * self.disk() + before * GROUP * 8
    }

    const fn costs(self) -> usize {
        self.group(SHARDS, 0, 0)
    }

    fn of(memory: &[u8]) -> Option<Self> {
        Self::of_size(memory.len(), |layout| layout.costs() + CPUS * COST * 8)
    }
}

/// Words of `struct cost`.
const COST: usize = 8;

/// Clocks count in 1/4096 ns.
const FRACTION: u32 = 12;

/// What happened at one disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskCounted {
    /// How long all places of the pool were taken, in nanoseconds.
    pub full: u64,
    /// How long the device was idle.
    pub idle: u64,
    /// Events at which another CPU was charging.
    pub contended: u64,
    /// Requests without room.
    pub dropped: u64,
    /// Requests whose end was not shown.
    pub unseen: u64,
    /// Groups that had requests.
    pub members: Vec<MemberCounted>,
}

/// A group at one disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberCounted {
    /// Its class; `None` for all groups without a number.
    pub class: Option<usize>,
    /// Sums.
    pub group: GroupCounted,
    /// Whom the device served while this group's requests were in the scheduler, by position in
    /// [`DiskCounted::members`], and last while it was idle. In nanoseconds.
    pub charged: Vec<u64>,
}

/// Sums of a group, by the names of `struct group`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the structure of the program has the comments")]
pub struct GroupCounted {
    pub requests: u64,
    pub bytes: u64,
    pub merged: u64,
    pub requeued: u64,
    pub pool_full: u64,
    pub limited: u64,
    pub held: u64,
    pub unknown_places: u64,
    pub unknown_completions: u64,
    pub issued: u64,
    pub whole: u64,
    /// Request-nanoseconds with a place in the pool, in the scheduler and in the device, also of what is not over.
    pub allocated: u64,
    pub queued: u64,
    pub in_device: u64,
    /// Waiting for a place, in the plug, in the scheduler, in the device: what is over.
    pub time: [u64; STAGES],
    /// By the logarithm of the length.
    pub lengths: [Vec<u64>; STAGES],
}

/// What the programs took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskCost {
    /// Events of all watched disks.
    pub events: u64,
    /// Of these: timed.
    pub timed: u64,
    /// What those took.
    pub timed_ns: u64,
}

/// The memory as numbers; beyond its end there are zeros, which [`DiskCounted::parse`] excludes by its size.
#[derive(Clone, Copy)]
pub(super) struct Memory<'a>(pub(super) &'a [u8]);

impl Memory<'_> {
    pub(super) fn word(self, at: usize) -> u64 {
        let bytes = self.0.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_ne_bytes(bytes.unwrap_or_default())
    }

    pub(super) fn half(self, at: usize) -> u32 {
        let bytes = self.0.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        u32::from_ne_bytes(bytes.unwrap_or_default())
    }

    fn words(self, at: usize, count: usize) -> impl Iterator<Item = u64> {
        (0..count).map(move |index| self.word(at + index * 8))
    }
}

impl DiskCounted {
    /// Reads what was counted at the disk with this number until `until` (CLOCK_MONOTONIC); its pool has `pool`
    /// places. `None` if the memory is not that of the programs.
    #[must_use]
    pub fn parse(
        memory: &[u8],
        disk: usize,
        (since, until): (u64, u64),
        pool: u64,
    ) -> Option<Self> {
        let layout = Layout::of(memory).filter(|layout| disk < layout.disks)?;
        let memory = Memory(memory);
        let at = disk * layout.disk();
        let last = match memory.word(at + 8) {
            0 => since,
            last => last,
        };
        let mut clocks: Vec<u64> = memory.words(at + layout.clocks(), layout.members + 1).collect();
        let rest = until.saturating_sub(last);
        let mut full = memory.word(at + 16);
        if i64::from(memory.half(at + 44) as i32) >= pool as i64 {
            full += rest;
        }
        let in_device: Vec<u64> =
            (0..layout.members).map(|one| signed(memory.half(at + DEVICE + one * 4))).collect();
        advance(&mut clocks, &in_device, rest);
        let member = |one| member(memory, layout, (disk, one), &clocks, until);
        Some(Self {
            full,
            idle: clocks[layout.members] >> FRACTION,
            contended: memory.word(at + 24),
            dropped: memory.word(at + 32),
            unseen: u64::from(memory.half(at + 52)),
            members: (0..layout.members).map(member).collect(),
        })
    }
}

/// A count that a race may have left below zero.
fn signed(count: u32) -> u64 {
    (count as i32).max(0) as u64
}

/// Lets the clocks run on to the end; the last one is that of the idle device.
fn advance(clocks: &mut [u64], in_device: &[u64], ns: u64) {
    let total: u64 = in_device.iter().sum();
    let passed = ns << FRACTION;
    if total == 0 {
        clocks[in_device.len()] += passed;
    }
    for (clock, count) in clocks.iter_mut().zip(in_device) {
        *clock += (passed / total.max(1)).wrapping_mul(*count);
    }
}

fn member(
    memory: Memory<'_>,
    layout: Layout,
    (disk, one): (usize, usize),
    clocks: &[u64],
    until: u64,
) -> MemberCounted {
    let at = disk * layout.disk();
    let class = memory.half(at + layout.member_classes() + one * 4).checked_sub(1);
    let (group, charging) = group(memory, layout, (disk, one), until);
    let row = memory.words(at + layout.charged() + one * layout.members * 8, layout.members);
    let row = row.chain([memory.word(at + layout.charged_idle() + one * 8)]);
    // Of requests that are still queued, the clocks have only been subtracted.
    let settle = |(sum, clock): (u64, &u64)| {
        let parts = sum.wrapping_add(charging.wrapping_mul(*clock)) as i64;
        parts.max(0) as u64 >> FRACTION
    };
    let charged = row.zip(clocks).map(settle).collect();
    MemberCounted { class: class.map(|class| class as usize), group, charged }
}

/// The sums of all shards, and for how many the requests count that are queued now.
fn group(
    memory: Memory<'_>,
    layout: Layout,
    (disk, one): (usize, usize),
    until: u64,
) -> (GroupCounted, u64) {
    let mut words = vec![0_u64; GROUP];
    for shard in 0..SHARDS {
        let at = layout.group(shard, disk, one);
        for (sum, word) in words.iter_mut().zip(memory.words(at, GROUP)) {
            *sum = sum.wrapping_add(word);
        }
    }
    // A sum over what began less what is over; what is not over lasts until the end.
    let until_now = |ended: u64, count: u64, since: u64| {
        let open = (count.wrapping_mul(until)).wrapping_sub(since);
        (ended.wrapping_add(open) as i64).max(0) as u64
    };
    let time = [0, 1, 2, 3].map(|stage| words[GROUP_HEAD + stage]);
    let lengths = [0, 1, 2, 3].map(|stage| {
        let at = GROUP_HEAD + STAGES + stage * BUCKETS;
        words[at..at + BUCKETS].to_vec()
    });
    let group = GroupCounted {
        requests: words[0],
        bytes: words[1],
        merged: words[2],
        requeued: words[3],
        pool_full: words[4],
        limited: words[5],
        held: words[6],
        unknown_places: words[7],
        unknown_completions: words[8],
        issued: words[9],
        whole: words[10],
        allocated: until_now(0, words[11], words[12]),
        queued: until_now(time[2], words[13], words[14]),
        in_device: until_now(time[3], words[15], words[16]),
        time,
        lengths,
    };
    (group, words[17])
}

impl DiskCost {
    /// What all CPUs counted.
    #[must_use]
    pub fn parse(memory: &[u8]) -> Self {
        let Some(layout) = Layout::of(memory) else { return Self::default() };
        let memory = Memory(memory);
        let of = |cpu: usize, index: usize| memory.word(layout.costs() + (cpu * COST + index) * 8);
        let sum = |index: usize| (0..CPUS).map(|cpu| of(cpu, index)).sum();
        Self { events: sum(0), timed: sum(1), timed_ns: sum(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeros(layout: Layout) -> Vec<u8> {
        vec![0; layout.costs() + CPUS * COST * 8]
    }

    fn put(memory: &mut [u8], at: usize, word: u64) {
        memory[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }

    /// A word of the group with this number in this shard, at the disk 0.
    fn in_group(shard: usize, one: usize, word: usize) -> usize {
        Layout::FEW.group(shard, 0, one) + word * 8
    }

    #[test]
    fn memory_of_another_size_is_none() {
        assert_eq!(DiskCounted::parse(&[0; 4096], 0, (0, 1), 1), None);
        for layout in [Layout::FEW, Layout::MANY] {
            let members = |disk| DiskCounted::parse(&zeros(layout), disk, (0, 1), 1);
            assert_eq!(members(0).unwrap().members.len(), layout.members);
            assert_eq!(members(layout.disks), None);
        }
    }

    #[test]
    fn a_request_that_is_still_queued_is_charged_until_the_end() {
        let layout = Layout::FEW;
        let mut memory = zeros(layout);
        put(&mut memory, 8, 1_000); // the clocks have run up to here
        put(&mut memory, layout.clocks() + 8, 400 << FRACTION); // of the member 1
        memory[DEVICE + 4] = 1; // which has a request in the device
        memory[layout.member_classes()] = 1;
        memory[layout.member_classes() + 4] = 6;
        // The member 0 has inserted a request at 700, when the clock of 1 was at 100.
        put(&mut memory, in_group(1, 0, 13), 1);
        put(&mut memory, in_group(1, 0, 14), 700);
        put(&mut memory, in_group(1, 0, 17), 1);
        put(&mut memory, layout.charged() + 8, (100_u64 << FRACTION).wrapping_neg());
        let counted = DiskCounted::parse(&memory, 0, (0, 1_500), 10).unwrap();
        let queued = &counted.members[0];
        assert_eq!((queued.class, counted.members[1].class), (Some(0), Some(5)));
        assert_eq!((queued.group.queued, queued.charged[1]), (800, 800));
        assert_eq!((counted.idle, counted.full), (0, 0));
    }

    /// A group at its cap waited a minute for a place, which was shown as 2 to 4 s while there were 32 lengths.
    #[test]
    fn the_longest_waits_have_lengths_of_their_own() {
        let mut memory = zeros(Layout::FEW);
        let minute = (60 * 1_000_000_000_u64).ilog2() as usize;
        for length in [minute, 63] {
            put(&mut memory, in_group(0, 3, GROUP_HEAD + STAGES + length), 1);
        }
        let counted = DiskCounted::parse(&memory, 0, (0, 1), 10).unwrap();
        let waits = crate::waits::Waits::from_counts(&counted.members[3].group.lengths[0]);
        let (first, last) = (waits.histogram[0], waits.histogram.last().unwrap());
        assert!(first.from_ns <= 60_000_000_000 && 60_000_000_000 < first.below_ns, "{first:?}");
        assert_eq!((waits.count, last.from_ns, last.below_ns), (2, 1 << 63, u64::MAX));
    }

    #[test]
    fn shards_add_up_and_the_idle_clock_runs_on() {
        let mut memory = zeros(Layout::FEW);
        put(&mut memory, in_group(0, 3, 0), 5);
        put(&mut memory, in_group(3, 3, 0), 6);
        memory[44] = 10; // all places of the pool are taken
        memory[52] = 3; // requests whose end was not shown
        let counted = DiskCounted::parse(&memory, 0, (100, 1_100), 10).unwrap();
        assert_eq!(counted.unseen, 3);
        assert_eq!(counted.members[3].group.requests, 11);
        assert_eq!((counted.idle, counted.full), (1_000, 1_000));
    }

    #[test]
    fn a_place_taken_on_one_cpu_and_freed_on_another_sums_up() {
        let mut memory = zeros(Layout::FEW);
        put(&mut memory, in_group(0, 0, 11), 1);
        put(&mut memory, in_group(0, 0, 12), 700);
        put(&mut memory, in_group(1, 0, 11), u64::MAX);
        put(&mut memory, in_group(1, 0, 12), 900_u64.wrapping_neg());
        let counted = DiskCounted::parse(&memory, 0, (0, 5_000), 10).unwrap();
        assert_eq!(counted.members[0].group.allocated, 200);
    }
}
