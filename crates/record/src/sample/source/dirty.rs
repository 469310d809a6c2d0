//! `dirty`: how much of the host's page cache waits to be written back, and the thresholds from which the
//! kernel starts writeback and throttles writers, as currently computed from `vm.dirty_*` and the dirtyable
//! memory (`nr_dirty*` of /proc/vmstat; `global_dirty_limits` in mm/page-writeback.c).

use std::time::Duration;

use assay_sys::kernel::anonymous_memory::page_size;
use assay_sys::kernel::counters::keyed;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, keep, names};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "dirty",
    inclusion: Inclusion::Always,
    open: |root, _| boxed(Dirty::open(root)),
};

/// The kernel formats all of the some two hundred lines of the file; twice a second is sufficient for dirty
/// pages, whose age is counted in seconds.
const PERIOD: Duration = Duration::from_millis(500);

const KEYS: [&str; 4] =
    ["nr_dirty", "nr_writeback", "nr_dirty_background_threshold", "nr_dirty_threshold"];

/// Dirty pages of the host.
pub(super) struct Dirty {
    table: TableInfo,
    file: RereadFile,
    buffer: Vec<u8>,
}

impl Dirty {
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        let file = keep(root, "/proc/vmstat")?;
        let mut buffer = Vec::new();
        let text = file.read(&mut buffer).map_err(|cause| format!("/proc/vmstat: {cause}"))?;
        if keyed(text, KEYS[0]).is_none() {
            return Err(format!("/proc/vmstat has no {}", KEYS[0]));
        }
        let columns = names(&[
            "dirty_bytes",
            "writeback_bytes",
            "background_threshold_bytes",
            "threshold_bytes",
        ]);
        let table = TableInfo::new(INFO.name, columns, names(&["host"]));
        Ok(Self { table: TableInfo { period: PERIOD, ..table }, file, buffer })
    }
}

impl Source for Dirty {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        // The file has many records, so a single read may end before the file does.
        let text = self.file.read(&mut self.buffer).ok();
        let page = page_size() as u64;
        let bytes = |key| text.and_then(|text| keyed(text, key)?.checked_mul(page));
        rows.add(0, &KEYS.map(bytes));
    }
}
