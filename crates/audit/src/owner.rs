//! Whose group it is: the owner that its path tells, with the name that the snapshot holds for it.

use assay_facts::owner::{Container, Owner, Pod, owner};

use crate::snapshot::Snapshot;

/// The owner of a group, if its path tells.
pub(crate) fn named(snapshot: &Snapshot, path: &str) -> Option<Owner> {
    let name = |id: &str| snapshot.names.get(id).cloned();
    let with_name = |pod: Pod| Pod { name: name(&pod.uid), ..pod };
    Some(match owner(path)? {
        Owner::Container(container) => Owner::Container(Container {
            name: name(&container.id),
            pod: container.pod.map(with_name),
            ..container
        }),
        Owner::Pod(pod) => Owner::Pod(with_name(pod)),
        other => other,
    })
}

/// A group as lines show it: its owner, where there is one, and its path.
pub(crate) fn shown(owner: Option<&Owner>, path: &str) -> String {
    owner.map_or_else(|| path.to_owned(), |owner| format!("{owner}  {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn a_name_is_that_of_the_snapshot() {
        let id = "1a2b3c4d5e6f";
        let path = format!("/kubepods/burstable/pod7f-01/{id}");
        let host = |names: &[(&str, &str)]| {
            let names = names.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned()));
            Fake::v2().change(|snapshot| snapshot.names = names.collect()).snapshot()
        };
        let words = |names: &[(&str, &str)]| named(&host(names), &path).unwrap().to_string();
        assert_eq!(
            words(&[(id, "web"), ("7f-01", "shop/web-0")]),
            "container web (1a2b3c4d5e6f) of pod shop/web-0"
        );
        assert_eq!(words(&[]), "container 1a2b3c4d5e6f of pod 7f-01");
    }
}
