//! What `programs/disk.bpf.c` counted, from the memory that it shares with this process.

use super::DISKS;

/// Sizes in `programs/disk.bpf.c`.
const SHARDS: usize = 4;
pub(super) const MEMBERS: usize = 32;
pub(super) const CLASSES: usize = 512;
const BUCKETS: usize = 32;
const STAGES: usize = 4;
const CPUS: usize = 256;

/// Words of `struct group` before `time`.
const GROUP_HEAD: usize = 18;
const GROUP: usize = GROUP_HEAD + STAGES + STAGES * BUCKETS;

/// Offsets in `struct disk`, in bytes.
const DEVICE: usize = 7 * 8;
const MEMBER_CLASSES: usize = DEVICE + 2 * MEMBERS * 4;
const CLOCKS: usize = MEMBER_CLASSES + (MEMBERS + CLASSES) * 4;
const DISK: usize = CLOCKS + (MEMBERS + 1 + MEMBERS * MEMBERS + MEMBERS) * 8;

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
    pub held_max: u64,
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
        let groups = DISKS * DISK;
        if memory.len() < groups + SHARDS * DISKS * MEMBERS * GROUP * 8 || disk >= DISKS {
            return None;
        }
        let memory = Memory(memory);
        let at = disk * DISK;
        let last = match memory.word(at + 8) {
            0 => since,
            last => last,
        };
        let mut clocks: Vec<u64> = memory.words(at + CLOCKS, MEMBERS + 1).collect();
        let rest = until.saturating_sub(last);
        let mut full = memory.word(at + 16);
        if i64::from(memory.half(at + 44) as i32) >= pool as i64 {
            full += rest;
        }
        let in_device: Vec<u64> =
            (0..MEMBERS).map(|one| signed(memory.half(at + DEVICE + one * 4))).collect();
        advance(&mut clocks, &in_device, rest);
        let members = (0..MEMBERS).map(|one| member(memory, disk, one, &clocks, until)).collect();
        Some(Self {
            full,
            idle: clocks[MEMBERS] >> FRACTION,
            contended: memory.word(at + 24),
            dropped: memory.word(at + 32),
            unseen: u64::from(memory.half(at + 52)),
            members,
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
        clocks[MEMBERS] += passed;
    }
    for (clock, count) in clocks.iter_mut().zip(in_device) {
        *clock += (passed / total.max(1)).wrapping_mul(*count);
    }
}

fn member(
    memory: Memory<'_>,
    disk: usize,
    one: usize,
    clocks: &[u64],
    until: u64,
) -> MemberCounted {
    let at = disk * DISK;
    let class = memory.half(at + MEMBER_CLASSES + one * 4).checked_sub(1);
    let (group, queued) = group(memory, disk, one, until);
    let rows = at + CLOCKS + (MEMBERS + 1) * 8;
    let idle = rows + MEMBERS * MEMBERS * 8 + one * 8;
    let row = memory.words(rows + one * MEMBERS * 8, MEMBERS).chain([memory.word(idle)]);
    // For each request that is still queued, its clocks have only been subtracted.
    let settle = |(sum, clock): (u64, &u64)| {
        let parts = sum.wrapping_add(queued.wrapping_mul(*clock)) as i64;
        parts.max(0) as u64 >> FRACTION
    };
    let charged = row.zip(clocks).map(settle).collect();
    MemberCounted { class: class.map(|class| class as usize), group, charged }
}

/// The sums of all shards, and how many requests are queued now.
fn group(memory: Memory<'_>, disk: usize, one: usize, until: u64) -> (GroupCounted, u64) {
    let mut words = vec![0_u64; GROUP];
    let mut held_max = 0;
    for shard in 0..SHARDS {
        let at = DISKS * DISK + ((shard * DISKS + disk) * MEMBERS + one) * GROUP * 8;
        for (sum, word) in words.iter_mut().zip(memory.words(at, GROUP)) {
            *sum = sum.wrapping_add(word);
        }
        held_max = held_max.max(memory.word(at + 7 * 8));
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
        held_max,
        unknown_places: words[8],
        unknown_completions: words[9],
        issued: words[10],
        whole: words[11],
        allocated: until_now(0, words[12], words[13]),
        queued: until_now(time[2], words[14], words[15]),
        in_device: until_now(time[3], words[16], words[17]),
        time,
        lengths,
    };
    (group, words[14])
}

