//! Classes of what a CPU does while a thread waits for it.

use serde::{Deserialize, Serialize};

/// The classes below, as `programs/blame/memory.h` numbers them; groups follow.
const CLASSES: [Culprit; 8] = [
    Culprit::Ungrouped,
    Culprit::KernelThreads,
    Culprit::IdleCpu,
    Culprit::Interrupts,
    Culprit::OwnQuota,
    Culprit::Hypervisor,
    Culprit::Unseen,
    Culprit::OwnThreads,
];

/// The number of a watched process. A watched group has one from [`FIRST_GROUP`] on, and sees itself as this.
pub const OWN: u32 = 7;

/// The number of the first group.
pub const FIRST_GROUP: u32 = CLASSES.len() as u32;

/// Numbers of what a CPU did (`CLASSES` in `programs/blame/memory.h`).
pub(crate) const NUMBERS: usize = 512;

/// The highest number of groups that are told apart.
pub const GROUPS: usize = NUMBERS - CLASSES.len();

/// What a CPU did while a thread waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Culprit {
    /// The group, or one above it, had used up its quota (`cpu.max`, `cpu.cfs_quota_us`).
    OwnQuota,
    /// It ran another thread of the group.
    OwnThreads,
    /// It ran a thread of another group, which has a name.
    Group,
    /// It ran a process in no group but the root.
    Ungrouped,
    /// It ran a thread of the kernel.
    KernelThreads,
    /// It served interrupts (irq and softirq).
    Interrupts,
    /// The hypervisor ran something else on it.
    Hypervisor,
    /// It was idle: the thread, which may use this CPU, had been woken or moved here, and was not yet served.
    IdleCpu,
    /// The kernel did not show the start of the wait. Its length is known.
    Unseen,
}

impl Culprit {
    /// The class with this number.
    pub(crate) fn numbered(class: u32) -> Self {
        CLASSES.get(class as usize).copied().unwrap_or(Self::Group)
    }

    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::OwnQuota => "own quota",
            Self::OwnThreads => "own other threads",
            Self::Group => "another group",
            Self::Ungrouped => "processes in no group",
            Self::KernelThreads => "kernel threads",
            Self::Interrupts => "interrupts",
            Self::Hypervisor => "hypervisor",
            Self::IdleCpu => "idle CPU",
            Self::Unseen => "not seen",
        }
    }
}

/// The paths of groups, by their numbers from [`FIRST_GROUP`] on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl Names {
    /// The path of the group with this number; `None` for other classes.
    pub(crate) fn path(&self, class: u32) -> Option<&str> {
        let index = class.checked_sub(FIRST_GROUP)?;
        self.0.get(index as usize).map(String::as_str)
    }
}
