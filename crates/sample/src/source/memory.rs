//! `memory`: memory of each group, reclaim and refaults, and which of its limits were reached
//! (Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files";
//! Documentation/admin-guide/cgroup-v1/memory.rst).
//!
//! Of many groups everything except `memory.stat` comes from an eBPF program if the kernel allows it, in
//! every round; the numbers are the same.

use std::path::PathBuf;

use assay_bpf::group_iterator::Counters;
use assay_kernel::anonymous_memory::page_size;
use assay_kernel::counters::{keyed, number};
use assay_kernel::{RereadFile, Root};

use super::walk::{MIN_GROUPS, Walk};
use super::{Depth, Rows, Source, boxed, names};
use crate::registry::{Inclusion, SourceInfo};
use crate::target::{MemoryFiles, Targets};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "memory",
    subject: "group; in a study only where it limits memory or promises something about it",
    what: "memory of each group, reclaim, and limits reached",
    files: "v1 `memory.usage_in_bytes`, `memory.stat`; v2 `memory.current`, `memory.stat`, \
            `memory.events`",
    pace: "every round; `memory.stat` every fifth, at most ten groups per round; not of groups without memory",
    inclusion: Inclusion::Always,
    since: "",
    cost: "1 us a group; of 16 groups or more one system call for all, 0.02 to 0.15 us a group; 7 us with `memory.stat`",
    open: |root, targets| boxed(Memory::open(root, targets)),
};

/// The long files of a group are read in every fifth round. The current size is a single atomic counter,
/// while `memory.stat` makes the kernel flush the statistics of the whole subtree (7 us a group when idle).
const LONG_EVERY: u64 = 5;

/// At most this many groups are due in one round, so that with many groups each is read less often, and no
/// round takes longer than another. The first and the last round read all.
const LONG_AT_ONCE: u64 = 10;

const COLUMNS: [&str; WIDTH] = [
    "current_bytes",
    "anon_bytes",
    "file_bytes",
    "refault_anon_pages",
    "refault_file_pages",
    "scanned_pages",
    "low_events",
    "high_events",
    "max_events",
    "oom_events",
    "oom_kills",
    "dirty_bytes",
    "writeback_bytes",
    "peak_bytes",
    "anon_huge_bytes",
    "faults",
    "major_faults",
    "swap_bytes",
];

const WIDTH: usize = 18;

/// Files that count how often limits were reached; they differ between versions.
enum LimitCounters {
    /// cgroup v2: all of them in `memory.events`.
    Events(RereadFile),
    /// cgroup v1: how often usage hit the limit, and, since 4.13, processes killed.
    Failures { limit: RereadFile, killed: Option<RereadFile> },
}

/// The open files of one group.
struct Files {
    current: RereadFile,
    stat: RereadFile,
    met: LimitCounters,
    /// The peak size of the group; on cgroup v2 since 5.19.
    peak: Option<RereadFile>,
    /// cgroup v2 with swap; v1 has the amount in `memory.stat`.
    swap: Option<RereadFile>,
}

/// Memory of all groups.
pub(super) struct Memory {
    groups: Vec<(String, Files)>,
    /// The iterator; the reason why there is none, if groups are many.
    walk: Result<Walk, Option<String>>,
    /// Values by group, from the iterator.
    counts: Vec<[Option<u64>; WIDTH]>,
    /// Values of `memory.stat` of groups that have held no memory since it was read.
    unchanged: Vec<Option<[Option<u64>; WIDTH]>>,
    columns: Vec<String>,
    buffer: Vec<u8>,
    rounds: u64,
}

