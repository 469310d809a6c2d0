//! Who wanted a disk and who got it: the same for disks that weights divide.

use assay_blame::watch::requests::IoHierarchy;
use assay_blame::watch::waits::WatchError;
use assay_bpf::{CONTENDED_DISK, Programs, group_id};
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::mapped_array::MappedArray;
use assay_sys::kernel::{Error, Root};

use crate::fairness::{DiskLook, Timing};

/// Disks that are watched at most (`DISKS` of the program).
pub const MOST_DISKS: usize = 64;

/// `TIMINGS` of the program.
const TIMINGS: usize = 256;

/// Groups times disks that are watched at most: 24 bytes each.
const ROOM: usize = 1 << 16;

/// Programs at their tracepoints that watch the requests of all groups to some disks. They go with this value or with the
/// process.
pub struct DiskContentionWatch {
    programs: Programs,
    uses: MappedArray,
    timings: MappedArray,
    slots: usize,
    words: Vec<u64>,
}

impl DiskContentionWatch {
    /// Attaches the programs for groups by their paths below the mount of the controller `io`, and disks by their device numbers.
    /// Groups for which there is no room, or that are made later, count with the group above them.
    ///
    /// # Errors
    /// The kernel or its policy refuses the programs.
    pub fn on_groups(
        root: &Root,
        hierarchy: &IoHierarchy,
        groups: &[String],
        disks: &[(u32, u32)],
    ) -> Result<Self, WatchError> {
        let refused = |error: Error| WatchError::Host(error.to_string());
        let disks = &disks[..disks.len().min(MOST_DISKS)];
        let groups = &groups[..groups.len().min(ROOM / disks.len().max(1))];
        let slots = groups.len() + 1;
        let uses = slots * disks.len().max(1);
        let sizes = [("uses", uses), ("groups", groups.len().max(1)), ("timings", TIMINGS)];
        let sizes = sizes.map(|(name, entries)| (name, entries as u32));
        let programs = Programs::load_sized(root, CONTENDED_DISK, &sizes).map_err(refused)?;
        let numbers = programs.map("groups").map_err(refused)?;
        for (path, slot) in groups.iter().zip(1_u32..) {
            // It may be gone by now.
            if let Ok(id) = group_id(root, &hierarchy.directory(path)) {
                numbers.set(&id.to_ne_bytes(), &slot.to_ne_bytes()).map_err(refused)?;
            }
        }
        let known = programs.map("disks").map_err(refused)?;
        for ((major, minor), number) in disks.iter().zip(0_u32..) {
            let device = major << 20 | minor;
            known.set(&device.to_ne_bytes(), &number.to_ne_bytes()).map_err(refused)?;
        }
        let mapped = |name| programs.map(name).and_then(MappedArray::new).map_err(refused);
        let (uses, timings) = (mapped("uses")?, mapped("timings")?);
        let settings = [1, slots as u32].map(u32::to_ne_bytes).concat();
        let enable = programs.map("settings").and_then(|map| map.set(&[0; 4], &settings));
        enable.map_err(refused)?;
        Ok(Self { programs, uses, timings, slots, words: Vec::new() })
    }

    /// How long the programs have taken so far on all CPUs, in seconds.
    pub fn programs_s(&mut self) -> f64 {
        self.timings.copy_to(&mut self.words);
        Timing::parse_all(&self.words).iter().map(Timing::seconds).sum()
    }

    /// What is counted at this moment.
    pub fn look(&mut self) -> DiskLook {
        self.uses.copy_to(&mut self.words);
        DiskLook::parse(monotonic_ns(), self.slots, &self.words)
    }
}

impl std::fmt::Debug for DiskContentionWatch {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("DiskContentionWatch").field("programs", &self.programs).finish()
    }
}
