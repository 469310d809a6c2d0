//! `vmstat` and `meminfo`: activity of memory management and memory use of the whole host, from /proc/vmstat
//! and /proc/meminfo (Documentation/filesystems/proc.rst, Documentation/admin-guide/mm/transhuge.rst).
//!
//! These are the sources of `sar -B`, `sar -W` and `sar -r` (sysstat). Since 5.8 the kernel counts reclaimed
//! pages twice, by origin of the reclaim (`pgsteal_kswapd`, `_direct`, ..) and by kind of page
//! (`pgsteal_anon`, `_file`): sysstat up to 12.7.8 adds all of them and shows double.

use assay_sys::kernel::Root;

use super::keyed_file::{Key, KeyedFile, count, kib, reasons};
use super::{Depth, Rows, Source, boxed, names};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};

pub(super) const VMSTAT_INFO: SourceInfo = SourceInfo {
    name: "vmstat",
    inclusion: Inclusion::Always,
    open: |root, _| boxed(HostMemory::open(root, "vmstat", &VMSTAT)),
};

pub(super) const MEMINFO_INFO: SourceInfo = SourceInfo {
    name: "meminfo",
    inclusion: Inclusion::Always,
    open: |root, _| boxed(HostMemory::open(root, "meminfo", &MEMINFO)),
};

/// Columns have the kernel's own names; `pgpgin` and `pgpgout` are KiB, the others events or pages.
pub(crate) const VMSTAT: [Key; 52] = [
    count("pgpgin", "pgpgin"),
    count("pgpgout", "pgpgout"),
    count("pswpin", "pswpin"),
    count("pswpout", "pswpout"),
    count("pgfault", "pgfault"),
    count("pgmajfault", "pgmajfault"),
    count("pgfree", "pgfree"),
    count("pgactivate", "pgactivate"),
    count("pgdeactivate", "pgdeactivate"),
    count("pgscan_kswapd", "pgscan_kswapd"),
    count("pgscan_direct", "pgscan_direct"),
    count("pgscan_khugepaged", "pgscan_khugepaged"),
    count("pgscan_proactive", "pgscan_proactive"),
    count("pgscan_anon", "pgscan_anon"),
    count("pgscan_file", "pgscan_file"),
    count("pgsteal_kswapd", "pgsteal_kswapd"),
    count("pgsteal_direct", "pgsteal_direct"),
    count("pgsteal_khugepaged", "pgsteal_khugepaged"),
    count("pgsteal_proactive", "pgsteal_proactive"),
    count("pgsteal_anon", "pgsteal_anon"),
    count("pgsteal_file", "pgsteal_file"),
    count("allocstall_normal", "allocstall_normal"),
    count("allocstall_movable", "allocstall_movable"),
    count("workingset_refault_anon", "workingset_refault_anon"),
    count("workingset_refault_file", "workingset_refault_file"),
    count("nr_dirtied", "nr_dirtied"),
    count("nr_written", "nr_written"),
    count("oom_kill", "oom_kill"),
    count("drop_pagecache", "drop_pagecache"),
    count("compact_stall", "compact_stall"),
    count("compact_fail", "compact_fail"),
    count("compact_success", "compact_success"),
    count("compact_migrate_scanned", "compact_migrate_scanned"),
    count("pgmigrate_success", "pgmigrate_success"),
    count("pgmigrate_fail", "pgmigrate_fail"),
    count("thp_fault_alloc", "thp_fault_alloc"),
    count("thp_fault_fallback", "thp_fault_fallback"),
    count("thp_fault_fallback_charge", "thp_fault_fallback_charge"),
    count("thp_collapse_alloc", "thp_collapse_alloc"),
    count("thp_collapse_alloc_failed", "thp_collapse_alloc_failed"),
    count("thp_split_page", "thp_split_page"),
    count("thp_split_pmd", "thp_split_pmd"),
    count("thp_deferred_split_page", "thp_deferred_split_page"),
    count("thp_zero_page_alloc", "thp_zero_page_alloc"),
    count("thp_swpout", "thp_swpout"),
    count("numa_pte_updates", "numa_pte_updates"),
    count("numa_huge_pte_updates", "numa_huge_pte_updates"),
    count("numa_hint_faults", "numa_hint_faults"),
    count("numa_hint_faults_local", "numa_hint_faults_local"),
    count("numa_pages_migrated", "numa_pages_migrated"),
    count("pgpromote_success", "pgpromote_success"),
    count("pgdemote_kswapd", "pgdemote_kswapd"),
];

/// Current amounts; the two counts of huge pages are pages of the default size.
pub(crate) const MEMINFO: [Key; 23] = [
    kib("total_bytes", "MemTotal"),
    kib("free_bytes", "MemFree"),
    kib("available_bytes", "MemAvailable"),
    kib("buffers_bytes", "Buffers"),
    kib("cached_bytes", "Cached"),
    kib("swap_cached_bytes", "SwapCached"),
    kib("active_bytes", "Active"),
    kib("inactive_bytes", "Inactive"),
    kib("swap_total_bytes", "SwapTotal"),
    kib("swap_free_bytes", "SwapFree"),
    kib("dirty_bytes", "Dirty"),
    kib("writeback_bytes", "Writeback"),
    kib("anon_bytes", "AnonPages"),
    kib("mapped_bytes", "Mapped"),
    kib("shmem_bytes", "Shmem"),
    kib("slab_bytes", "Slab"),
    kib("kernel_stack_bytes", "KernelStack"),
    kib("page_tables_bytes", "PageTables"),
    kib("committed_bytes", "Committed_AS"),
    kib("anon_huge_bytes", "AnonHugePages"),
    kib("file_huge_bytes", "FileHugePages"),
    count("huge_pages_total", "HugePages_Total"),
    count("huge_pages_free", "HugePages_Free"),
];

/// One of the two files.
pub(super) struct HostMemory {
    table: TableInfo,
    path: String,
    keys: &'static [Key],
    file: KeyedFile,
    values: Vec<Option<u64>>,
    buffer: Vec<u8>,
}

impl HostMemory {
    fn open(root: &Root, name: &'static str, keys: &'static [Key]) -> Result<Self, String> {
        let path = format!("/proc/{name}");
        let columns = names(&keys.iter().map(|key| key.column).collect::<Vec<_>>());
        Ok(Self {
            table: TableInfo::new(name, columns, names(&["host"])),
            file: KeyedFile::open(root, &path, keys)?,
            path,
            keys,
            values: vec![None; keys.len()],
            buffer: Vec::new(),
        })
    }
}

impl Source for HostMemory {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn reasons(&self) -> Vec<(String, String)> {
        reasons(self.table.name, &self.path, self.keys, self.file.absent())
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        self.file.read(&mut self.buffer, &mut self.values);
        rows.add(0, &self.values);
    }
}
