//! A snapshot with what is looked up in it again and again.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use assay_host::knob::{KernelVersion, device_lines, field};

use crate::found::{Became, Found};
use crate::owner::{Owned, owned};
use crate::snapshot::{Disk, Snapshot};
use crate::tree::{Node, Tree};

/// Where iocost is switched on.
pub(crate) const COSTS: &str = "io.cost.qos";

/// Where each disk stands in the snapshot, by numbers and by names, its partitions' included: they are looked up for each line of each group,
/// of which a snapshot may have millions.
pub(crate) struct Places {
    by_device: HashMap<String, usize>,
    by_name: HashMap<String, usize>,
    /// Devices that io.cost divides, as far as its file can be seen.
    by_iocost: HashSet<String>,
    /// Where the disks at the bottom of each are, once somebody asked.
    bottoms: Vec<OnceCell<Vec<usize>>>,
}

impl Places {
    pub(crate) fn new(disks: &[Disk], costs: Option<&str>) -> Self {
        let (mut by_device, mut by_name) = (HashMap::new(), HashMap::new());
        for (at, disk) in disks.iter().enumerate() {
            for device in std::iter::once(&disk.device).chain(disk.partitions.values()) {
                by_device.entry(device.clone()).or_insert(at);
            }
            for name in std::iter::once(&disk.name).chain(disk.partitions.keys()) {
                by_name.entry(name.clone()).or_insert(at);
            }
        }
        let lines = costs.into_iter().flat_map(device_lines);
        let enabled = lines.filter(|(_, line)| field(line, "enable") == Some("1"));
        let by_iocost = enabled.map(|(device, _)| device.to_owned()).collect();
        let bottoms = vec![OnceCell::new(); disks.len()];
        Self { by_device, by_name, by_iocost, bottoms }
    }

    pub(crate) fn of_device(&self, device: &str) -> Option<usize> {
        self.by_device.get(device).copied()
    }

    pub(crate) fn of_name(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The disks at the bottom of that at a place.
    pub(crate) fn bottom(&self, at: usize, find: impl FnOnce() -> Vec<usize>) -> &[usize] {
        self.bottoms.get(at).map_or(&[], |found| found.get_or_init(find))
    }

    pub(crate) fn is_by_iocost(&self, device: &str) -> bool {
        self.by_iocost.contains(device)
    }
}

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
    installed: OnceCell<Vec<(Became, Found)>>,
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
    pub(crate) fn installed(
        &self,
        find: impl Fn(&Self) -> Vec<(Became, Found)>,
    ) -> &[(Became, Found)] {
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

    /// Why no hierarchy serves a controller, where that is certain: nothing that was asked of it is in force.
    pub(crate) fn why_off(&self, controller: &str) -> Option<String> {
        if controller.is_empty() || self.tree_of(controller).is_some() {
            return None;
        }
        // `#subsys_name hierarchy num_cgroups enabled`; from 6.14 on only what v1 may have.
        let name = if controller == "io" { "blkio" } else { controller };
        let lines = self.file("/proc/cgroups").into_iter().flat_map(str::lines);
        let mut lines = lines.map(|line| line.split_whitespace().collect::<Vec<&str>>());
        let line = lines.find(|words| words.first() == Some(&name));
        let field = |at: usize| line.as_ref().and_then(|words| words.get(at).copied());
        if field(3) == Some("0") {
            let option = format!("cgroup_disable={controller}");
            let asked = self.file("/proc/cmdline").unwrap_or_default().split_whitespace();
            let by = asked.filter(|word| *word == option).map(|word| format!(", {word}")).next();
            let by = by.unwrap_or_default();
            return Some(format!("{controller} is switched off (/proc/cgroups: enabled 0{by})"));
        }
        let mut whole =
            self.trees.iter().filter(|tree| tree.hierarchy.is_v2 && tree.hierarchy.is_whole);
        let is_elsewhere = field(1).is_some_and(|number| number != "0");
        let top = whole.next().filter(|_| !is_elsewhere)?.top()?;
        top.text("cgroup.controllers")?;
        Some(format!("this kernel offers no {controller} (cgroup.controllers of the root)"))
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
