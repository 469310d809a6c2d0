//! `cpu_split`: CPU time of each group by CPU, from `cpuacct.usage_percpu` of cgroup v1
//! (Documentation/admin-guide/cgroup-v1/cpuacct.rst). cgroup v2 has no such file.
//!
//! Weights apply on every CPU separately, among the threads on it: the distribution of threads determines
//! their effect.

use assay_sys::kernel::counters::number;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, SECOND, Source, boxed, keep, of_groups};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::{CpuFile, GroupTarget, Targets};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "cpu_split",
    inclusion: Inclusion::Always,
    open: |root, targets| boxed(CpuSplit::open(root, targets)),
};

/// Limit on the number of CPUs, which determines the length of rows.
const MOST_CPUS: usize = 64;

/// CPU time of all groups by CPU.
pub(super) struct CpuSplit {
    table: TableInfo,
    groups: Vec<RereadFile>,
    buffer: Vec<u8>,
    values: Vec<Option<u64>>,
}

impl CpuSplit {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        // Needed only by studies that divide CPU time.
        targets.throttles.as_ref().map_err(Clone::clone)?;
        let open = |group: &GroupTarget| {
            let CpuFile::Cpuacct(usage) = group.cpu.as_ref().map_err(Clone::clone)? else {
                return Err("cgroup v2 does not count a group's time by CPU".to_owned());
            };
            keep(root, usage.with_file_name("cpuacct.usage_percpu"))
        };
        let groups = targets.groups.iter().map(open).collect::<Result<Vec<_>, String>>()?;
        let first = groups.first().ok_or("no group is sampled")?;
        let mut buffer = Vec::new();
        let text = first.read_record(&mut buffer).map_err(|cause| cause.to_string())?;
        let cpus = words(text).count();
        if cpus > MOST_CPUS {
            return Err(format!("{cpus} CPUs exceed the limit of {MOST_CPUS}"));
        }
        let columns = (0..cpus).map(|cpu| format!("cpu{cpu}_ns")).collect();
        // Threads are moved between CPUs many times a second; one second shows whether a group was spread evenly.
        let table = TableInfo { period: SECOND, ..of_groups(INFO.name, columns, targets)? };
        Ok(Self { table, groups, buffer, values: vec![None; cpus] })
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

impl Source for CpuSplit {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        for (index, file) in self.groups.iter().enumerate() {
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