impl Memory {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let mut groups = Vec::new();
        for group in &targets.groups {
            let files = group.memory.as_ref().map_err(Clone::clone)?;
            groups.push((group.name.clone(), open(root, files)?));
        }
        if groups.is_empty() {
            return Err("no group is sampled".to_owned());
        }
        let walk = match groups.len() < MIN_GROUPS {
            true => Err(None),
            false => walk(root, targets, &groups).map_err(Some),
        };
        let counts = vec![[None; WIDTH]; groups.len()];
        let unchanged = vec![None; groups.len()];
        let (columns, buffer) = (names(&COLUMNS), Vec::new());
        Ok(Self { groups, walk, counts, unchanged, columns, buffer, rounds: 0 })
    }

    fn by_walk(&mut self, rows: &mut Rows, depth: Depth) -> Result<(), Option<String>> {
        let every = long_every(self.groups.len());
        let Self { groups, walk, counts, unchanged, buffer, rounds, .. } = self;
        let walk = walk.as_mut().map_err(Option::take)?;
        counts.fill([None; WIDTH]);
        let now = rows.now();
        walk.read(|index, numbers| counts[index] = columns_of(numbers, groups[index].1.is_v2()))?;
        for (index, values) in counts.iter_mut().enumerate() {
            let is_empty = values[CURRENT] == Some(0);
            // Between two rounds it may have held some; the last one asks once more, but for groups that never held any.
            let is_untouched = is_empty && values[PEAK] == Some(0);
            let is_unchanged = is_untouched || is_empty && depth != Depth::Full;
            let known = unchanged[index].filter(|_| is_unchanged);
            unchanged[index] = known;
            let mut time_ns = now;
            if depth == Depth::Full || is_due(index, *rounds, every) {
                match known {
                    Some(known) => *values = joined(values, &known),
                    None => {
                        let mut stat = [None; WIDTH];
                        groups[index].1.read_stat(&mut stat, buffer);
                        *values = joined(values, &stat);
                        unchanged[index] =
                            Some(stat).filter(|stat| is_empty && holds_nothing(stat));
                        time_ns = rows.now();
                    }
                }
            }
            rows.add_at(time_ns, index, values);
        }
        Ok(())
    }
}

/// Columns of amounts in `memory.stat`. As long as a group holds no memory they stay 0, and its counters stay where they
/// are: every page that a process faults in, and its page tables, are charged to its group.
const AMOUNTS: [usize; 6] = [1, 2, 11, 12, 14, 17];

/// The columns of the memory that the group holds, and of the most that it has held.
const CURRENT: usize = 0;
const PEAK: usize = 13;

fn holds_nothing(stat: &[Option<u64>; WIDTH]) -> bool {
    stat[1] == Some(0)
        && AMOUNTS.iter().all(|column| stat[*column].is_none_or(|amount| amount == 0))
}

/// The values of both, which have none in common.
fn joined(one: &[Option<u64>; WIDTH], other: &[Option<u64>; WIDTH]) -> [Option<u64>; WIDTH] {
    std::array::from_fn(|column| one[column].or(other[column]))
}

/// Number of rounds until every group's long files have been read once.
const fn long_every(groups: usize) -> u64 {
    let rounds = (groups as u64).div_ceil(LONG_AT_ONCE);
    if rounds > LONG_EVERY { rounds } else { LONG_EVERY }
}

const fn is_due(index: usize, round: u64, every: u64) -> bool {
    (index as u64 + round).is_multiple_of(every)
}

/// The iterator's numbers as columns. v1 has a counter of failures where v2 has events.
fn columns_of(numbers: &[u64], is_v2: bool) -> [Option<u64>; WIDTH] {
    let mut values = [None; WIDTH];
    let &[current, peak, failures, low, high, max, oom, kills] = numbers else { return values };
    let bytes = |pages: u64| pages.checked_mul(page_size() as u64);
    (values[0], values[13]) = (bytes(current), bytes(peak));
    if is_v2 {
        values[6..11].copy_from_slice(&[low, high, max, oom, kills].map(Some));
    } else {
        (values[8], values[10]) = (Some(failures), Some(kills));
    }
    values
}

/// An iterator that yields the values of the groups' own files.
fn walk(root: &Root, targets: &Targets, groups: &[(String, Files)]) -> Result<Walk, String> {
    let directories: Vec<PathBuf> = targets
        .groups
        .iter()
        .filter_map(|group| Some(group.memory.as_ref().ok()?.directory.clone()))
        .collect();
    let mut walk = Walk::open(root, &directories, Counters::Memory)?;
    let mut buffer = Vec::new();
    let page = page_size() as u64;
    walk.verify(0, |index| {
        Some(number(groups.get(index)?.1.current.read_record(&mut buffer).ok()?)? / page)
    })?;
    walk.verify(2, |index| match &groups.get(index)?.1.met {
        LimitCounters::Failures { limit, .. } => number(limit.read_record(&mut buffer).ok()?),
        LimitCounters::Events(_) => None,
    })?;
    walk.verify(7, |index| groups.get(index)?.1.met.kills(&mut buffer))?;
    Ok(walk)
}

