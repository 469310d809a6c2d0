//! The children of one parent, which compete for a disk.
//!
//! A cell counts for a group if it had a request in the scheduler or the device all the time. Divided are bytes. BFQ
//! serves a group for up to an eighth of a second, so cells are longer than those of CPUs, and so is what its order of
//! turns may decide.
//!
//! Nothing is called broken here. A request in the device counts as wanting, so that a group that keeps few requests in
//! flight is limited by its own depth; and BFQ charges groups whose requests are scattered by time, so that shares of bytes
//! are not what the weights divide. Neither is seen from outside.

use assay_audit::{DiskSetting, DividedBy, Reading, WeightSetting};
use assay_judge::verdict::Verdict;
use serde::Serialize;

use crate::fairness::answer::{Basis, Changes, LevelAnswer, Row};
use crate::fairness::estimate::{Estimate, is_enough};
use crate::fairness::levels::{is_within, parent};
use crate::fairness::series::{Claim, Series, add_cell};

/// Words of `struct use` of `programs/contended_disk.bpf.c`, of which the first has a number of requests in so many bits and above
/// it a time in so many nanoseconds.
const USE: usize = 3;
const COUNT_BITS: u32 = 16;
const UNIT_NS: u64 = 1024;

/// The longest turn of BFQ (`bfq_timeout`, block/bfq-iosched.c), in seconds.
const TURN_S: f64 = 0.125;

/// Why a share outside the margin proves nothing.
const NO_PROOF: &str = "its share is outside the margin, but how many requests it keeps in flight and of what kind they are is not known: `assay run` with --evidence, or `assay blame`, tells more";

/// A group on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Use {
    since_ns: u64,
    bytes: u64,
}

/// All groups on all watched disks at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiskLook {
    at_ns: u64,
    slots: usize,
    uses: Vec<Use>,
}

impl DiskLook {
    /// Parses the memory of the programs for so many groups per disk, the first slot of which is for none of them.
    #[must_use]
    pub fn parse(at_ns: u64, slots: usize, words: &[u64]) -> Self {
        let uses = words.chunks_exact(USE).map(|words| Use {
            since_ns: words.first().map_or(0, |there| (there >> COUNT_BITS) * UNIT_NS),
            bytes: words.get(1).copied().unwrap_or(0),
        });
        Self { at_ns, slots, uses: uses.collect() }
    }

    fn of(&self, disk: usize, slot: usize) -> Use {
        self.uses.get(disk * self.slots + slot).copied().unwrap_or_default()
    }
}

/// The levels of one disk.
#[derive(Debug, Clone)]
pub struct DiskLevels {
    disk: DiskSetting,
    number: usize,
    levels: Vec<DiskLevel>,
    spans: usize,
}

#[derive(Debug, Clone)]
struct DiskLevel {
    parent: String,
    members: Vec<DiskMember>,
    contended_s: f64,
    bytes: f64,
}

#[derive(Debug, Clone)]
struct DiskMember {
    setting: WeightSetting,
    /// Its slot and those of the groups below it.
    slots: Vec<usize>,
    series: Series,
    bytes: f64,
}

/// What was configured for the groups of a disk, and what they got.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiskDivision {
    /// The kernel's name of the disk.
    pub disk: String,
    /// What divides it.
    pub by: DividedBy,
    /// The file that says so.
    pub reading: Reading,
    /// The levels of which at least two children had requests.
    pub levels: Vec<LevelAnswer>,
}

impl DiskLevels {
    /// The levels of a disk with this number; the slots of the groups begin with 1.
    #[must_use]
    pub fn new(disk: &DiskSetting, number: usize, groups: &[String]) -> Self {
        let mut levels: Vec<DiskLevel> = Vec::new();
        for setting in &disk.weights {
            let above = parent(&setting.group);
            let slots = groups.iter().zip(1..).filter(|(path, _)| is_within(path, &setting.group));
            let member = DiskMember {
                setting: setting.clone(),
                slots: slots.map(|(_, slot)| slot).collect(),
                series: Series::default(),
                bytes: 0.0,
            };
            match levels.iter_mut().find(|level| level.parent == above) {
                Some(level) => level.members.push(member),
                None => levels.push(DiskLevel {
                    parent: above.to_owned(),
                    members: vec![member],
                    contended_s: 0.0,
                    bytes: 0.0,
                }),
            }
        }
        levels.retain(|level| level.members.len() > 1);
        Self { disk: disk.clone(), number, levels, spans: 0 }
    }

    /// Adds the time between two looks.
    pub fn add(&mut self, before: &DiskLook, after: &DiskLook) {
        let seconds = after.at_ns.saturating_sub(before.at_ns) as f64 * 1e-9;
        let span = self.spans;
        self.spans += 1;
        for level in &mut self.levels {
            level.add(self.number, span, seconds, before, after);
        }
    }

    /// The levels of which at least two children had requests.
    fn shown(&self) -> impl Iterator<Item = &DiskLevel> {
        let used =
            |level: &&DiskLevel| level.members.iter().filter(|one| one.bytes > 0.0).count() > 1;
        self.levels.iter().filter(used)
    }

    /// How many groups are compared on this disk.
    #[must_use]
    pub fn compared(&self) -> usize {
        let members = self.shown().flat_map(|level| &level.members);
        members.filter(|one| is_enough(&one.series)).count()
    }

    /// Judges them; `compared` groups are compared on all disks.
    #[must_use]
    pub fn judge(&self, compared: usize, changes: &Changes) -> DiskDivision {
        let answer = |level: &DiskLevel| level.answer(self.disk.by, compared, changes);
        DiskDivision {
            disk: self.disk.name.clone(),
            by: self.disk.by,
            reading: self.disk.reading.clone(),
            levels: self.shown().map(answer).collect(),
        }
    }
}

