//! The table of rules.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use assay_knob::KernelVersion;

use crate::finding::{Class, Finding, Reading};
use crate::installed::Installed;
use crate::owned::{Owned, owned};
use crate::owner;
use crate::places::{COSTS, Places};
use crate::snapshot::Snapshot;
use crate::tree::{Node, Tree};

/// A rule: when it fires, what it means, what to do.
#[derive(Debug)]
pub struct Rule {
    /// Its code, `A-ANCESTOR`.
    pub code: &'static str,
    /// How much it matters.
    pub class: Class,
    /// The condition, in files.
    pub condition: &'static str,
    /// The kernels, or the versions of the interface, to which it applies.
    pub versions: &'static str,
    /// What it means for the group.
    pub meaning: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// Where it is documented, or the source.
    pub source: &'static str,
    pub(crate) find: fn(&Host) -> Vec<Found>,
}

/// What a rule has found, before its code and class are added.
#[derive(Debug)]
pub(crate) struct Found {
    group: String,
    sentence: String,
    readings: Vec<Reading>,
    /// More readings, which it has in common with others: there may be as many as groups before the first are chosen.
    shared: Option<Rc<[Reading]>>,
}

impl Found {
    /// A sentence about a group that rests on these of its files.
    pub(crate) fn new(node: Node, files: &[&str], sentence: String) -> Self {
        let readings = files.iter().map(|file| node.reading(file).cut()).collect();
        Self { group: node.path().to_owned(), sentence, readings, shared: None }
    }

    /// A sentence about a group that rests on a file elsewhere.
    pub(crate) fn of_group(group: &str, reading: Reading, sentence: String) -> Self {
        Self { group: group.to_owned(), sentence, readings: vec![reading.cut()], shared: None }
    }

    /// The same, resting on another reading too.
    pub(crate) fn and(mut self, reading: Reading) -> Self {
        self.readings.push(reading.cut());
        self
    }

    /// The same, resting on these too.
    pub(crate) fn and_all(mut self, readings: impl IntoIterator<Item = Reading>) -> Self {
        self.readings.extend(readings.into_iter().map(Reading::cut));
        self
    }

    /// The same, resting on these too, as others do.
    pub(crate) fn and_shared(mut self, readings: &Rc<[Reading]>) -> Self {
        self.shared = Some(Rc::clone(readings));
        self
    }
}

impl Rule {
    /// Applies it to a host. Gives at most so many findings, and how many there are beyond.
    pub(crate) fn apply(&self, host: &Host, most: usize) -> (Vec<Finding>, usize) {
        let mut found = (self.find)(host);
        if found.len() > most {
            found.sort_by_cached_key(|one| one.group.matches('/').count());
        }
        let (found, more) = owner::fair_part(host.snapshot, found, most, |one| &one.group);
        let findings = found
            .into_iter()
            .map(|one| Finding {
                code: self.code,
                class: self.class,
                owner: owner::named(host.snapshot, &one.group),
                group: one.group,
                sentence: one.sentence,
                remedy: self.remedy,
                readings: all(one.readings, one.shared.as_ref()),
            })
            .collect();
        (findings, more)
    }
}

fn all(mut own: Vec<Reading>, shared: Option<&Rc<[Reading]>>) -> Vec<Reading> {
    own.extend(shared.into_iter().flat_map(|shared| shared.iter().cloned()).map(Reading::cut));
    own
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

    /// The kernel's version, if its release is known.
    pub(crate) fn kernel(&self) -> Option<KernelVersion> {
        KernelVersion::parse(self.snapshot.machine.kernel.value()?)
    }

    /// A file of the host outside of groups.
    pub(crate) fn file(&self, path: &str) -> Option<&str> {
        self.snapshot.machine.files.get(path)?.value().map(|text| text.trim_end())
    }
}