fn open(root: &Root, files: &MemoryFiles) -> Result<Files, String> {
    let keep = |name: &str| {
        root.open_reread(files.directory.join(name)).map_err(|error| error.to_string())
    };
    let current = keep(if files.is_v2 { "memory.current" } else { "memory.usage_in_bytes" })?;
    let peak = keep(if files.is_v2 { "memory.peak" } else { "memory.max_usage_in_bytes" }).ok();
    let swap = if files.is_v2 { keep("memory.swap.current").ok() } else { None };
    let met = match files.is_v2 {
        true => LimitCounters::Events(keep("memory.events")?),
        false => LimitCounters::Failures {
            limit: keep("memory.failcnt")?,
            killed: keep("memory.oom_control").ok(),
        },
    };
    Ok(Files { current, stat: keep("memory.stat")?, met, peak, swap })
}

impl Files {
    const fn is_v2(&self) -> bool {
        matches!(self.met, LimitCounters::Events(_))
    }

    fn read(&self, long: bool, buffer: &mut Vec<u8>) -> [Option<u64>; WIDTH] {
        let mut values = [None; WIDTH];
        values[0] = self.current.read_record(buffer).ok().and_then(number);
        if !long {
            return values;
        }
        self.met.read(&mut values[6..11], buffer);
        values[13] = self.peak.as_ref().and_then(|file| number(file.read_record(buffer).ok()?));
        self.read_stat(&mut values, buffer);
        values
    }

    /// Values of `memory.stat`, and how much is swapped out.
    fn read_stat(&self, values: &mut [Option<u64>; WIDTH], buffer: &mut Vec<u8>) {
        if let Ok(text) = self.stat.read_record(buffer) {
            values[1..6].copy_from_slice(&stat(text));
            let [huge, dirty, writeback, faults, major, swap] = more(text);
            values[11..13].copy_from_slice(&[dirty, writeback]);
            values[14..].copy_from_slice(&[huge, faults, major, swap]);
        }
        if let Some(file) = &self.swap {
            values[17] = file.read_record(buffer).ok().and_then(number);
        }
    }
}

impl LimitCounters {
    /// Number of killed processes.
    fn kills(&self, buffer: &mut Vec<u8>) -> Option<u64> {
        let file = match self {
            Self::Events(file) => file,
            Self::Failures { killed, .. } => killed.as_ref()?,
        };
        keyed(file.read_record(buffer).ok()?, "oom_kill")
    }

    /// Reads `low`, `high`, `max`, `oom`, `oom_kill`. The counter of v1 corresponds to `max` of v2: both grow
    /// when charging a page hits the limit (try_charge_memcg, mm/memcontrol.c).
    fn read(&self, values: &mut [Option<u64>], buffer: &mut Vec<u8>) {
        match self {
            Self::Events(file) => {
                let Ok(text) = file.read_record(buffer) else { return };
                let keys = ["low", "high", "max", "oom", "oom_kill"];
                for (value, key) in values.iter_mut().zip(keys) {
                    *value = keyed(text, key);
                }
            }
            Self::Failures { limit, .. } => {
                values[2] = limit.read_record(buffer).ok().and_then(number);
                values[4] = self.kills(buffer);
            }
        }
    }
}

/// Anonymous memory, page cache, refaults of both, pages scanned. On v1 the hierarchical sums have the prefix
/// `total_` and other names; refaults were not distinguished before 5.9 on either version.
fn stat(text: &[u8]) -> [Option<u64>; 5] {
    let first = |keys: &[&str]| keys.iter().find_map(|key| keyed(text, key));
    [
        first(&["total_rss", "anon"]),
        first(&["total_cache", "file"]),
        first(&["total_workingset_refault_anon", "workingset_refault_anon"]),
        first(&["total_workingset_refault_file", "workingset_refault_file", "workingset_refault"]),
        first(&["pgscan"]),
    ]
}

