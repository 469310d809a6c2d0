//! `memory`: memory of each group, reclaim and refaults, and which of its limits were reached
//! (Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files";
//! Documentation/admin-guide/cgroup-v1/memory.rst).

use assay_sys::kernel::counters::{keyed, number};
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, keep, names, of_groups};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::{GroupTarget, MemoryFiles, Targets};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "memory",
    inclusion: Inclusion::Always,
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
    table: TableInfo,
    groups: Vec<Files>,
    buffer: Vec<u8>,
    rounds: u64,
}

impl Memory {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let table = of_groups(INFO.name, names(&COLUMNS), targets)?;
        let files = |group: &GroupTarget| open(root, group.memory.as_ref().map_err(Clone::clone)?);
        let groups = targets.groups.iter().map(files).collect::<Result<_, String>>()?;
        Ok(Self { table, groups, buffer: Vec::new(), rounds: 0 })
    }
}

/// Number of rounds until every group's long files have been read once.
const fn long_every(groups: usize) -> u64 {
    let rounds = (groups as u64).div_ceil(LONG_AT_ONCE);
    if rounds > LONG_EVERY { rounds } else { LONG_EVERY }
}

const fn is_due(index: usize, round: u64, every: u64) -> bool {
    (index as u64 + round).is_multiple_of(every)
}

fn open(root: &Root, files: &MemoryFiles) -> Result<Files, String> {
    let keep = |name: &str| keep(root, files.directory.join(name));
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
            Self::Failures { limit, killed } => {
                values[2] = limit.read_record(buffer).ok().and_then(number);
                let killed = killed.as_ref().and_then(|file| file.read_record(buffer).ok());
                values[4] = killed.and_then(|text| keyed(text, "oom_kill"));
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
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        // Skipped rounds do not count.
        self.rounds += 1;
        let every = long_every(self.groups.len());
        for (index, files) in self.groups.iter().enumerate() {
            let long = depth == Depth::Full || is_due(index, self.rounds, every);
            rows.add(index, &files.read(long, &mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{more, stat};

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
