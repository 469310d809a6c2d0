//! Who could have used a CPU and who got it: attaches the eBPF programs that watch all groups, and reads what they have
//! counted so far.

mod disks;

use std::path::Path;
use std::time::Duration;

use assay_blame::watch::waits::{CpuHierarchy, WatchError};
use assay_bpf::{CONTENDED, Programs, group_id};
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::mapped_array::MappedArray;
use assay_sys::kernel::{Error, Root};

use crate::fairness::{FIRST_GROUP, Look, slots_above};

pub use disks::{DiskContentionWatch, MOST_DISKS};

/// Groups times CPUs that are watched at most: 40 bytes each, in the kernel and in each of two looks.
const ROOM: usize = 1 << 18;

/// A look that a switch of some CPU disturbs is taken again.
const ATTEMPTS: usize = 4;

/// Programs at their tracepoints that watch all groups. They go with this value or with the process.
pub struct ContentionWatch {
    programs: Programs,
    cpus: MappedArray,
    shares: MappedArray,
    slots: usize,
    words: [Vec<u64>; 3],
}

impl ContentionWatch {
    /// Attaches the programs for groups by their paths below the mount of the controller `cpu`. Groups beyond [`ROOM`], or that
    /// are made later, count with the group above them.
    ///
    /// # Errors
    /// The kernel or its policy refuses the programs.
    pub fn on_groups(
        root: &Root,
        hierarchy: &CpuHierarchy,
        groups: &[String],
    ) -> Result<Self, WatchError> {
        let refused = |error: Error| WatchError::Host(error.to_string());
        let cpus = hierarchy.cpus.max(1);
        let groups = &groups[..groups.len().min(Self::room(hierarchy))];
        let slots = groups.len() + FIRST_GROUP;
        let known = groups.len().max(1);
        let sizes = [("cpus", cpus), ("shares", cpus * slots), ("groups", known), ("above", slots)];
        let sizes = sizes.map(|(name, entries)| (name, entries as u32));
        let programs = Programs::load_sized(root, CONTENDED, &sizes).map_err(refused)?;
        let numbers = programs.map("groups").map_err(refused)?;
        for (path, slot) in groups.iter().zip(FIRST_GROUP as u32..) {
            // It may be gone by now.
            if let Ok(id) = group_id(root, &hierarchy.directory(path)) {
                numbers.set(&id.to_ne_bytes(), &slot.to_ne_bytes()).map_err(refused)?;
            }
        }
        let above = programs.map("above").map_err(refused)?;
        for (slot, next) in (FIRST_GROUP as u32..).zip(slots_above(groups)) {
            above.set(&slot.to_ne_bytes(), &(next as u32).to_ne_bytes()).map_err(refused)?;
        }
        let mapped = |name| programs.map(name).and_then(MappedArray::new).map_err(refused);
        let (cpus, shares) = (mapped("cpus")?, mapped("shares")?);
        let watch = Self { programs, cpus, shares, slots, words: Default::default() };
        watch.show(true).map_err(refused)?;
        Ok(watch)
    }

    /// How many groups can be told apart on this host.
    #[must_use]
    pub fn room(hierarchy: &CpuHierarchy) -> usize {
        (ROOM / hierarchy.cpus.max(1)).saturating_sub(FIRST_GROUP)
    }

    /// Shows events to the programs, or hides them as some virtual machines do those of a process: for tests.
    ///
    /// # Errors
    /// The kernel refuses it.
    #[doc(hidden)]
    pub fn show(&self, shown: bool) -> Result<(), Error> {
        let settings = [u32::from(shown), self.slots as u32].map(u32::to_ne_bytes).concat();
        self.programs.map("settings")?.set(&[0; 4], &settings)
    }

    /// What is counted at this moment.
    ///
    /// # Errors
    /// The programs have another layout than this version's.
    pub fn look(&mut self) -> Result<Look, Error> {
        let [before, shares, after] = &mut self.words;
        let mut at_ns = 0;
        for _ in 0..ATTEMPTS {
            self.cpus.copy_to(before);
            at_ns = monotonic_ns();
            self.shares.copy_to(shares);
            self.cpus.copy_to(after);
            if before == after {
                break;
            }
        }
        Look::parse(at_ns, before, shares).ok_or_else(|| {
            let path = Path::new("the maps of the eBPF programs");
            Error::unexpected("read", path, "they have another size than this version's")
        })
    }
}

/// The usual time between two looks: long against a turn of the scheduler, short against what loads do.
pub const CELL: Duration = Duration::from_millis(100);
