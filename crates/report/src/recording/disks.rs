//! The numbers of `sar -d`, by its formulas (sysstat, `rd_stats.c` and `pr_stats.c`), for active
//! disks.

use super::Recorded;
use super::section::{Section, section_from};

/// Rates of one disk, per second.
struct Rates {
    reads: f64,
    writes: f64,
    /// Requests, sectors and milliseconds of discards; 0 if the kernel does not count them, as in
    /// sysstat.
    discards: [f64; 3],
    read_sectors: f64,
    write_sectors: f64,
    read_ms: f64,
    write_ms: f64,
    io_ms: f64,
    weighted_ms: f64,
}

impl Rates {
    fn new(rate: impl Fn(&str) -> Option<f64>) -> Option<Self> {
        let discards = ["discards", "discard_sectors", "discard_ms"];
        Some(Self {
            reads: rate("reads")?,
            writes: rate("writes")?,
            discards: discards.map(|column| rate(column).unwrap_or(0.0)),
            read_sectors: rate("read_sectors")?,
            write_sectors: rate("write_sectors")?,
            read_ms: rate("read_ms")?,
            write_ms: rate("write_ms")?,
            io_ms: rate("io_ms")?,
            weighted_ms: rate("weighted_ms")?,
        })
    }

    fn requests(&self) -> f64 {
        self.reads + self.writes + self.discards[0]
    }

    /// Machine-readable and display names, values, units and decimals.
    fn columns(&self) -> [(&'static str, &'static str, f64, &'static str, usize); 8] {
        // Sectors are 512 bytes, regardless of the disk's block size.
        let [_, discarded, discarding_ms] = self.discards;
        let sectors = self.read_sectors + self.write_sectors + discarded;
        let waited = self.read_ms + self.write_ms + discarding_ms;
        let of_one = |sum: f64| if self.requests() > 0.0 { sum / self.requests() } else { 0.0 };
        [
            ("tps", "tps", self.requests(), "", 2),
            ("rkib_s", "rkB/s", self.read_sectors / 2.0, "KiB/s", 2),
            ("wkib_s", "wkB/s", self.write_sectors / 2.0, "KiB/s", 2),
            ("dkib_s", "dkB/s", discarded / 2.0, "KiB/s", 2),
            ("areq_kib", "areq-sz", of_one(sectors) / 2.0, "KiB", 2),
            ("aqu", "aqu-sz", self.weighted_ms / 1000.0, "", 2),
            ("await_ms", "await", of_one(waited), "ms", 2),
            ("util_percent", "%util", self.io_ms / 10.0, "%", 2),
        ]
    }
}

/// All disks with requests.
pub(super) fn section(recorded: &Recorded<'_>) -> Section {
    section_from(recorded, "disk", "disks", "Disks, as sar -d", |section| {
        let tables = recorded.trial.tables("disk");
        let names = tables.first().map_or(&[][..], |(_, _, table)| &table.subjects);
        for disk in names {
            let rates = Rates::new(|column| recorded.rate("disk", disk, column));
            let Some(rates) = rates.filter(|rates| rates.requests() > 0.0) else { continue };
            for (id, label, value, unit, decimals) in rates.columns() {
                let (id, label) = (format!("{disk}_{id}"), format!("{disk} {label}"));
                section.row(&id, &label, Some(value), unit, decimals);
            }
        }
        if section.rows.is_empty() {
            section.lines.push("no disk was active".to_owned());
        }
    })
}