impl DiskLevel {
    fn add(&mut self, disk: usize, span: usize, seconds: f64, before: &DiskLook, after: &DiskLook) {
        let mut claims = Vec::new();
        for (place, member) in self.members.iter_mut().enumerate() {
            let got = |slot: &usize| {
                after.of(disk, *slot).bytes.saturating_sub(before.of(disk, *slot).bytes)
            };
            let got = member.slots.iter().map(got).sum::<u64>() as f64;
            member.bytes += got;
            let was_there = |slot: &usize| {
                let since = after.of(disk, *slot).since_ns;
                since != 0 && since <= before.at_ns
            };
            if member.setting.weight > 0.0 && member.slots.iter().any(was_there) {
                claims.push(Claim { member: place, got, weight: member.setting.weight });
            }
        }
        let bytes = claims.iter().map(|claim| claim.got).sum::<f64>();
        if add_cell(&mut self.members, |one| &mut one.series, (span, seconds), &[claims]) {
            self.contended_s += seconds;
            self.bytes += bytes;
        }
    }

    fn answer(&self, by: DividedBy, compared: usize, changes: &Changes) -> LevelAnswer {
        let turn = TURN_S * self.bytes / self.contended_s.max(f64::MIN_POSITIVE);
        let used = self.members.iter().filter(|one| one.bytes > 0.0);
        let rows = used.map(|one| row(one, by, compared, turn, self.contended_s)).collect();
        let members = self.members.iter().map(|one| one.setting.group.as_str());
        LevelAnswer::new(&self.parent, self.contended_s, 0.0, rows).voided(members, changes)
    }
}

fn row(member: &DiskMember, by: DividedBy, compared: usize, turn: f64, contended_s: f64) -> Row {
    let estimate = Estimate::new(&member.series, compared, turn);
    let mut notes = Vec::new();
    let mut verdict = estimate.as_ref().map_or(Verdict::Void, Estimate::verdict);
    if by == DividedBy::IoCost {
        verdict = Verdict::Void;
        notes.push(
            "io.cost divides the time that requests are expected to take, not bytes".to_owned(),
        );
    } else if estimate.is_none() {
        notes.push(if contended_s <= 0.0 {
            "nothing contended: no two groups had requests all the time of any cell".to_owned()
        } else {
            let seconds = member.series.seconds;
            format!("it had requests all the time, beside a sibling, for {seconds:.1} s only")
        });
    } else if verdict == Verdict::Broken {
        verdict = Verdict::Undecided;
        notes.push(NO_PROOF.to_owned());
    }
    let estimate = estimate.map(|one| (Basis::Disk, one));
    Row::new(&member.setting, verdict, estimate, (member.series.seconds, member.bytes), notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(by: DividedBy) -> DiskSetting {
        let setting = |group: &str, weight: f64| WeightSetting {
            group: group.to_owned(),
            owner: None,
            reading: Reading { file: format!("{group}/io.bfq.weight"), value: weight.to_string() },
            weight,
        };
        DiskSetting {
            name: "sda".to_owned(),
            device: "8:0".to_owned(),
            by,
            reading: Reading { file: "scheduler".to_owned(), value: "[bfq]".to_owned() },
            weights: vec![setting("/a", 100.0), setting("/b", 300.0)],
        }
    }

    /// 30 cells of a second in which the groups got these bytes; whether both had requests all the time.
    fn watch(by: DividedBy, bytes: [u64; 2], both: bool) -> LevelAnswer {
        let groups = ["/a", "/b", "/b/c"].map(str::to_owned);
        let mut levels = DiskLevels::new(&disk(by), 0, &groups);
        let look = |second: u64| {
            let there = |since_ns: u64| (since_ns / UNIT_NS + 1) << COUNT_BITS | 1;
            let since = if both { 0 } else { second * 1_000_000_000 };
            // The slots: none, /a, /b, and /b/c, which does what /b does.
            let words = [
                [0; 3],
                [there(0), second * bytes[0], 0],
                [0; 3],
                [there(since), second * bytes[1], 0],
            ];
            DiskLook::parse(second * 1_000_000_000, 4, &words.concat())
        };
        for second in 1..31 {
            levels.add(&look(second), &look(second + 1));
        }
        levels.judge(levels.compared(), &Changes::new()).levels.remove(0)
    }

    #[test]
    fn bytes_are_compared_with_weights_while_both_have_requests() {
        let kept = watch(DividedBy::Bfq, [1 << 20, 3 << 20], true);
        assert_eq!((kept.verdict, kept.contended_s), (Verdict::Kept, 30.0));
        let alone = watch(DividedBy::Bfq, [1 << 20, 1 << 20], false);
        assert_eq!((alone.verdict, alone.contended_s), (Verdict::Void, 0.0));
    }

    #[test]
    fn a_share_of_a_disk_is_never_called_broken() {
        let found = watch(DividedBy::Bfq, [1 << 20, 1 << 20], true);
        assert_eq!(found.verdict, Verdict::Undecided);
        for row in &found.rows {
            assert_eq!((row.verdict, row.basis), (Verdict::Undecided, Some(Basis::Disk)));
            assert!(row.notes[0].contains("in flight"), "{row:?}");
        }
        let kept = watch(DividedBy::Bfq, [1 << 20, 3 << 20], true);
        assert!(kept.rows.iter().all(|row| row.notes.is_empty()), "{kept:?}");
    }

    #[test]
    fn cost_is_not_bytes() {
        let rows = watch(DividedBy::IoCost, [1 << 20, 1 << 20], true).rows;
        assert!(rows.iter().all(|row| row.verdict == Verdict::Void && row.got.is_some()));
        assert!(rows[0].notes[0].contains("not bytes"), "{rows:?}");
    }
}
