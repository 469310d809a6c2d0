//! A part of what was waited for, by who is to blame.

use assay_host::facts::owner::Owner;
use serde::{Deserialize, Serialize};

use crate::culprit::{Culprit, Names};

/// A part of the waiting for a CPU, or for locks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What the CPU did, or who held the lock.
    pub culprit: Culprit,
    /// The group's path, for a group.
    pub group: Option<String>,
    /// Whose group it is, if its path tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// In nanoseconds.
    pub ns: u64,
    /// Of all waiting; of locks, of the time of all threads.
    pub percent: f64,
}

/// Sums by class as parts of a total.
pub(crate) fn named(sums: &[u64], total: u64, names: &Names) -> Vec<Part> {
    let part = |(class, ns): (usize, u64)| {
        let number = class as u32;
        Part {
            culprit: Culprit::numbered(number),
            group: names.path(number).map(str::to_owned),
            owner: None,
            ns,
            percent: if total > 0 { ns as f64 / total as f64 * 100.0 } else { 0.0 },
        }
    };
    let sums = sums.iter().copied().enumerate().filter(|(_, ns)| *ns > 0);
    let mut parts: Vec<Part> = sums.map(part).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
    parts
}
