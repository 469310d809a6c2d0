//! What `programs/bfq.bpf.c` counted, as turns of groups, bonds and injected requests.

use super::OTHER_GROUPS;
use super::bfq::{Bfq, BfqGroup, Bond, Injected};
use super::counted::Memory;
use super::layout::{CLASSES, Layout};
use super::new::MOST_PARTS;

/// Words of `struct turns`.
const TURNS: usize = 18;

/// Offset in `struct disk`, in bytes.
const MEMBER_CLASSES: usize = 6 * 8;

/// Offsets in `struct disk`, in bytes.
impl Layout {
    const fn turns(self, member: usize) -> usize {
        MEMBER_CLASSES + (self.members + CLASSES) * 4 + member * TURNS * 8
    }

    const fn pairs(self) -> usize {
        self.members * self.members
    }

    const fn bonds(self) -> usize {
        self.turns(self.members)
    }

    const fn set(self) -> usize {
        self.bonds() + self.pairs() * 2 * 8
    }

    const fn injected(self) -> usize {
        self.set() + self.pairs() * 8
    }

    const fn disk_of_turns(self) -> usize {
        self.injected() + self.pairs() * 4 * 8
    }

    fn of_turns(memory: &[u8]) -> Option<Self> {
        Self::of_size(memory.len(), |layout| layout.disks * layout.disk_of_turns())
    }
}

/// The memory of the programs, as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BfqCounted {
    memory: Vec<u8>,
    layout: Layout,
}

impl BfqCounted {
    /// `None` if the memory is not that of the programs.
    #[must_use]
    pub fn parse(memory: Vec<u8>) -> Option<Self> {
        let layout = Layout::of_turns(&memory)?;
        Some(Self { memory, layout })
    }

    /// The turns at the disk with this number; `name` gives the group of a class, or of none.
    #[must_use]
    pub fn disk(&self, number: usize, name: impl Fn(Option<usize>) -> String) -> Bfq {
        let layout = self.layout;
        let at = number * layout.disk_of_turns();
        let disk = Disk { memory: Memory(&self.memory), layout, at };
        let members = 0..layout.members;
        let names: Vec<String> = members.clone().map(|one| name(disk.class(one))).collect();
        let samples = disk.memory.word(disk.at + 16);
        let groups = members.filter_map(|one| disk.group(one, &names[one], samples));
        Bfq {
            samples,
            idle_samples: disk.memory.word(disk.at + 24),
            garbled: disk.memory.word(disk.at + 32),
            groups: groups.collect(),
            bonds: pairs(layout.members).filter_map(|pair| disk.bond(pair, &names)).collect(),
            injected: (0..layout.members).flat_map(|group| disk.injected(group, &names)).collect(),
        }
    }
}

/// All pairs of members.
fn pairs(members: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..members).flat_map(move |one| (0..members).map(move |other| (one, other)))
}

/// One disk in the memory.
struct Disk<'a> {
    memory: Memory<'a>,
    layout: Layout,
    at: usize,
}

impl Disk<'_> {
    fn class(&self, member: usize) -> Option<usize> {
        let class = self.memory.half(self.at + MEMBER_CLASSES + member * 4).checked_sub(1);
        class.map(|class| class as usize)
    }

    fn group(&self, member: usize, name: &str, samples: u64) -> Option<BfqGroup> {
        let first = self.at + self.layout.turns(member);
        let word = |index: usize| self.memory.word(first + index * 8);
        let turns = word(0);
        if turns + word(11) + word(15) == 0 {
            return None;
        }
        let lead = |index| word(index) as i64 as f64;
        Some(BfqGroup {
            group: name.to_owned(),
            in_service_percent: percent(turns, samples),
            idling_percent: percent(word(1), turns),
            timer_percent: percent(word(2), turns),
            inject_limit_mean: mean(word(3), turns),
            inject_limit_max: word(4),
            in_driver_mean: mean(word(5), turns),
            budget_mean: mean(word(6), turns),
            weight: Some(word(7)).filter(|weight| *weight > 0),
            lead_sectors: (word(8) > 0).then(|| (lead(9), lead(10))),
            inserts: word(11),
            drained_inserts: word(12),
            long_think_inserts: word(13),
            think_time_max_ns: word(14),
            issued: word(15),
            issued_in_own_turn: word(16),
        })
    }

    fn bond(&self, (one, other): (usize, usize), names: &[String]) -> Option<Bond> {
        let pair = one * self.layout.members + other;
        let [bonds, set] = [self.layout.bonds(), self.layout.set()].map(|offset| self.at + offset);
        let [waker_samples, woken_samples, set] =
            [bonds + pair * 16, bonds + pair * 16 + 8, set + pair * 8]
                .map(|at| self.memory.word(at));
        (waker_samples + woken_samples + set > 0).then(|| Bond {
            group: names[one].clone(),
            partner: names[other].clone(),
            waker_samples,
            woken_samples,
            set,
        })
    }

    /// What was issued of a group in turns of others, the most first; of those with the least, the sum.
    fn injected(&self, group: usize, names: &[String]) -> Vec<Injected> {
        let turns = 0..self.layout.members;
        let mut all: Vec<Injected> =
            turns.filter_map(|turn| self.injected_in((turn, group), names)).collect();
        let as_partner = |one: &Injected| one.as_waker + one.as_woken;
        all.sort_by_key(|one| std::cmp::Reverse((as_partner(one), one.other)));
        let partners = all.iter().filter(|one| as_partner(one) > 0).count();
        let rest = all.split_off(all.len().min(partners + MOST_PARTS));
        all.extend(rest.into_iter().reduce(|sum, more| Injected {
            in_service: OTHER_GROUPS.to_owned(),
            other: sum.other + more.other,
            by_limit: sum.by_limit.zip(more.by_limit).map(|(sum, more)| sum + more),
            ..sum
        }));
        all
    }

    fn injected_in(&self, (turn, group): (usize, usize), names: &[String]) -> Option<Injected> {
        let pair = turn * self.layout.members + group;
        let first = self.at + self.layout.injected() + pair * 32;
        let [as_waker, as_woken, other] = [0, 8, 16].map(|offset| self.memory.word(first + offset));
        let has_limit = self.memory.word(self.at + self.layout.turns(turn) + 4 * 8) > 0;
        (as_waker + as_woken + other > 0).then(|| Injected {
            in_service: names[turn].clone(),
            group: names[group].clone(),
            as_waker,
            as_woken,
            other,
            by_limit: Some(if has_limit { other } else { 0 }),
        })
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    mean(part, whole) * 100.0
}

