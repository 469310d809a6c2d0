//! A snapshot with what is looked up in it again and again.

use std::cell::OnceCell;
use std::collections::HashSet;

use assay_knob::KernelVersion;

use crate::disks::{COSTS, Places};
use crate::installed::Installed;
use crate::owner::{Owned, owned};
use crate::snapshot::Snapshot;
use crate::tree::{Node, Tree};

/// Groups of some hierarchies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    /// Of every one.
    All,
    /// Of cgroup2.
    V2,
    /// Of the one that serves a controller.
    Of(&'static str),
    /// The same, if it is cgroup2.
    V2Of(&'static str),
    /// The same, if it is cgroup v1.
    V1Of(&'static str),
}

/// A snapshot with its trees.
pub(crate) struct Host<'s> {
    pub(crate) snapshot: &'s Snapshot,
    pub(crate) trees: Vec<Tree<'s>>,
    owned: OnceCell<Vec<Owned>>,
    places: OnceCell<Places>,
    io_files: OnceCell<HashSet<&'s str>>,
    installed: OnceCell<Vec<Installed>>,
}

impl<'s> Host<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot) -> Self {
        let trees = snapshot.hierarchies.iter().map(Tree::new).collect();
        Self {
            snapshot,
            trees,
            owned: OnceCell::new(),
            places: OnceCell::new(),
            io_files: OnceCell::new(),
            installed: OnceCell::new(),
        }
    }

    /// Where the disks are.
    pub(crate) fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let top = self.v2_of("io").and_then(Tree::top);
            Places::new(&self.snapshot.disks, top.and_then(|top| top.text(COSTS)))
        })
    }

    /// Groups by their owners.
    pub(crate) fn owned(&self) -> &[Owned] {
        self.owned.get_or_init(|| owned(self.snapshot, &self.trees))
    }

    /// Settings of installed units that do not stand in the files of their groups, looked for once.
    pub(crate) fn installed(&self, find: impl Fn(&Self) -> Vec<Installed>) -> &[Installed] {
        self.installed.get_or_init(|| find(self))
    }

    /// Whether any group has a file in the hierarchy of io, as with a module that is loaded.
    pub(crate) fn has_io_file(&self, name: &str) -> bool {
        let all = || {
            let hierarchy = self.tree_of("io").map(|tree| tree.hierarchy);
            let groups = hierarchy.into_iter().flat_map(|hierarchy| &hierarchy.groups);
            groups.flat_map(|group| group.files.keys().map(String::as_str)).collect()
        };
        self.io_files.get_or_init(all).contains(name)
    }

    /// The hierarchy that serves a controller.
    pub(crate) fn tree_of(&self, controller: &str) -> Option<&Tree<'s>> {
        self.trees.iter().find(|tree| tree.serves(controller))
    }

    /// The same if it is cgroup2.
    pub(crate) fn v2_of(&self, controller: &str) -> Option<&Tree<'s>> {
        self.tree_of(controller).filter(|tree| tree.hierarchy.is_v2)
    }

    /// The same if it is cgroup v1.
    pub(crate) fn v1_of(&self, controller: &str) -> Option<&Tree<'s>> {
        self.tree_of(controller).filter(|tree| !tree.hierarchy.is_v2)
    }

    /// The groups of some hierarchies, parents before children.
    pub(crate) fn groups(&self, scope: Scope) -> impl Iterator<Item = Node<'_>> {
        let trees: Vec<&Tree> = match scope {
            Scope::All => self.trees.iter().collect(),
            Scope::V2 => self.trees.iter().filter(|tree| tree.hierarchy.is_v2).collect(),
            Scope::Of(name) => self.tree_of(name).into_iter().collect(),
            Scope::V2Of(name) => self.v2_of(name).into_iter().collect(),
            Scope::V1Of(name) => self.v1_of(name).into_iter().collect(),
        };
        trees.into_iter().flat_map(Tree::nodes)
    }

    /// The kernel's version, if its release is known.
    pub(crate) fn kernel(&self) -> Option<KernelVersion> {
        KernelVersion::parse(self.snapshot.machine.kernel.value()?)
    }

    /// A file of the host outside of groups.
    pub(crate) fn file(&self, path: &str) -> Option<&str> {
        self.snapshot.machine.files.get(path)?.value().map(|text| text.trim_end())
    }
}
