//! A thread's table of open files. `fd=N` is an index into it.

use std::os::fd::OwnedFd;

use super::super::workload::Operation;

/// Upper bound of `fd`.
pub(in crate::filebench) const SLOTS: usize = 128;

/// One slot. The entry remains when the file is closed: `deletefile` and `srcfd` use it.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) file: Option<OwnedFd>,
    /// File set, and number of the file in it.
    pub(super) entry: Option<(usize, usize)>,
}

/// The table and its rotor.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    rotor: usize,
}

impl Slots {
    pub(super) fn empty() -> Self {
        Self { slots: (0..SLOTS).map(|_| Slot::default()).collect(), rotor: 0 }
    }

    /// The slot of an operation: the one it names, else the rotor's next with `opennext`, else 0.
    pub(super) fn number(&mut self, operation: &Operation) -> usize {
        if operation.fd > 0 || !operation.opennext {
            return operation.fd;
        }
        self.rotor = if self.rotor == 0 { SLOTS - 1 } else { self.rotor - 1 };
        self.rotor
    }

    pub(super) fn at(&mut self, number: usize) -> &mut Slot {
        // Numbers are validated when the script is read.
        &mut self.slots[number % SLOTS]
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }
}
