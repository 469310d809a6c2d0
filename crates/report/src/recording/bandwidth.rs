//! Traffic between memory and its controllers by node, where the machine counts it.

use super::Recorded;
use super::section::{Section, section_from};

const SOURCE: &str = "uncore";

/// Bytes per second read from and written to the memory of each node.
pub(super) fn section(recorded: &Recorded<'_>) -> Section {
    section_from(recorded, SOURCE, "memory_bandwidth", "Memory bandwidth of each node", |section| {
        let tables = recorded.trial.tables(SOURCE);
        let names = tables.first().map_or(&[][..], |(_, _, table)| &table.subjects);
        for node in names {
            for (column, what) in [("read_bytes", "read"), ("write_bytes", "written")] {
                let rate = recorded.rate(SOURCE, node, column).map(|bytes| bytes / 1e6);
                let (id, label) = (format!("{node}_{what}_mb_s"), format!("{node} {what}"));
                section.row(&id, &label, rate, "MB/s", 1);
            }
        }
    })
}
