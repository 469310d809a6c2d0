//! `disk`: the counters of each disk, as /sys/block/X/stat gives them
//! (Documentation/block/stat.rst).

use assay_kernel::counters::fields;
use assay_kernel::{KeptFile, Root};

use super::{Depth, Rows, Source, names};
use crate::target::Targets;

/// All scratch disks.
pub(super) struct Disks {
    disks: Vec<(String, KeptFile)>,
    columns: Vec<String>,
    buffer: Vec<u8>,
}

impl Disks {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        if targets.disks.is_empty() {
            return Err("the study uses no block device".to_owned());
        }
        let keep = |device: &String| {
            let file = root.keep(format!("/sys/block/{device}/stat"));
            file.map(|file| (device.clone(), file)).map_err(|error| error.to_string())
        };
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
        ]);
        let disks =
            targets.disks.iter().map(|disk| keep(&disk.device)).collect::<Result<_, _>>()?;
        Ok(Self { disks, columns, buffer: Vec::new() })
    }
}

impl Source for Disks {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.disks.iter().map(|(name, _)| name.clone()).collect()
    }

    fn files(&self) -> usize {
        self.disks.len()
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        for (index, (_, file)) in self.disks.iter().enumerate() {
            let stat =
                file.read_record(&mut self.buffer).ok().and_then(|text| fields::<11>(text, ""));
            let values = match stat {
                // The second and the sixth field count merges, which no promise needs.
                Some([r, _, rs, rms, w, _, ws, wms, in_flight, io_ms, weighted]) => {
                    [r, rs, rms, w, ws, wms, in_flight, io_ms, weighted].map(Some)
                }
                None => [None; 9],
            };
            rows.add(index, &values);
        }
    }
}
