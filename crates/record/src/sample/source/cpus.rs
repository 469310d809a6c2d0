//! `cpus`: how each CPU spent its time, from /proc/stat (Documentation/filesystems/proc.rst).
//!
//! Groups bound to some of the CPUs compete only for those.

use std::time::Duration;

use assay_sys::kernel::counters::fields;
use assay_sys::kernel::{RereadFile, Root};

use super::host_cpu::{COLUMNS, TICK_NS};
use super::{Depth, Rows, Source, boxed, keep, names};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "cpus",
    inclusion: Inclusion::Always,
    open: |root, _| boxed(Cpus::open(root)),
};

/// The counters are cumulative, so only the two ends of a window matter, and a machine may have hundreds of
/// CPUs.
const PERIOD: Duration = Duration::from_millis(500);

/// CPU time of each CPU.
pub(super) struct Cpus {
    table: TableInfo,
    file: RereadFile,
    /// The beginning of each line, including the blank.
    labels: Vec<String>,
    buffer: Vec<u8>,
}

impl Cpus {
    /// The CPUs that are online now; CPUs that appear later are not followed.
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        let file = keep(root, "/proc/stat")?;
        let mut buffer = Vec::new();
        let text = file.read_record(&mut buffer).map_err(|cause| cause.to_string())?;
        let labels: Vec<String> = String::from_utf8_lossy(text)
            .lines()
            .filter_map(|line| line.split(' ').next())
            .filter(|label| label.starts_with("cpu") && label.len() > 3)
            .map(|label| format!("{label} "))
            .collect();
        if labels.is_empty() {
            return Err("/proc/stat has no line for a single CPU".to_owned());
        }
        let cpus = labels.iter().map(|label| label.trim_end().to_owned()).collect();
        let table = TableInfo::new(INFO.name, names(&COLUMNS), cpus);
        let table = TableInfo { files: 1, period: PERIOD, ..table };
        Ok(Self { table, file, labels, buffer })
    }
}

impl Source for Cpus {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        let Ok(text) = self.file.read_record(&mut self.buffer) else { return };
        for (index, label) in self.labels.iter().enumerate() {
            let ticks = fields::<8>(text, label);
            let values =
                ticks.map_or([None; 8], |ticks| ticks.map(|ticks| ticks.checked_mul(TICK_NS)));
            rows.add(index, &values);
        }
    }
}
