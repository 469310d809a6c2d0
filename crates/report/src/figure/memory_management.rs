//! Activity of the kernel's memory management: faults, paging, page cache, huge pages, and
//! pressure.

use super::series::{Curves, Line};

const MIB: f64 = 1.0 / 1_048_576.0;

const fn sum(label: &'static str, columns: &'static [&'static str], scale: f64) -> Line {
    Line { label, columns, gauge: false, scale }
}

const fn amount(label: &'static str, columns: &'static [&'static str]) -> Line {
    Line { label, columns, gauge: true, scale: MIB }
}

/// The figures, in the order of the page.
pub(super) static FIGURES: [Curves; 6] = [
    Curves {
        part: "faults",
        title: "Page faults",
        reading: "Faults of all processes of the host. Major faults had to wait for a disk.",
        axis: "faults/s",
        source: "vmstat",
        lines: &[sum("all", &["pgfault"], 1.0), sum("major", &["pgmajfault"], 1.0)],
    },
    Curves {
        part: "paging",
        title: "Paging and reclaim",
        reading: "Traffic between memory and block devices, and pages scanned and reclaimed (a \
                  page counts as 4 KiB).",
        axis: "MiB/s",
        source: "vmstat",
        lines: &[
            // The kernel counts these two in KiB, the others in pages of 4 KiB.
            sum("in", &["pgpgin"], 1.0 / 1024.0),
            sum("out", &["pgpgout"], 1.0 / 1024.0),
            sum("scanned", &["pgscan_anon", "pgscan_file"], 4.0 / 1024.0),
            sum("reclaimed", &["pgsteal_anon", "pgsteal_file"], 4.0 / 1024.0),
            sum("swapped in", &["pswpin"], 4.0 / 1024.0),
            sum("swapped out", &["pswpout"], 4.0 / 1024.0),
        ],
    },
    Curves {
        part: "page-cache",
        title: "Memory of the host",
        reading: "Page cache, anonymous memory, and cached data not yet written back.",
        axis: "MiB",
        source: "meminfo",
        lines: &[
            amount("page cache", &["cached_bytes"]),
            amount("anonymous", &["anon_bytes"]),
            amount("anonymous huge pages", &["anon_huge_bytes"]),
            amount("dirty", &["dirty_bytes"]),
            amount("writeback", &["writeback_bytes"]),
        ],
    },
    Curves {
        part: "huge-pages",
        title: "Huge pages",
        reading: "Transparent huge pages: allocated at a fault, not available at a fault \
                  (fallback to small pages), collapsed from small pages, and split.",
        axis: "huge pages/s",
        source: "vmstat",
        lines: &[
            sum("at a fault", &["thp_fault_alloc"], 1.0),
            sum("fallback", &["thp_fault_fallback"], 1.0),
            sum("collapsed", &["thp_collapse_alloc"], 1.0),
            sum("split", &["thp_split_page"], 1.0),
        ],
    },
    Curves {
        part: "pressure",
        title: "Pressure",
        reading: "The share of time in which some task of the host waited for a CPU, a disk, or \
                  memory (PSI).",
        axis: "% of the time",
        source: "pressure",
        lines: &[
            sum("CPU", &["cpu_some_us"], 1e-4),
            sum("I/O", &["io_some_us"], 1e-4),
            sum("memory", &["memory_some_us"], 1e-4),
        ],
    },
    Curves {
        part: "numa-balancing",
        title: "NUMA balancing",
        reading: "Pages unmapped to sample their use, the resulting hint faults, the local ones \
                  among these, and migrated pages.",
        axis: "/s",
        source: "vmstat",
        lines: &[
            sum("marked", &["numa_pte_updates"], 1.0),
            sum("faults", &["numa_hint_faults"], 1.0),
            sum("local faults", &["numa_hint_faults_local"], 1.0),
            sum("moved", &["numa_pages_migrated"], 1.0),
        ],
    },
];
