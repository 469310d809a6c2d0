//! Whose group it is: the owner that its path tells, with the name that the snapshot holds for it.

use assay_facts::owner::{Container, Delegated, Owner, Pod, owner_in};

use crate::snapshot::Snapshot;

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
            name: name(&container.id),
            pod: container.pod.map(pod_with_name),
            ..container
        }),
        Owner::Pod(pod) => Owner::Pod(pod_with_name(pod)),
        Owner::Claimed { uid, owner } => {
            let owner = with_name(snapshot, *owner, &format!("{uid}:"));
            Owner::Claimed { uid, owner: Box::new(owner) }
        }
        other => other,
    }
}

/// Whether a user made the group, as far as its path tells.
pub(crate) fn is_of_a_user(snapshot: &Snapshot, path: &str) -> bool {
    delegated(snapshot, path).is_some()
        || matches!(unnamed(snapshot, path), Some(Owner::Claimed { .. }))
}

/// The first group above that belongs to a user.
fn delegated(snapshot: &Snapshot, path: &str) -> Option<Delegated> {
    if snapshot.delegated.is_empty() {
        return None;
    }
    let above = path.match_indices('/').enumerate().skip(1);
    above
        .filter_map(|(levels, (at, _))| Some((levels, *snapshot.delegated.get(path.get(..at)?)?)))
        .map(|(levels, uid)| Delegated { levels, uid })
        .next()
}

/// A group as lines show it: its owner, where there is one, and its path.
pub(crate) fn shown(owner: Option<&Owner>, path: &str) -> String {
    owner.map_or_else(|| path.to_owned(), |owner| format!("{owner}  {path}"))
}

#[cfg(test)]
pub(crate) mod tests;
