//! Names of the containers and pods to which groups belong, kept so that a snapshot judged elsewhere has them.

use std::collections::{BTreeMap, BTreeSet};

use assay_audit::snapshot::Hierarchy;
use assay_facts::owner::{Container, Owner, Pod, owner};
use assay_host::name_owner;
use assay_kernel::Root;

/// Names by id of container and uid of pod. Each is looked for once, however many groups it has.
pub(super) fn read(root: &Root, hierarchies: &[Hierarchy]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let mut known = BTreeSet::new();
    for group in hierarchies.iter().flat_map(|hierarchy| &hierarchy.groups) {
        let Some(owner) = owner(&group.path) else { continue };
        let id = match &owner {
            Owner::Container(container) => &container.id,
            Owner::Pod(pod) => &pod.uid,
            _ => continue,
        };
        if known.insert(id.clone()) {
            keep(&mut names, name_owner(root, owner));
        }
    }
    names
}

fn keep(names: &mut BTreeMap<String, String>, owner: Owner) {
    match owner {
        Owner::Container(Container { id, name, pod, .. }) => {
            names.extend(name.map(|name| (id, name)));
            names.extend(pod.and_then(|pod| pod.name.map(|name| (pod.uid, name))));
        }
        Owner::Pod(Pod { uid, name, .. }) => names.extend(name.map(|name| (uid, name))),
        _ => {}
    }
}
