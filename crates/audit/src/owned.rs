//! The groups of a host by their owners, found in one walk.

use std::collections::HashSet;

use assay_facts::owner::Owner;

use crate::owner;
use crate::snapshot::Snapshot;
use crate::tree::Tree;

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
            let own = owner::named(snapshot, node.path());
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