impl DiskCost {
    /// What all CPUs counted.
    #[must_use]
    pub fn parse(memory: &[u8]) -> Self {
        let costs = DISKS * DISK + SHARDS * DISKS * MEMBERS * GROUP * 8;
        let memory = Memory(memory);
        let sum =
            |index: usize| (0..CPUS).map(|cpu| memory.word(costs + (cpu * COST + index) * 8)).sum();
        Self { events: sum(0), timed: sum(1), timed_ns: sum(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = DISKS * DISK + SHARDS * DISKS * MEMBERS * GROUP * 8 + CPUS * COST * 8;

    fn put(memory: &mut [u8], at: usize, word: u64) {
        memory[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }

    /// A word of the group with this number in this shard, at the disk 0.
    fn in_group(shard: usize, one: usize, word: usize) -> usize {
        DISKS * DISK + (shard * DISKS * MEMBERS + one) * GROUP * 8 + word * 8
    }

    #[test]
    fn memory_of_another_size_is_none() {
        assert_eq!(DiskCounted::parse(&[0; 4096], 0, (0, 1), 1), None);
        assert!(DiskCounted::parse(&vec![0; SIZE], 0, (0, 1), 1).is_some());
        assert_eq!(DiskCounted::parse(&vec![0; SIZE], DISKS, (0, 1), 1), None);
    }

    #[test]
    fn a_request_that_is_still_queued_is_charged_until_the_end() {
        let mut memory = vec![0; SIZE];
        put(&mut memory, 8, 1_000); // the clocks have run up to here
        put(&mut memory, CLOCKS + 8, 400 << FRACTION); // of the member 1
        memory[DEVICE + 4] = 1; // which has a request in the device
        memory[MEMBER_CLASSES] = 1;
        memory[MEMBER_CLASSES + 4] = 6;
        // The member 0 has inserted a request at 700, when the clock of 1 was at 100.
        put(&mut memory, in_group(1, 0, 14), 1);
        put(&mut memory, in_group(1, 0, 15), 700);
        let rows = CLOCKS + (MEMBERS + 1) * 8;
        put(&mut memory, rows + 8, (100_u64 << FRACTION).wrapping_neg());
        let counted = DiskCounted::parse(&memory, 0, (0, 1_500), 10).unwrap();
        let queued = &counted.members[0];
        assert_eq!((queued.class, counted.members[1].class), (Some(0), Some(5)));
        assert_eq!((queued.group.queued, queued.charged[1]), (800, 800));
        assert_eq!((counted.idle, counted.full), (0, 0));
    }

    #[test]
    fn shards_add_up_and_the_idle_clock_runs_on() {
        let mut memory = vec![0; SIZE];
        put(&mut memory, in_group(0, 3, 0), 5);
        put(&mut memory, in_group(3, 3, 0), 6);
        put(&mut memory, in_group(0, 3, 7), 9);
        put(&mut memory, in_group(2, 3, 7), 4);
        memory[44] = 10; // all places of the pool are taken
        memory[52] = 3; // requests whose end was not shown
        let counted = DiskCounted::parse(&memory, 0, (100, 1_100), 10).unwrap();
        assert_eq!(counted.unseen, 3);
        assert_eq!((counted.members[3].group.requests, counted.members[3].group.held_max), (11, 9));
        assert_eq!((counted.idle, counted.full), (1_000, 1_000));
    }

    #[test]
    fn a_place_taken_on_one_cpu_and_freed_on_another_sums_up() {
        let mut memory = vec![0; SIZE];
        put(&mut memory, in_group(0, 0, 12), 1);
        put(&mut memory, in_group(0, 0, 13), 700);
        put(&mut memory, in_group(1, 0, 12), u64::MAX);
        put(&mut memory, in_group(1, 0, 13), 900_u64.wrapping_neg());
        let counted = DiskCounted::parse(&memory, 0, (0, 5_000), 10).unwrap();
        assert_eq!(counted.members[0].group.allocated, 200);
    }
}
