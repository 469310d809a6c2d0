//! `io`: bytes and requests of each group on its disk.

use std::collections::BTreeMap;

use assay_sys::kernel::counters::{ReadWrite, blkio, io_stat};
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, keep, names};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::{GroupTarget, IoFiles, Targets};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "io",
    inclusion: Inclusion::Always,
    open: |root, targets| boxed(GroupIo::open(root, targets)),
};

/// One group's open files.
enum Files {
    Blkio { bytes: RereadFile, requests: RereadFile },
    IoStat(RereadFile),
}

/// I/O of all groups.
pub(super) struct GroupIo {
    table: TableInfo,
    groups: Vec<(Files, String)>,
    buffer: Vec<u8>,
}

impl GroupIo {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let (mut names_of_groups, mut groups) = (Vec::new(), Vec::new());
        let mut reason = "no group uses a disk".to_owned();
        for group in &targets.groups {
            match open_group(root, group) {
                Ok(opened) => {
                    names_of_groups.push(group.name.clone());
                    groups.push(opened);
                }
                Err(why) => reason = why,
            }
        }
        if groups.is_empty() {
            return Err(reason);
        }
        let columns = names(&["read_bytes", "write_bytes", "read_ios", "write_ios"]);
        let files = groups.iter().map(|(files, _)| match files {
            Files::Blkio { .. } => 2,
            Files::IoStat(_) => 1,
        });
        let files = files.sum();
        let table = TableInfo { files, ..TableInfo::new(INFO.name, columns, names_of_groups) };
        Ok(Self { table, groups, buffer: Vec::new() })
    }
}

fn open_group(root: &Root, group: &GroupTarget) -> Result<(Files, String), String> {
    let (files, device) = group.io.as_ref().map_err(Clone::clone)?;
    let files = match files {
        IoFiles::Blkio { bytes, requests } => {
            Files::Blkio { bytes: keep(root, bytes)?, requests: keep(root, requests)? }
        }
        IoFiles::IoStat(path) => Files::IoStat(keep(root, path)?),
    };
    Ok((files, device.clone()))
}

/// Bytes that each group has read and written on its disk so far; groups that the kernel does not count are left out.
#[must_use]
pub fn disk_bytes(root: &Root, targets: &Targets) -> BTreeMap<String, u64> {
    let mut buffer = Vec::new();
    let read = |group: &GroupTarget| {
        let (files, device) = open_group(root, group).ok()?;
        let (bytes, _) = files.read(&device, Depth::Essential, &mut buffer)?;
        Some((group.name.clone(), bytes.read + bytes.write))
    };
    targets.groups.iter().filter_map(read).collect()
}

impl Files {
    /// Reads bytes and, if requested or available at no extra cost, requests.
    fn read(
        &self,
        device: &str,
        depth: Depth,
        buffer: &mut Vec<u8>,
    ) -> Option<(ReadWrite, Option<ReadWrite>)> {
        match self {
            Self::Blkio { bytes, requests } => {
                let bytes = blkio(bytes.read_record(buffer).ok()?, device);
                if depth == Depth::Essential {
                    return Some((bytes, None));
                }
                Some((bytes, Some(blkio(requests.read_record(buffer).ok()?, device))))
            }
            Self::IoStat(file) => {
                let (bytes, requests) = io_stat(file.read_record(buffer).ok()?, device);
                Some((bytes, Some(requests)))
            }
        }
    }
}

impl Source for GroupIo {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        for (index, (files, device)) in self.groups.iter().enumerate() {
            let read = files.read(device, depth, &mut self.buffer);
            let bytes = read.map(|(bytes, _)| bytes);
            let requests = read.and_then(|(_, requests)| requests);
            let values = [
                bytes.map(|bytes| bytes.read),
                bytes.map(|bytes| bytes.write),
                requests.map(|requests| requests.read),
                requests.map(|requests| requests.write),
            ];
            rows.add(index, &values);
        }
    }
}
