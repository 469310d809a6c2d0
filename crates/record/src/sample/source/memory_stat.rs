//! `memory_stat`: what the memory of each group is, all of its `memory.stat` that both versions document or that
//! reclaim moves: kinds of memory, the lists of reclaim, faults, refaults and scanned pages
//! (Documentation/admin-guide/cgroup-v2.rst, "memory.stat"; cgroup-v1/memory.rst, section 5.2).

use assay_sys::kernel::counters::keyed;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, SECOND, Source, boxed, keep, names, of_groups};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::{GroupTarget, Targets};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "memory_stat",
    inclusion: Inclusion::OnRequest,
    open: |root, targets| boxed(MemoryStat::open(root, targets)),
};

/// Columns with the key of v2, and that of v1, which has fewer and counts descendants only with `total_`.
const KEYS: [(&str, &str, &str); 26] = [
    ("anon_bytes", "anon", "total_rss"),
    ("file_bytes", "file", "total_cache"),
    ("kernel_stack_bytes", "kernel_stack", ""),
    ("slab_bytes", "slab", ""),
    ("sock_bytes", "sock", ""),
    ("shmem_bytes", "shmem", "total_shmem"),
    ("file_mapped_bytes", "file_mapped", "total_mapped_file"),
    ("file_dirty_bytes", "file_dirty", "total_dirty"),
    ("file_writeback_bytes", "file_writeback", "total_writeback"),
    ("inactive_anon_bytes", "inactive_anon", "total_inactive_anon"),
    ("active_anon_bytes", "active_anon", "total_active_anon"),
    ("inactive_file_bytes", "inactive_file", "total_inactive_file"),
    ("active_file_bytes", "active_file", "total_active_file"),
    ("unevictable_bytes", "unevictable", "total_unevictable"),
    ("pgfault", "pgfault", "total_pgfault"),
    ("pgmajfault", "pgmajfault", "total_pgmajfault"),
    ("workingset_refault_file", "workingset_refault_file", "total_workingset_refault_file"),
    ("workingset_activate_file", "workingset_activate_file", "total_workingset_activate_file"),
    ("workingset_nodereclaim", "workingset_nodereclaim", "total_workingset_nodereclaim"),
    ("pgrefill", "pgrefill", ""),
    ("pgscan", "pgscan", ""),
    ("pgsteal", "pgsteal", ""),
    ("pgactivate", "pgactivate", ""),
    ("pgdeactivate", "pgdeactivate", ""),
    ("pglazyfree", "pglazyfree", ""),
    ("pglazyfreed", "pglazyfreed", ""),
];

/// The names that these had before 5.9, when refaults were not distinguished.
const OLDER: [(&str, &str); 2] = [
    ("workingset_refault_file", "workingset_refault"),
    ("workingset_activate_file", "workingset_activate"),
];

/// `memory.stat` of all groups.
pub(super) struct MemoryStat {
    table: TableInfo,
    groups: Vec<(RereadFile, bool)>,
    buffer: Vec<u8>,
}

impl MemoryStat {
    fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let open = |group: &GroupTarget| {
            let memory = group.memory.as_ref().map_err(Clone::clone)?;
            Ok((keep(root, memory.directory.join("memory.stat"))?, memory.is_v2))
        };
        let columns = names(&KEYS.map(|(column, ..)| column));
        let table = TableInfo { period: SECOND, ..of_groups(INFO.name, columns, targets)? };
        let groups = targets.groups.iter().map(open).collect::<Result<_, String>>()?;
        Ok(Self { table, groups, buffer: Vec::new() })
    }
}

fn values(text: &[u8], is_v2: bool) -> [Option<u64>; KEYS.len()] {
    let older = |column: &str| OLDER.iter().find(|(known, _)| *known == column);
    KEYS.map(|(column, v2, v1)| match (is_v2, v1) {
        (true, _) => keyed(text, v2).or_else(|| keyed(text, older(column)?.1)),
        (false, "") => None,
        (false, v1) => keyed(text, v1),
    })
}

impl Source for MemoryStat {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        for (index, (file, is_v2)) in self.groups.iter().enumerate() {
            let text = file.read_record(&mut self.buffer).unwrap_or_default();
            rows.add(index, &values(text, *is_v2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, is_v2: bool, column: &str) -> Option<u64> {
        let at = KEYS.iter().position(|(known, ..)| *known == column).unwrap();
        values(text.as_bytes(), is_v2)[at]
    }

    #[test]
    fn lists_and_reclaim_are_read_from_both_versions() {
        let v2 = "anon 1\nslab_reclaimable 8\nslab 9\nactive_file 3\npgsteal 4\npglazyfreed 5\n";
        assert_eq!(value(v2, true, "slab_bytes"), Some(9));
        assert_eq!(value(v2, true, "active_file_bytes"), Some(3));
        assert_eq!(value(v2, true, "pglazyfreed"), Some(5));
        assert_eq!(value(v2, true, "shmem_bytes"), None);
        let v1 = "active_file 1\ntotal_active_file 7\npgsteal 4\n";
        assert_eq!(value(v1, false, "active_file_bytes"), Some(7), "with its descendants");
        assert_eq!(value(v1, false, "pgsteal"), None);
        assert_eq!(value("workingset_refault 6\n", true, "workingset_refault_file"), Some(6));
    }
}
