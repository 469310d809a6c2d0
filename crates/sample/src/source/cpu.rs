//! `cpu`: CPU time of each group.
//!
//! Many groups of cgroup v1 are read by one eBPF program if the kernel allows it, at a tenth of the cost of
//! reading their files or less; the numbers are the same.

use std::path::{Path, PathBuf};

use assay_bpf::group_iterator::Counters;
use assay_kernel::counters::{keyed, number};
use assay_kernel::{RereadFile, Root};

use super::walk::{MIN_GROUPS, Walk};
use super::{Depth, Rows, Source, boxed, names};
use crate::registry::{EVERY_ROUND, Inclusion, SourceInfo};
use crate::target::{CpuFile, GroupTarget, Targets};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "cpu",
    subject: "group",
    what: "CPU time of each group",
    files: "v1 `cpuacct.usage`, v2 `cpu.stat`",
    pace: EVERY_ROUND,
    inclusion: Inclusion::Always,
    since: "",
    cost: "1.3 us a group; of 16 groups or more on v1 one system call for all, 0.02 to 0.15 us a group",
    open: |root, targets| boxed(GroupCpu::open(root, targets)),
};

enum File {
    Cpuacct(RereadFile),
    CpuStat(RereadFile),
}

/// CPU time of all groups.
pub(super) struct GroupCpu {
    groups: Vec<(String, File)>,
    /// The iterator; the reason why there is none, if groups are many.
    walk: Result<Walk, Option<String>>,
    /// CPU time by group, from the iterator.
    usage: Vec<Option<u64>>,
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
        let walk = match groups.len() < MIN_GROUPS {
            true => Err(None),
            false => walk(root, targets, &groups).map_err(Some),
        };
        let usage = vec![None; groups.len()];
        Ok(Self { groups, walk, usage, columns: names(&["usage_ns"]), buffer: Vec::new() })
    }

    fn by_walk(&mut self, rows: &mut Rows) -> Result<(), Option<String>> {
        let Self { walk, usage, .. } = self;
        let walk = walk.as_mut().map_err(Option::take)?;
        usage.fill(None);
        let now = rows.now();
        walk.read(|index, numbers| usage[index] = numbers.first().copied())?;
        for (index, usage_ns) in usage.iter().enumerate() {
            rows.add_at(now, index, &[*usage_ns]);
        }
        Ok(())
    }
}

/// An iterator that yields the values of the groups' own files.
fn walk(root: &Root, targets: &Targets, groups: &[(String, File)]) -> Result<Walk, String> {
    let directory = |group: &GroupTarget| match &group.cpu {
        Ok(CpuFile::Cpuacct(path)) => path.parent().map(Path::to_owned),
        _ => None,
    };
    let directories: Option<Vec<PathBuf>> = targets.groups.iter().map(directory).collect();
    let directories =
        directories.ok_or("cgroup v2 adds CPU time up only where its file is read")?;
    let mut walk = Walk::open(root, &directories, Counters::CpuTime)?;
    let mut buffer = Vec::new();
    walk.verify(0, |index| groups.get(index)?.1.usage_ns(&mut buffer))?;
    Ok(walk)
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
        if self.walk.is_ok() { 1 } else { self.groups.len() }
    }

    fn reasons(&self) -> Vec<(String, String)> {
        super::walk::reason("cpu", self.walk.as_ref().err())
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if self.walk.is_ok() {
            match self.by_walk(rows) {
                Ok(()) => return,
                Err(why) => self.walk = Err(why),
            }
        }
        if depth == Depth::Essential {
            return;
        }
        for (index, (_, file)) in self.groups.iter().enumerate() {
            rows.add(index, &[file.usage_ns(&mut self.buffer)]);
        }
    }
}
