//! `host_cpu`: how all CPUs together spent their time, from the first line of /proc/stat.

use assay_sys::kernel::counters::fields;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, keep, names};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "host_cpu",
    inclusion: Inclusion::Always,
    open: |root, _| boxed(HostCpu::open(root)),
};

/// /proc/stat counts in USER_HZ, which is 100 on every architecture that Linux still supports
/// with fio: a tick is 10 ms.
pub(super) const TICK_NS: u64 = 10_000_000;

/// The first eight numbers of a `cpu` line.
pub(super) const COLUMNS: [&str; 8] =
    ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns"];

/// CPU time of the host.
pub(super) struct HostCpu {
    table: TableInfo,
    file: RereadFile,
    buffer: Vec<u8>,
}

impl HostCpu {
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        let table = TableInfo::new(INFO.name, names(&COLUMNS), names(&["host"]));
        Ok(Self { table, file: keep(root, "/proc/stat")?, buffer: Vec::new() })
    }
}

impl Source for HostCpu {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        let ticks =
            self.file.read_record(&mut self.buffer).ok().and_then(|text| fields::<8>(text, "cpu "));
        let values = ticks.map_or([None; 8], |ticks| ticks.map(|ticks| ticks.checked_mul(TICK_NS)));
        rows.add(0, &values);
    }
}
