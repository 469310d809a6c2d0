//! `cpus`: how each CPU spent its time, from /proc/stat (Documentation/filesystems/proc.rst).
//!
//! Groups bound to some of the CPUs compete only for those.

use std::time::Duration;

use assay_sys::kernel::counters::fields;
use assay_sys::kernel::{RereadFile, Root};

use super::host_cpu::{COLUMNS, TICK_NS};
use super::{Depth, Rows, Source, boxed, names};
use crate::sample::registry::{Inclusion, SourceInfo};

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
    file: RereadFile,
    /// The beginning of each line, including the blank.
    labels: Vec<String>,
    columns: Vec<String>,
    buffer: Vec<u8>,
}

impl Cpus {
    /// The CPUs that are online now; CPUs that appear later are not followed.
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        let file = root.open_reread("/proc/stat").map_err(|error| error.to_string())?;
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
        Ok(Self { file, labels, columns: names(&COLUMNS), buffer })
    }
}

impl Source for Cpus {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.labels.iter().map(|label| label.trim_end().to_owned()).collect()
    }

    fn files(&self) -> usize {
        1
    }

    fn period(&self) -> Duration {
        PERIOD
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
