//! The kernel's activity over the window of the recording: the numbers of `sar -B`, `-W` and `-r`,
//! of numastat and of /proc/pressure.

use super::section::{Section, section_from};
use super::{Recorded, bandwidth, disks};

const HOST: &str = "host";

pub(super) fn sections(recorded: &Recorded<'_>) -> Vec<Section> {
    vec![
        cpu(recorded),
        paging(recorded),
        memory(recorded),
        huge_pages(recorded),
        disks::section(recorded),
        bandwidth::section(recorded),
        pressure(recorded),
        nodes(recorded),
        fragmentation(recorded),
    ]
}

fn cpu(recorded: &Recorded<'_>) -> Section {
    section_from(recorded, "host_cpu", "host_cpu", "CPUs of the host", |section| {
        let rate = |column: &str| recorded.rate("host_cpu", HOST, column);
        let columns = ["user_ns", "nice_ns", "system_ns", "irq_ns", "softirq_ns", "steal_ns"];
        let busy: Option<f64> = columns.iter().map(|column| rate(column)).sum();
        section.row("busy_cpus", "busy", busy.map(|ns| ns / 1e9), "CPUs", 2);
        let user = rate("user_ns").zip(rate("nice_ns")).map(|(user, nice)| (user + nice) / 1e9);
        section.row("user_cpus", "user", user, "CPUs", 2);
        for (id, label) in
            [("system", "system"), ("iowait", "waiting for I/O"), ("steal", "stolen")]
        {
            let cpus = rate(&format!("{id}_ns")).map(|ns| ns / 1e9);
            section.row(&format!("{id}_cpus"), label, cpus, "CPUs", 2);
        }
    })
}

/// `sar -B`, with reclaimed pages counted once.
fn paging(recorded: &Recorded<'_>) -> Section {
    section_from(recorded, "vmstat", "paging", "Paging, as sar -B and -W", |section| {
        let rate = |column: &str| recorded.rate("vmstat", HOST, column);
        section.row("pgpgin_kib_s", "pgpgin/s", rate("pgpgin"), "KiB/s", 1);
        section.row("pgpgout_kib_s", "pgpgout/s", rate("pgpgout"), "KiB/s", 1);
        section.row("fault_s", "fault/s", rate("pgfault"), "", 1);
        section.row("majflt_s", "majflt/s", rate("pgmajfault"), "", 2);
        section.row("pgfree_s", "pgfree/s", rate("pgfree"), "", 1);
        let scan_kswapd = rate("pgscan_kswapd");
        let scan_direct = rate("pgscan_direct");
        section.row("pgscank_s", "pgscank/s", scan_kswapd, "", 1);
        section.row("pgscand_s", "pgscand/s", scan_direct, "", 1);
        // Counters by reclaimer only, not also by page type: sysstat before 12.7.9 adds both.
        // Before 5.8 there was nothing to add twice.
        let by_kind = rate("pgsteal_anon").zip(rate("pgsteal_file")).map(|(a, f)| a + f);
        let by_whom = rate("pgsteal_kswapd").zip(rate("pgsteal_direct")).map(|(k, d)| k + d);
        let steal = by_kind.or(by_whom);
        section.row("pgsteal_s", "pgsteal/s", steal, "", 1);
        let scanned = rate("pgscan_anon").zip(rate("pgscan_file")).map(|(a, f)| a + f);
        let scanned = scanned.or(scan_kswapd.zip(scan_direct).map(|(k, d)| k + d));
        let part =
            steal.zip(scanned).map(
                |(reclaimed, scanned)| {
                    if scanned > 0.0 { reclaimed / scanned * 100.0 } else { 0.0 }
                },
            );
        section.row("vmeff_percent", "%vmeff", part, "%", 1);
        section.row("pswpin_s", "pswpin/s", rate("pswpin"), "", 1);
        section.row("pswpout_s", "pswpout/s", rate("pswpout"), "", 1);
        section.row("refaults_file_s", "file refaults/s", rate("workingset_refault_file"), "", 1);
    })
}

