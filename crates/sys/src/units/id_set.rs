//! Sets of CPUs and NUMA nodes in the kernel's list format.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::error::UnitError;

const EXPECTED: &str = "a list of ids such as `0-3,8` (up to 65535)";

/// A set of small ids in the kernel's list format, `0-3,8`
/// (Documentation/admin-guide/cputopology.rst). An empty set prints as the empty text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IdSet(BTreeSet<u16>);

/// A set of CPUs by the kernel's numbers.
pub type CpuSet = IdSet;

/// A set of NUMA nodes by the kernel's numbers.
pub type NodeSet = IdSet;

impl IdSet {
    /// The ids in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().copied()
    }

    /// The number of ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the set contains `id`.
    #[must_use]
    pub fn contains(&self, id: u16) -> bool {
        self.0.contains(&id)
    }

    /// Whether every id of this set is also in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl FromIterator<u16> for IdSet {
    fn from_iter<I: IntoIterator<Item = u16>>(ids: I) -> Self {
        Self(ids.into_iter().collect())
    }
}

impl FromStr for IdSet {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, EXPECTED);
        let mut ids = BTreeSet::new();
        // Bounds the work for texts that repeat ranges, which no real list does.
        let mut listed = 0_usize;
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u16 = first.trim().parse().map_err(|_| error())?;
            let last: u16 = last.trim().parse().map_err(|_| error())?;
            listed += usize::from(last.saturating_sub(first)) + 1;
            if first > last || listed > 4 * usize::from(u16::MAX) {
                return Err(error());
            }
            ids.extend(first..=last);
        }
        Ok(Self(ids))
    }
}

impl fmt::Display for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = ids.next() {
            let mut last = first;
            while let Some(next) = ids.next_if(|next| *next == last + 1) {
                last = next;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl TryFrom<String> for IdSet {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<IdSet> for String {
    fn from(set: IdSet) -> Self {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_kernel_s_lists_and_prints_them_back() {
        for text in ["", "0", "0-3", "0-3,8", "1,3,5-7"] {
            let set: IdSet = text.parse().unwrap();
            assert_eq!(set.to_string(), text);
        }
        assert_eq!("3,1,2\n".parse::<IdSet>().unwrap().to_string(), "1-3");
    }

    #[test]
    fn refuses_invalid_lists() {
        for text in ["a", "3-1", "0-", "70000", "1;2"] {
            assert!(text.parse::<IdSet>().is_err(), "{text}");
        }
    }
}
