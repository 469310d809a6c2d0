//! `disk`: the counters of each disk, from /sys/block/X/stat (Documentation/block/stat.rst).

use assay_sys::kernel::counters::fields;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, keep, names};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::Targets;

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "disk",
    inclusion: Inclusion::Always,
    open: |root, targets| boxed(Disks::open(root, targets)),
};

/// All scratch disks.
pub(super) struct Disks {
    table: TableInfo,
    disks: Vec<RereadFile>,
    buffer: Vec<u8>,
}

impl Disks {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        if targets.disks.is_empty() {
            return Err("the study uses no block device".to_owned());
        }
        let columns = names(&[
            "reads",
            "read_sectors",
            "read_ms",
            "writes",
            "write_sectors",
            "write_ms",
            "in_flight",
            "io_ms",
            "weighted_ms",
            "discards",
            "discard_sectors",
            "discard_ms",
        ]);
        let devices: Vec<String> = targets.disks.iter().map(|disk| disk.device.clone()).collect();
        let open = |device: &String| keep(root, format!("/sys/block/{device}/stat"));
        let disks = devices.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { table: TableInfo::new(INFO.name, columns, devices), disks, buffer: Vec::new() })
    }
}

impl Source for Disks {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        for (index, file) in self.disks.iter().enumerate() {
            let text = file.read_record(&mut self.buffer).unwrap_or_default();
            rows.add(index, &values(text));
        }
    }
}

/// The columns from a `stat` file. The second and the sixth field, and the thirteenth of discards,
/// count merges, which no promise needs. Discards are counted since 4.18.
fn values(text: &[u8]) -> [Option<u64>; 12] {
    let mut values = [None; 12];
    if let Some([r, _, rs, rms, w, _, ws, wms, in_flight, io_ms, weighted]) = fields::<11>(text, "")
    {
        values[..9]
            .copy_from_slice(&[r, rs, rms, w, ws, wms, in_flight, io_ms, weighted].map(Some));
    }
    if let Some([.., discards, _, sectors, ms]) = fields::<15>(text, "") {
        values[9..].copy_from_slice(&[discards, sectors, ms].map(Some));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discards_are_null_on_kernels_that_do_not_count_them() {
        let old = values(b" 10 1 80 5 20 2 160 6 3 40 50\n");
        assert_eq!(old[..3], [Some(10), Some(80), Some(5)]);
        assert_eq!(old[8..], [Some(50), None, None, None]);
        let new = values(b" 10 1 80 5 20 2 160 6 3 40 50 7 1 56 9 0 0\n");
        assert_eq!(new[8..], [Some(50), Some(7), Some(56), Some(9)]);
        assert_eq!(values(b""), [None; 12]);
    }
}
