//! A thread's table of open files. `fd=N` is an index into it.

use std::os::fd::OwnedFd;

use super::super::workload::Operation;

/// `fd` is below this.
pub(in crate::filebench) const SLOTS: usize = 128;

/// One slot. The entry stays when the file is closed: `deletefile` and `srcfd` go by it.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) file: Option<OwnedFd>,
    /// File set and number of the file in it.
    pub(super) entry: Option<(usize, usize)>,
}

/// The table with its rotor.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    rotor: usize,
}

impl Slots {
    pub(super) fn empty() -> Self {
        Self { slots: (0..SLOTS).map(|_| Slot::default()).collect(), rotor: 0 }
    }

    /// Which slot an operation uses: the one that it names, else the next of the rotor with
    /// `opennext`, else 0.
    pub(super) fn number(&mut self, operation: &Operation) -> usize {
        if operation.fd > 0 || !operation.opennext {
            return operation.fd;
        }
        self.rotor = if self.rotor == 0 { SLOTS - 1 } else { self.rotor - 1 };
        self.rotor
    }

    pub(super) fn at(&mut self, number: usize) -> &mut Slot {
        // Numbers were checked when the script was read.
        &mut self.slots[number % SLOTS]
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }
}