fn mean(sum: u64, count: u64) -> f64 {
    if count > 0 { sum as f64 / count as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(class: Option<usize>) -> String {
        class.map_or("others".to_owned(), |class| format!("/{class}"))
    }

    #[test]
    fn turns_bonds_and_injected_requests_have_the_names_of_their_groups() {
        let layout = Layout::FEW;
        let disk = layout.disk_of_turns();
        let mut memory = vec![0; layout.disks * disk + 8];
        let mut put = |at: usize, word: u64| {
            memory[disk + at..disk + at + 8].copy_from_slice(&word.to_ne_bytes());
        };
        put(16, 1_000);
        put(24, 100);
        // Classes 2 and 5, each with 1 added, are the members 0 and 1.
        put(MEMBER_CLASSES, 6 << 32 | 3);
        put(layout.turns(0), 450);
        put(layout.turns(0) + 8, 45);
        put(layout.turns(0) + 8 * 8, 1);
        put(layout.turns(0) + 10 * 8, (-7_i64) as u64);
        put(layout.turns(1) + 15 * 8, 30);
        put(layout.bonds() + 16, 400); // the waker of 0 is 1
        put(layout.set() + 8, 2);
        put(layout.injected() + 32, 29);
        let bfq = BfqCounted::parse(memory).unwrap().disk(1, name);
        assert_eq!((bfq.samples, bfq.idle_samples), (1_000, 100));
        let served = bfq.group("/2").unwrap();
        assert_eq!((served.in_service_percent, served.idling_percent), (45.0, 10.0));
        assert_eq!(served.lead_sectors, Some((0.0, -7.0)));
        let injected = bfq.group("/5").unwrap();
        assert_eq!((injected.in_service_percent, injected.issued), (0.0, 30));
        let bond = Bond {
            group: "/2".to_owned(),
            partner: "/5".to_owned(),
            waker_samples: 400,
            woken_samples: 0,
            set: 2,
        };
        assert_eq!(bfq.bonds, [bond]);
        assert_eq!((bfq.injected[0].group.as_str(), bfq.injected[0].as_waker), ("/5", 29));
        assert_eq!((bfq.groups.len(), bfq.injected.len()), (2, 1));
    }

    /// Of the 40 groups in whose turns requests of the first were issued, the last was its partner; two have a limit.
    #[test]
    fn of_many_turns_the_largest_are_named_and_those_of_partners() {
        let layout = Layout::MANY;
        let mut memory = vec![0; layout.disks * layout.disk_of_turns()];
        let mut put =
            |at: usize, word: u64| memory[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        for turn in 1..=40 {
            put(layout.injected() + turn * layout.members * 32 + 16, 100 - turn as u64);
        }
        put(layout.injected() + 40 * layout.members * 32, 1);
        for turn in [1, 35] {
            put(layout.turns(turn) + 4 * 8, 3);
        }
        let bfq = BfqCounted::parse(memory).unwrap().disk(0, name);
        let all = &bfq.injected;
        assert_eq!(all.len(), 1 + MOST_PARTS + 1);
        assert_eq!((all[0].as_waker, all[0].other, all[0].by_limit), (1, 60, Some(0)));
        assert_eq!((all[1].other, all[1].by_limit), (99, Some(99)));
        let rest = all.last().unwrap();
        assert_eq!(rest.in_service, OTHER_GROUPS);
        assert_eq!((rest.other, rest.by_limit), ((61..=67).sum(), Some(65)));
    }

    #[test]
    fn memory_of_another_size_is_none() {
        assert_eq!(BfqCounted::parse(vec![0; Layout::FEW.disk_of_turns()]), None);
    }
}