/// Huge pages, dirty memory and memory under writeback, faults, and v1's swap. Without the prefix, v1 counts
/// only faults of the group itself.
fn more(text: &[u8]) -> [Option<u64>; 6] {
    let first = |keys: &[&str]| keys.iter().find_map(|key| keyed(text, key));
    [
        first(&["total_rss_huge", "anon_thp"]),
        first(&["total_dirty", "file_dirty"]),
        first(&["total_writeback", "file_writeback"]),
        first(&["total_pgfault", "pgfault"]),
        first(&["total_pgmajfault", "pgmajfault"]),
        first(&["total_swap"]),
    ]
}

impl Source for Memory {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.groups.iter().map(|(name, _)| name.clone()).collect()
    }

    fn files(&self) -> usize {
        if self.walk.is_ok() { 1 } else { self.groups.len() }
    }

    fn reasons(&self) -> Vec<(String, String)> {
        super::walk::reason("memory", self.walk.as_ref().err())
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if self.walk.is_err() && depth == Depth::Essential {
            return;
        }
        // Skipped rounds do not count.
        self.rounds += 1;
        if self.walk.is_ok() {
            match self.by_walk(rows, depth) {
                Ok(()) => return,
                Err(why) => self.walk = Err(why),
            }
        }
        let every = long_every(self.groups.len());
        for (index, (_, files)) in self.groups.iter().enumerate() {
            let long = depth == Depth::Full || is_due(index, self.rounds, every);
            rows.add(index, &files.read(long, &mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, WIDTH, holds_nothing, joined, more, stat};

    #[test]
    fn only_a_group_without_any_amount_holds_nothing() {
        let mut empty = [None; WIDTH];
        assert!(!holds_nothing(&empty), "not read");
        empty[1] = Some(0);
        empty[3] = Some(7);
        assert!(holds_nothing(&empty), "refaults are no amount");
        for (column, name) in COLUMNS.iter().enumerate().skip(1) {
            let is_amount = name.ends_with("_bytes") && *name != "peak_bytes";
            let mut stat = empty;
            stat[column] = Some(4096);
            assert_eq!(!holds_nothing(&stat), is_amount, "{name}");
        }
        let mut current = [None; WIDTH];
        current[0] = Some(0);
        assert_eq!(joined(&current, &empty)[..4], [Some(0), Some(0), None, Some(7)]);
    }

    #[test]
    fn dirty_pages_include_the_subtree_on_both_versions() {
        assert_eq!(more(b"file_dirty 1\nfile_writeback 2\n")[1..3], [Some(1), Some(2)]);
        assert_eq!(more(b"dirty 9\nwriteback 9\ntotal_dirty 1\n")[1..3], [Some(1), None]);
    }

    #[test]
    fn both_versions_give_the_same_columns() {
        let v2 =
            b"anon 1\nfile 2\nworkingset_refault_anon 3\nworkingset_refault_file 4\npgscan 5\n";
        assert_eq!(stat(v2), [Some(1), Some(2), Some(3), Some(4), Some(5)]);
        let v1 = b"cache 9\nrss 9\nworkingset_refault_anon 9\ntotal_cache 2\ntotal_rss 1\n\
                   total_workingset_refault_anon 3\ntotal_workingset_refault_file 4\n";
        assert_eq!(stat(v1), [Some(1), Some(2), Some(3), Some(4), None]);
    }

    #[test]
    fn huge_pages_and_faults_are_read_from_both_versions() {
        let v2 = b"file_dirty 2\nfile_writeback 3\nanon_thp 1\npgfault 4\npgmajfault 5\n";
        assert_eq!(more(v2), [Some(1), Some(2), Some(3), Some(4), Some(5), None]);
        let v1 = b"rss_huge 9\npgfault 9\ntotal_rss_huge 1\ntotal_dirty 2\ntotal_writeback 3\n\
                   total_pgfault 4\ntotal_pgmajfault 5\ntotal_swap 6\n";
        assert_eq!(more(v1), [Some(1), Some(2), Some(3), Some(4), Some(5), Some(6)]);
    }
}
