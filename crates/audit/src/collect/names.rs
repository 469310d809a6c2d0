//! Whom groups belong to beyond what their paths tell, kept so that a snapshot judged elsewhere has it: names of containers and
//! pods, and which groups are a user's.

use std::collections::{BTreeMap, BTreeSet};

use assay_host::Owners;
use assay_host::facts::owner::{Claimant, Container, Owner, Pod, owner_in};

use crate::snapshot::Hierarchy;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Names by id of container and uid of pod.
    pub(super) names: BTreeMap<String, String>,
    /// The topmost groups in which others than root may make groups.
    pub(super) delegated: BTreeMap<String, Claimant>,
}

/// Each name is looked for once, however many groups have it.
pub(super) fn read(owners: &Owners, hierarchies: &[Hierarchy]) -> Found {
    let mut found = Found::default();
    let mut known = BTreeSet::new();
    for hierarchy in hierarchies {
        for group in &hierarchy.groups {
            let delegated = owners.delegated(&hierarchy.mount, &group.path);
            if let Some(one) = &delegated {
                found.delegated.insert(top(&group.path, one.levels).to_owned(), one.by.clone());
            }
            let Some(owner) = owner_in(&group.path, delegated) else { continue };
            if key(&owner).is_some_and(|key| known.insert(key)) {
                found.keep(owners.named(owner), "");
            }
        }
    }
    found
}

/// The first levels of a path.
fn top(path: &str, levels: usize) -> &str {
    if levels == 0 {
        return "/";
    }
    let end = path.match_indices('/').nth(levels).map_or(path.len(), |(at, _)| at);
    path.get(..end).unwrap_or(path)
}

/// Nothing is looked for where a name is not a user's: of other claims no file tells.
fn key(owner: &Owner) -> Option<String> {
    match owner {
        Owner::Container(container) => Some(container.id.clone()),
        Owner::Pod(pod) => Some(pod.uid.clone()),
        Owner::Claimed { by: Claimant::Uid(uid), owner } => {
            key(owner).map(|key| format!("{uid}:{key}"))
        }
        _ => None,
    }
}

impl Found {
    /// The name by its id, before which stands what tells users apart.
    fn keep(&mut self, owner: Owner, user: &str) {
        let mut add = |id: String, name: Option<String>| {
            self.names.extend(name.map(|name| (format!("{user}{id}"), name)));
        };
        match owner {
            Owner::Container(Container { id, name, pod, .. }) => {
                add(id, name);
                pod.into_iter().for_each(|pod| add(pod.uid, pod.name));
            }
            Owner::Pod(Pod { uid, name, .. }) => add(uid, name),
            Owner::Claimed { by: Claimant::Uid(uid), owner } => {
                self.keep(*owner, &format!("{uid}:"));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_user_is_the_first_levels_of_a_path() {
        let path = "/a/b/c";
        let tops = [0, 1, 2, 3].map(|levels| top(path, levels));
        assert_eq!(tops, ["/", "/a", "/a/b", "/a/b/c"]);
    }
}
