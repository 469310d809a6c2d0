//! `cpu`: CPU time of each group.

use assay_sys::kernel::counters::{keyed, number};
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, names};
use crate::sample::registry::{Inclusion, SourceInfo};
use crate::sample::target::{CpuFile, Targets};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "cpu",
    inclusion: Inclusion::Always,
    open: |root, targets| boxed(GroupCpu::open(root, targets)),
};

enum File {
    Cpuacct(RereadFile),
    CpuStat(RereadFile),
}

/// CPU time of all groups.
pub(super) struct GroupCpu {
    groups: Vec<(String, File)>,
    columns: Vec<String>,
    buffer: Vec<u8>,
}

impl GroupCpu {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let mut groups = Vec::new();
        for group in &targets.groups {
            let keep = |path| root.open_reread(path).map_err(|error| error.to_string());
            let file = match group.cpu.as_ref().map_err(Clone::clone)? {
                CpuFile::Cpuacct(path) => File::Cpuacct(keep(path)?),
                CpuFile::CpuStat(path) => File::CpuStat(keep(path)?),
            };
            groups.push((group.name.clone(), file));
        }
        if groups.is_empty() {
            return Err("no group is sampled".to_owned());
        }
        Ok(Self { groups, columns: names(&["usage_ns"]), buffer: Vec::new() })
    }
}

impl File {
    fn usage_ns(&self, buffer: &mut Vec<u8>) -> Option<u64> {
        match self {
            Self::Cpuacct(file) => number(file.read_record(buffer).ok()?),
            Self::CpuStat(file) => {
                keyed(file.read_record(buffer).ok()?, "usage_usec")?.checked_mul(1000)
            }
        }
    }
}

impl Source for GroupCpu {
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

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        for (index, (_, file)) in self.groups.iter().enumerate() {
            rows.add(index, &[file.usage_ns(&mut self.buffer)]);
        }
    }
}
