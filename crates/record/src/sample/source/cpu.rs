//! `cpu`: CPU time of each group.

use assay_sys::kernel::counters::{keyed, number};
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, keep, names, of_groups};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::{CpuFile, GroupTarget, Targets};

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
    table: TableInfo,
    groups: Vec<File>,
    buffer: Vec<u8>,
}

impl GroupCpu {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let open = |group: &GroupTarget| match group.cpu.as_ref().map_err(Clone::clone)? {
            CpuFile::Cpuacct(path) => keep(root, path).map(File::Cpuacct),
            CpuFile::CpuStat(path) => keep(root, path).map(File::CpuStat),
        };
        let table = of_groups(INFO.name, names(&["usage_ns"]), targets)?;
        let groups = targets.groups.iter().map(open).collect::<Result<_, String>>()?;
        Ok(Self { table, groups, buffer: Vec::new() })
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
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        for (index, file) in self.groups.iter().enumerate() {
            rows.add(index, &[file.usage_ns(&mut self.buffer)]);
        }
    }
}
