//! Whose group it is: the owner that its path tells, with the name that the snapshot holds for it.

pub(crate) use assay_facts::owner::shown;
use assay_facts::owner::{Claimant, Container, Delegated, Owner, Pod, claimant, owner_in};

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

/// Whether another than root of the host may have made the group.
pub(crate) fn is_of_a_user(snapshot: &Snapshot, path: &str) -> bool {
    claimant(path, delegated(snapshot, path)).is_some()
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
