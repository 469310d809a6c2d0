//! The protection of memory that groups were given, with the groups beside them.

use assay_facts::owner::Owner;
use serde::Serialize;

use crate::finding::Reading;
use crate::owner;
use crate::protection;
use crate::rule::Host;
use crate::snapshot::Snapshot;
use crate::tree::{Node, Tree};

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
/// groups, all of them protected.
#[must_use]
pub fn protection_settings(snapshot: &Snapshot, most: usize) -> Vec<ProtectionSetting> {
    let host = Host::new(snapshot);
    let Some(tree) = host.v2_of("memory") else { return Vec::new() };
    let mut all = Vec::new();
    for file in ["memory.min", "memory.low"] {
        let values = protection::of_tree(tree, file);
        let set = |node: &Node| protection::set(*node, file).is_some_and(|bytes| bytes > 0);
        for node in tree.nodes().filter(|node| !node.is_top() && node.is_populated()) {
            if set(&node) && all.len() < most {
                all.push(ProtectionSetting {
                    group: node.path().to_owned(),
                    owner: owner::named(snapshot, node.path()),
                    reading: node.reading(file),
                    effective: values[node.index()].filter(|_| tree.hierarchy.is_whole),
                    directory: directory(tree, node),
                    siblings: node.siblings().take(most).map(|one| directory(tree, one)).collect(),
                });
            }
        }
    }
    all
}

fn directory(tree: &Tree, node: Node) -> String {
    format!("{}{}", tree.hierarchy.mount.display(), node.path())
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
        let found = protection_settings(&snapshot, 10);
        assert_eq!((found.len(), found[0].effective), (1, Some(4096)));
        assert_eq!(found[0].siblings, ["/sys/fs/cgroup/b"]);
        assert!(found[0].is_low());
    }

    #[test]
    fn a_level_of_many_protected_groups_is_bounded() {
        let files = [("memory.low", "4096"), ("memory.current", "8192")];
        let many = (0..40).fold(Fake::v2(), |fake, at| fake.group(&format!("/g{at}"), &files));
        let found = protection_settings(&many.snapshot(), 10);
        assert_eq!(found.len(), 10);
        assert!(found.iter().all(|one| one.siblings.len() == 10));
    }
}
