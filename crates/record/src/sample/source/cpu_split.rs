//! `cpu_split`: CPU time of each group by CPU, from `cpuacct.usage_percpu` of cgroup v1
//! (Documentation/admin-guide/cgroup-v1/cpuacct.rst). cgroup v2 has no such file.
//!
//! Weights apply on every CPU separately, among the threads on it: the distribution of threads determines
//! their effect.

use std::time::Duration;

use assay_sys::kernel::counters::number;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, SECOND, Source, boxed};
use crate::sample::registry::{Inclusion, SourceInfo};
use crate::sample::target::{CpuFile, Targets};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "cpu_split",
    inclusion: Inclusion::Always,
    open: |root, targets| boxed(CpuSplit::open(root, targets)),
};

/// Limit on the number of CPUs, which determines the length of rows.
const MOST_CPUS: usize = 64;

/// CPU time of all groups by CPU.
pub(super) struct CpuSplit {
    groups: Vec<(String, RereadFile)>,
    columns: Vec<String>,
    buffer: Vec<u8>,
    values: Vec<Option<u64>>,
}

impl CpuSplit {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        // Needed only by studies that divide CPU time.
        targets.throttles.as_ref().map_err(Clone::clone)?;
        let mut groups = Vec::new();
        for group in &targets.groups {
            let CpuFile::Cpuacct(usage) = group.cpu.as_ref().map_err(Clone::clone)? else {
                return Err("cgroup v2 does not count a group's time by CPU".to_owned());
            };
            let path = usage.with_file_name("cpuacct.usage_percpu");
            groups.push((
                group.name.clone(),
                root.open_reread(path).map_err(|error| error.to_string())?,
            ));
        }
        let (_, first) = groups.first().ok_or("no group is sampled")?;
        let mut buffer = Vec::new();
        let text = first.read_record(&mut buffer).map_err(|cause| cause.to_string())?;
        let cpus = words(text).count();
        if cpus > MOST_CPUS {
            return Err(format!("{cpus} CPUs exceed the limit of {MOST_CPUS}"));
        }
        let columns = (0..cpus).map(|cpu| format!("cpu{cpu}_ns")).collect();
        Ok(Self { groups, columns, buffer, values: vec![None; cpus] })
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

impl Source for CpuSplit {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.groups.iter().map(|(name, _)| name.clone()).collect()
    }

    fn files(&self) -> usize {
        self.groups.len()
    }

    /// Threads are moved between CPUs many times a second; one second shows whether a group was spread
    /// evenly.
    fn period(&self) -> Duration {
        SECOND
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        for (index, (_, file)) in self.groups.iter().enumerate() {
            self.values.fill(None);
            if let Ok(text) = file.read_record(&mut self.buffer) {
                self.values.iter_mut().zip(words(text)).for_each(|(value, word)| {
                    *value = number(word);
                });
            }
            rows.add(index, &self.values);
        }
    }
}
