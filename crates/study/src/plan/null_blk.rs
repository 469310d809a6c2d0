//! The configfs attributes that set the speed of a null_blk device.

use crate::{DiskSource, Format, NullBlk, Templated};

use crate::plan::trial::DiskPlan;

/// Tags of a null_blk without a setting (drivers/block/null_blk/main.c: g_hw_queue_depth).
const DEFAULT_DEPTH: u32 = 64;

/// The speed of a null_blk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NullBlkSpeed {
    /// Requests per second with `depth` of them in flight; `None` completes them immediately.
    pub iops: Option<u32>,
    /// Queue depth; `None` leaves it to the driver.
    pub depth: Option<u32>,
}

impl NullBlkSpeed {
    /// Attributes with their values, to be written before the device is powered on. With `irqmode`
    /// 2 a timer completes each request after `completion_nsec` (Documentation/block/null_blk.rst),
    /// so `depth` requests in flight yield `iops` if that is `depth / iops`. There is one
    /// submission queue, since each has its own tags.
    #[must_use]
    pub fn attributes(self) -> Vec<(String, String)> {
        let mut attributes = Vec::new();
        let mut set = |name: &str, value: u64| {
            attributes.push((name.to_owned(), value.to_string()));
        };
        if self.iops.is_some() || self.depth.is_some() {
            set("submit_queues", 1);
            set("hw_queue_depth", u64::from(self.depth.unwrap_or(DEFAULT_DEPTH)));
        }
        if let Some(iops) = self.iops {
            let depth = u64::from(self.depth.unwrap_or(DEFAULT_DEPTH));
            set("irqmode", 2);
            set("completion_nsec", (depth * 1_000_000_000 / u64::from(iops.max(1))).max(1));
        }
        attributes
    }
}

/// The speed of a disk; unlimited for anything but a null_blk.
#[must_use]
pub fn null_blk_speed(disk: &DiskPlan) -> NullBlkSpeed {
    let DiskSource::NullBlk(NullBlk { iops, depth }) = &disk.source else {
        return NullBlkSpeed::default();
    };
    // Templates were resolved when the disk was planned.
    let resolved = |field: &Option<Templated<u32>>| match field {
        Some(Templated::Value(value)) => Some(*value),
        _ => None,
    };
    NullBlkSpeed { iops: resolved(iops), depth: resolved(depth) }
}

/// Attributes for a planned disk. A disk with a file system or partitions keeps its data in memory,
/// because they are read again.
#[must_use]
pub fn null_blk_attributes(disk: &DiskPlan) -> Vec<(String, String)> {
    if !matches!(disk.source, DiskSource::NullBlk(_)) {
        return Vec::new();
    }
    let mut attributes = null_blk_speed(disk).attributes();
    if disk.format != Format::None || disk.partitions > 0 {
        attributes.push(("memory_backed".to_owned(), "1".to_owned()));
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_sys::units::Bytes;

    fn disk(iops: Option<u32>, depth: Option<u32>, format: Format) -> DiskPlan {
        DiskPlan {
            name: "scratch".to_owned(),
            source: DiskSource::NullBlk(NullBlk {
                iops: iops.map(Templated::Value),
                depth: depth.map(Templated::Value),
            }),
            size: Bytes::mebi(64),
            format,
            partitions: 0,
            whole: None,
            scheduler: None,
            queue: vec![],
        }
    }

    fn words(disk: &DiskPlan) -> String {
        let words: Vec<String> = null_blk_attributes(disk)
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        words.join(" ")
    }

    #[test]
    fn depth_requests_in_flight_yield_the_requested_iops() {
        assert_eq!(
            words(&disk(Some(2000), Some(32), Format::None)),
            "submit_queues=1 hw_queue_depth=32 irqmode=2 completion_nsec=16000000"
        );
        assert_eq!(
            words(&disk(Some(1000), None, Format::None)),
            "submit_queues=1 hw_queue_depth=64 irqmode=2 completion_nsec=64000000"
        );
        assert_eq!(words(&disk(None, Some(8), Format::None)), "submit_queues=1 hw_queue_depth=8");
    }

    #[test]
    fn data_is_kept_only_for_file_systems_and_partitions() {
        assert_eq!(words(&disk(None, None, Format::None)), "");
        assert_eq!(words(&disk(None, None, Format::Ext4)), "memory_backed=1");
        let partitioned = DiskPlan { partitions: 2, ..disk(None, None, Format::None) };
        assert_eq!(words(&partitioned), "memory_backed=1");
    }
}
