//! `io`: bytes and requests of each group on its disk.

use assay_kernel::counters::{ReadWrite, blkio, io_stat};
use assay_kernel::{KeptFile, Root};

use super::{Rows, Source, names};
use crate::target::{GroupTarget, IoFiles, Targets};

/// One group's open files.
enum Files {
    Blkio { bytes: KeptFile, requests: KeptFile },
    IoStat(KeptFile),
}

/// I/O of all groups.
pub(super) struct GroupIo {
    groups: Vec<(String, Files, String)>,
    columns: Vec<String>,
    buffer: Vec<u8>,
}

impl GroupIo {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let mut groups = Vec::new();
        let mut reason = "no group uses a disk".to_owned();
        for group in &targets.groups {
            match open_group(root, group) {
                Ok((files, device)) => groups.push((group.name.clone(), files, device)),
                Err(why) => reason = why,
            }
        }
        if groups.is_empty() {
            return Err(reason);
        }
        let columns = names(&["read_bytes", "write_bytes", "read_ios", "write_ios"]);
        Ok(Self { groups, columns, buffer: Vec::new() })
    }
}

fn open_group(root: &Root, group: &GroupTarget) -> Result<(Files, String), String> {
    let (files, device) = group.io.as_ref().map_err(Clone::clone)?;
    let keep = |path| root.keep(path).map_err(|error| error.to_string());
    let files = match files {
        IoFiles::Blkio { bytes, requests } => {
            Files::Blkio { bytes: keep(bytes)?, requests: keep(requests)? }
        }
        IoFiles::IoStat(path) => Files::IoStat(keep(path)?),
    };
    Ok((files, device.clone()))
}

impl Files {
    fn read(&self, device: &str, buffer: &mut Vec<u8>) -> Option<(ReadWrite, ReadWrite)> {
        match self {
            Self::Blkio { bytes, requests } => {
                let bytes = blkio(bytes.read(buffer).ok()?, device);
                let requests = blkio(requests.read(buffer).ok()?, device);
                Some((bytes, requests))
            }
            Self::IoStat(file) => Some(io_stat(file.read(buffer).ok()?, device)),
        }
    }
}

impl Source for GroupIo {
    fn name(&self) -> &'static str {
        "io"
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.groups.iter().map(|(name, ..)| name.clone()).collect()
    }

    fn read(&mut self, rows: &mut Rows) {
        for (index, (_, files, device)) in self.groups.iter().enumerate() {
            let values = match files.read(device, &mut self.buffer) {
                Some((bytes, requests)) => {
                    [bytes.read, bytes.write, requests.read, requests.write].map(Some)
                }
                None => [None; 4],
            };
            rows.add(index, &values);
        }
    }
}
