//! The disks while a host is watched.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use assay_audit::{Snapshot, WeightSetting, groups_of, weighted_disks};
use assay_blame::watch::requests::IoHierarchy;
use assay_host::groups_and_cpus;
use assay_sys::kernel::Root;

use crate::fairness::watch::{DiskContentionWatch, MOST_DISKS};
use crate::fairness::{Changes, DiskDivision, DiskLevels, DiskLook};

/// The length of a cell: long against a turn of BFQ.
const CELL: Duration = Duration::from_millis(500);

/// What is watched of disks.
pub(super) struct DiskPart {
    /// Nothing if no disk is divided by weights.
    watch: Option<DiskContentionWatch>,
    levels: Vec<DiskLevels>,
    last: DiskLook,
    looked: Instant,
}

impl DiskPart {
    /// The error says why the kernel refuses it.
    pub(super) fn attach(
        root: &Root,
        start: &Snapshot,
        settings: &Snapshot,
    ) -> Result<Self, String> {
        // A disk is divided by what divides it now, with the weights that were told.
        let now = weighted_disks(start);
        let mut disks = weighted_disks(settings);
        disks.retain(|disk| now.iter().any(|one| one.device == disk.device && one.by == disk.by));
        disks.truncate(MOST_DISKS);
        let mut part = Self {
            watch: None,
            levels: Vec::new(),
            last: DiskLook::default(),
            looked: Instant::now(),
        };
        if disks.is_empty() {
            return Ok(part);
        }
        let (layout, _) = groups_and_cpus(root);
        let hierarchy = IoHierarchy::new(&layout).map_err(|error| error.to_string())?;
        let groups = groups_of(start, "io");
        let devices: Vec<(u32, u32)> =
            disks.iter().filter_map(|disk| numbers(&disk.device)).collect();
        let watch = DiskContentionWatch::on_groups(root, &hierarchy, &groups, &devices);
        let mut watch = watch.map_err(|error| error.to_string())?;
        part.levels = disks
            .iter()
            .enumerate()
            .map(|(number, disk)| DiskLevels::new(disk, number, &groups))
            .collect();
        part.last = watch.look();
        part.watch = Some(watch);
        Ok(part)
    }

    /// Looks once per cell.
    pub(super) fn look(&mut self) {
        let Some(watch) = self.watch.as_mut().filter(|_| self.looked.elapsed() >= CELL) else {
            return;
        };
        self.looked = Instant::now();
        let look = watch.look();
        for levels in &mut self.levels {
            levels.add(&self.last, &look);
        }
        self.last = look;
    }

    /// What the programs took.
    pub(super) fn programs_s(&mut self) -> f64 {
        self.watch.as_mut().map_or(0.0, DiskContentionWatch::programs_s)
    }

    /// What was seen, with the weights that changed meanwhile.
    pub(super) fn judge(&self, start: &Snapshot, end: &Snapshot) -> Vec<DiskDivision> {
        let weights = |snapshot| weighted_disks(snapshot).into_iter().flat_map(|one| one.weights);
        let changes = changes(weights(start), weights(end));
        let compared: usize = self.levels.iter().map(DiskLevels::compared).sum();
        self.levels.iter().map(|levels| levels.judge(compared, &changes)).collect()
    }
}

/// Weights that are not what they were at the start.
pub(super) fn changes(
    start: impl IntoIterator<Item = WeightSetting>,
    end: impl IntoIterator<Item = WeightSetting>,
) -> Changes {
    let end: HashMap<String, String> =
        end.into_iter().map(|one| (one.group, one.reading.value)).collect();
    let both = start.into_iter().filter_map(|one| {
        let now = end.get(&one.group)?.clone();
        (now != one.reading.value).then_some((one.group, (one.reading.value, now)))
    });
    both.collect()
}

/// Major and minor of `8:0`.
fn numbers(device: &str) -> Option<(u32, u32)> {
    let (major, minor) = device.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
