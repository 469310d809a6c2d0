//! For how many groups and disks the programs were compiled: few, or many groups on few disks. Their memory tells.

use super::DISKS;

/// Numbers of groups (`CLASSES` of the programs).
pub(super) const CLASSES: usize = 512;

/// Sizes in `programs/disk.bpf.c` and `programs/bfq.bpf.c`, or in `disk_many.bpf.c` and `bfq_many.bpf.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Disks.
    pub disks: usize,
    /// Groups that are told apart at a disk; the last is all for which there is no number left.
    pub members: usize,
}

impl Layout {
    /// As most runs need.
    pub const FEW: Self = Self { disks: DISKS, members: 32 };

    /// With tables of all groups by all groups that are large, and so for few disks.
    pub const MANY: Self = Self { disks: 2, members: 512 };

    /// The one whose memory is this long, or longer by less than the larger one needs.
    pub(super) fn of_size(bytes: usize, size: impl Fn(Self) -> usize) -> Option<Self> {
        [Self::MANY, Self::FEW].into_iter().find(|layout| bytes >= size(*layout))
    }

    /// The one to watch so many groups on so many disks. The root and a few others have requests besides.
    #[must_use]
    pub const fn for_watched(groups: usize, disks: usize) -> Self {
        let spare = Self::FEW.members / 4;
        let is_enough = groups + spare <= Self::FEW.members || disks > Self::MANY.disks;
        if is_enough { Self::FEW } else { Self::MANY }
    }
}
