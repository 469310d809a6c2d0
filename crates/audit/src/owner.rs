//! Whose group it is: the owner that its path tells, with the name that the snapshot holds for it.

use std::collections::HashSet;

use assay_host::facts::owner::{
    Claimant, Container, Delegated, Owner, Pod, Ranks, claimant, owner_in,
};

use crate::snapshot::Snapshot;
use crate::tree::Tree;

/// The owner of a group, if its path tells, without a name from elsewhere.
pub(crate) fn unnamed(snapshot: &Snapshot, path: &str) -> Option<Owner> {
    #[cfg(test)]
    tests::count();
    owner_in(path, delegated(snapshot, path))
}

/// The owner of a group, if its path tells.
pub(crate) fn named(snapshot: &Snapshot, path: &str) -> Option<Owner> {
    unnamed(snapshot, path).map(|owner| with_name(snapshot, owner, ""))
}

/// Before the id of what a user claims stands his uid, so that it takes no name of another's.
fn with_name(snapshot: &Snapshot, owner: Owner, user: &str) -> Owner {
    let name = |id: &str| snapshot.names.get(&format!("{user}{id}")).cloned();
    let pod_with_name = |pod: Pod| Pod { name: name(&pod.uid), ..pod };
    match owner {
        Owner::Container(container) => Owner::Container(Container {
            name: name(&container.id).or(container.name),
            pod: container.pod.map(pod_with_name),
            ..container
        }),
        Owner::Pod(pod) => Owner::Pod(pod_with_name(pod)),
        Owner::Claimed { by: Claimant::Uid(uid), owner } => {
            let owner = with_name(snapshot, *owner, &format!("{uid}:"));
            Owner::Claimed { by: Claimant::Uid(uid), owner: Box::new(owner) }
        }
        Owner::Claimed { by: Claimant::Container(outer), owner } => {
            let outer = with_name(snapshot, *outer, "");
            Owner::Claimed { by: Claimant::Container(Box::new(outer)), owner }
        }
        other => other,
    }
}

/// A group with an owner, which no group above has too.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) path: String,
    pub(crate) owner: Owner,
}

/// The outermost group of each owner in each hierarchy, every path once.
pub(crate) fn owned(snapshot: &Snapshot, trees: &[Tree]) -> Vec<Owned> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for tree in trees {
        // Parents precede their children.
        let mut owners: Vec<Option<Owner>> = Vec::new();
        for node in tree.nodes() {
            let own = named(snapshot, node.path());
            let above = node.parent().and_then(|parent| owners.get(parent.index())?.as_ref());
            let is_outermost = own.is_some() && above != own.as_ref();
            if let Some(owner) = own.clone().filter(|_| is_outermost && seen.insert(node.path())) {
                all.push(Owned { path: node.path().to_owned(), owner });
            }
            owners.push(own);
        }
    }
    all
}

/// At most so many of things that each belong to a group, and how many there are beyond: those of the host, then as many of one
/// claimant as of another, so that a user who makes many groups hides only his own.
#[must_use]
pub fn fair_part<T>(
    snapshot: &Snapshot,
    all: Vec<T>,
    most: usize,
    group: impl Fn(&T) -> &str,
) -> (Vec<T>, usize) {
    let more = all.len().saturating_sub(most);
    if more == 0 {
        return (all, 0);
    }
    let mut ranks = Ranks::default();
    let mut rank = |path: &str| ranks.next(claimant(path, delegated(snapshot, path)));
    let mut ranked: Vec<(usize, T)> = all.into_iter().map(|one| (rank(group(&one)), one)).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    (ranked.into_iter().take(most).map(|(_, one)| one).collect(), more)
}

/// The first group above in which others than root may make groups.
fn delegated(snapshot: &Snapshot, path: &str) -> Option<Delegated> {
    if snapshot.delegated.is_empty() {
        return None;
    }
    path.match_indices('/').enumerate().find_map(|(levels, (at, _))| {
        let above = if levels == 0 { "/" } else { path.get(..at)? };
        let by = snapshot.delegated.get(above)?.clone();
        Some(Delegated { levels, by })
    })
}

#[cfg(test)]
pub(crate) mod tests;