/// The means that `sar -r ALL` prints.
fn memory(recorded: &Recorded<'_>) -> Section {
    section_from(recorded, "meminfo", "memory", "Memory, as sar -r (means)", |section| {
        let mean = |column: &str| recorded.mean("meminfo", HOST, column);
        for (id, label) in [
            ("free_bytes", "free"),
            ("available_bytes", "available"),
            ("buffers_bytes", "buffers"),
            ("cached_bytes", "page cache"),
            ("active_bytes", "active"),
            ("inactive_bytes", "inactive"),
            ("dirty_bytes", "dirty"),
            ("writeback_bytes", "writeback"),
            ("anon_bytes", "anonymous"),
            ("slab_bytes", "slab"),
            ("committed_bytes", "committed"),
        ] {
            section.bytes(id, label, mean(id));
        }
        let total = mean("total_bytes");
        let used = used(&mean);
        section.bytes("used_bytes", "used", used);
        let part = |amount: Option<f64>, of: Option<f64>| {
            amount.zip(of.filter(|of| *of > 0.0)).map(|(amount, of)| amount / of * 100.0)
        };
        section.row("used_percent", "%memused", part(used, total), "%", 2);
        // A kernel without swap shows 0 instead of nothing.
        let promised = total.zip(mean("swap_total_bytes")).map(|(memory, swap)| memory + swap);
        let committed = part(mean("committed_bytes"), promised);
        section.row("committed_percent", "%commit", committed, "%", 2);
        let grown = |column: &str| {
            let curve = recorded.curve("meminfo", HOST, column)?;
            let (from, to) =
                curve.clamp(recorded.repeat.released_ns, recorded.repeat.stopped_ns)?;
            Some(curve.at(to)? - curve.at(from)?)
        };
        section.bytes("cached_grown_bytes", "page cache grew by", grown("cached_bytes"));
    })
}

/// Memory that is neither free nor easily reclaimable: sysstat's kbmemused.
fn used(mean: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let parts = ["free_bytes", "buffers_bytes", "cached_bytes", "slab_bytes"];
    let rest: Option<f64> = parts.iter().map(|column| mean(column)).sum();
    mean("total_bytes").zip(rest).map(|(total, rest)| (total - rest).max(0.0))
}

fn huge_pages(recorded: &Recorded<'_>) -> Section {
    section_from(recorded, "vmstat", "huge_pages", "Huge pages", |section| {
        let grown = |column: &str| recorded.growth("vmstat", HOST, column).map(|(grown, _)| grown);
        let mean = recorded.mean("meminfo", HOST, "anon_huge_bytes");
        section.bytes("anon_huge_bytes", "AnonHugePages (mean)", mean);
        for (id, label) in [
            ("thp_fault_alloc", "at a fault"),
            ("thp_fault_fallback", "fallback to small pages"),
            ("thp_collapse_alloc", "collapsed"),
            ("thp_split_page", "split"),
            ("compact_stall", "compaction stalls"),
        ] {
            section.row(id, label, grown(id), "", 0);
        }
    })
}

fn pressure(recorded: &Recorded<'_>) -> Section {
    section_from(recorded, "pressure", "pressure", "Pressure, part of the time", |section| {
        for (id, label) in [
            ("cpu_some", "CPU, some"),
            ("io_some", "I/O, some"),
            ("io_full", "I/O, full"),
            ("memory_some", "memory, some"),
            ("memory_full", "memory, full"),
        ] {
            let part = recorded.rate("pressure", HOST, &format!("{id}_us")).map(|us| us / 1e4);
            section.row(&format!("{id}_percent"), label, part, "%", 2);
        }
    })
}

/// Growth of numastat's counters.
fn nodes(recorded: &Recorded<'_>) -> Section {
    section_from(recorded, "nodes", "nodes", "Nodes, pages as numastat counts them", |section| {
        let tables = recorded.trial.tables("nodes");
        let names = tables.first().map_or(&[][..], |(_, _, table)| &table.subjects);
        for node in names {
            for column in ["numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "other_node"]
            {
                let grown = recorded.growth("nodes", node, column).map(|(grown, _)| grown);
                section.row(&format!("{node}_{column}"), &format!("{node} {column}"), grown, "", 0);
            }
        }
        let moved = recorded.growth("vmstat", HOST, "numa_pages_migrated").map(|(grown, _)| grown);
        section.row("numa_pages_migrated", "moved by balancing", moved, "", 0);
    })
}

fn fragmentation(recorded: &Recorded<'_>) -> Section {
    section_from(
        recorded,
        "buddyinfo",
        "fragmentation",
        "Fragmentation, for a huge page, at the end",
        |section| {
            let tables = recorded.trial.tables("buddyinfo");
            let Some((_, _, table)) = tables.first() else { return };
            for zone in &table.subjects {
                let last =
                    |column: &str| table.series(zone, column).last().map(|(_, value)| value as f64);
                let unusable = last("unusable_permille").map(|permille| permille / 10.0);
                section.row(
                    &format!("{zone}_unusable_percent"),
                    &format!("{zone} unusable"),
                    unusable,
                    "%",
                    1,
                );
            }
        },
    )
}
