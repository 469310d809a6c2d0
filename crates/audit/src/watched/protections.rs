//! The protection of memory that groups were given, with the groups beside them.

use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::finding::Reading;
use crate::host::Host;
use crate::owner;
use crate::protection;
use crate::snapshot::Snapshot;
use crate::tree::Node;

/// A `memory.min` or `memory.low` of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProtectionSetting {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file.
    pub reading: Reading,
    /// What it is worth against the rest of the machine, if that can be known.
    pub effective: Option<u64>,
    /// The directory of the group.
    pub directory: String,
    /// Those of its siblings, or of the first of them.
    pub siblings: Vec<String>,
}

impl ProtectionSetting {
    /// Whether it is a `memory.low`.
    #[must_use]
    pub fn is_low(&self) -> bool {
        self.reading.file.ends_with("memory.low")
    }
}

/// The protections of populated groups, at most so many, each with at most so many siblings: a level may have thousands of
/// groups, all of them protected. Also how many there are beyond.
#[must_use]
pub fn protection_settings(snapshot: &Snapshot, most: usize) -> (Vec<ProtectionSetting>, usize) {
    let host = Host::new(snapshot);
    let all = protection::protected(&host);
    let all = all.filter(|(_, node, _)| !node.is_top() && node.is_populated()).collect();
    let (part, more) = owner::fair_part(snapshot, all, most, |(_, node, _)| node.path());
    let setting = |(file, node, effective): (&str, Node, Option<u64>)| ProtectionSetting {
        group: node.path().to_owned(),
        owner: owner::named(snapshot, node.path()),
        reading: node.reading(file),
        effective: effective.filter(|_| node.tree.hierarchy.is_whole),
        directory: node.directory(),
        siblings: node.siblings().take(most).map(Node::directory).collect(),
    };
    (part.into_iter().map(setting).collect(), more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn a_protection_has_its_effective_value_and_siblings() {
        let used = ("memory.current", "8192");
        let snapshot = Fake::v2()
            .top("memory.current", "16384")
            .group("/a", &[("memory.low", "4096"), used])
            .group("/b", &[used])
            .snapshot();
        let (found, _) = protection_settings(&snapshot, 10);
        assert_eq!((found.len(), found[0].effective), (1, Some(4096)));
        assert_eq!(found[0].siblings, ["/sys/fs/cgroup/b"]);
        assert!(found[0].is_low());
    }

    #[test]
    fn a_level_of_many_protected_groups_is_bounded() {
        let files = [("memory.low", "4096"), ("memory.current", "8192")];
        let many = (0..40).fold(Fake::v2(), |fake, at| fake.group(&format!("/g{at}"), &files));
        let (found, more) = protection_settings(&many.snapshot(), 10);
        assert_eq!((found.len(), more), (10, 30));
        assert!(found.iter().all(|one| one.siblings.len() == 10));
    }
}
