//! Which interface files a host has: the table held against what its hierarchies show.

use std::collections::BTreeSet;

use assay_facts::{Available, CORE, CgroupLayout, Hierarchy};
use serde::Serialize;

use crate::file::{File, Place};
use crate::kernel_version::KernelVersion;
use crate::knob::{Counterpart, Knob, Role};
use crate::table::all;
use crate::translate::Version;

/// What decides beside the hierarchies which files a kernel has.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    /// Its version; `None` when its release cannot be read as one.
    pub version: Option<KernelVersion>,
    /// Its configuration as text (`CONFIG_X=y`), where it can be read.
    pub config: Option<String>,
    /// Its huge page sizes as they are spelt in file names, `2MB`.
    pub huge_page_sizes: Vec<String>,
}

/// One mounted hierarchy and the files seen in it.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its version.
    pub version: Version,
    /// Its controllers by v2 name; on v2 those that it offers.
    pub controllers: BTreeSet<String>,
    /// Files of its root group.
    pub in_root: BTreeSet<String>,
    /// Files of some group below, if there is one, and the controllers at work in that group.
    pub in_group: Option<(BTreeSet<String>, BTreeSet<String>)>,
}

/// How it is known that a file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// It was seen.
    Seen,
    /// The table says so of this kernel; there was no group to look into.
    ByTheTable,
}

/// One interface file on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnobFact {
    /// Its name, with the huge page size of this host in its place.
    pub name: String,
    /// Its controller by v2 name; `cgroup` for the files of every group.
    pub controller: &'static str,
    /// The version of the hierarchy that has it, or would have it.
    pub version: Version,
    /// What it is for.
    pub role: Role,
    /// Whether the host has it, or why not.
    pub state: Available<Known>,
}

/// A file that the table claims for a group of a hierarchy.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its name, with the huge page size in its place.
    pub name: String,
    /// Its entry.
    pub knob: &'static Knob,
    /// Its file of that version.
    pub file: &'static File,
}

impl Kernel {
    /// Why the table says that this kernel has no such file; `None` if it should have it.
    #[must_use]
    pub fn why_not(&self, file: &File) -> Option<String> {
        let too_old = self.version.and_then(|version| file.why_not_in(version));
        too_old.or_else(|| {
            let option = file.config.filter(|option| self.lacks(option))?;
            Some(format!("this kernel is built without {option}"))
        })
    }

    fn lacks(&self, option: &str) -> bool {
        let is_set =
            |line: &str| line.strip_prefix(option).is_some_and(|rest| rest == "=y" || rest == "=m");
        self.config.as_ref().is_some_and(|config| !config.lines().any(is_set))
    }

    /// The names of an entry on this host: one for each huge page size, else its own.
    fn names(&self, knob: &Knob) -> Vec<String> {
        if knob.is_pattern() {
            return self.huge_page_sizes.iter().map(|size| knob.name_for(size)).collect();
        }
        vec![knob.name.to_owned()]
    }
}

/// The files that the table claims for the root, or for a group below, of a hierarchy with these
/// controllers at work. Of the version of the kernel only the groups that show a file depend on it.
#[must_use]
pub fn claims(
    version: Version,
    controllers: &BTreeSet<String>,
    is_root: bool,
    kernel: &Kernel,
) -> Vec<Claim> {
    let mut found = Vec::new();
    for knob in all() {
        let Some(file) = knob.file(version) else { continue };
        let is_here = file.is_shown(is_root, kernel.version);
        // The root of v2 shows what is for the root alone, and counters, of every controller.
        if is_here && (file.is_core || controllers.contains(knob.controller)) {
            found.extend(kernel.names(knob).into_iter().map(|name| Claim { name, knob, file }));
        }
    }
    found
}

/// Files that kernels show and the table leaves out on purpose: how they begin, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("memory.shown_ram_in_bytes", "an addition of one provider of virtual machines"),
    ("debug.", "the controller `debug` is for those who work on control groups themselves"),
    ("cgroup.__DEBUG__.", "shown under cgroup_debug only"),
    ("cpuset.__DEBUG__.", "shown under cgroup_debug only"),
    ("blkio.bfq.", "counters of bfq's own developers (CONFIG_BFQ_CGROUP_DEBUG)"),
];

/// Why a file that a kernel shows is not in the table, if that is on purpose.
#[must_use]
pub fn left_out(name: &str) -> Option<&'static str> {
    LEFT_OUT.iter().find(|(begins, _)| name.starts_with(begins)).map(|(_, why)| *why)
}

/// Every entry of the table on this host, once for each version that has a file of that name
/// here, or with the reason why neither has.
#[must_use]
pub fn inventory(layout: &CgroupLayout, kernel: &Kernel, shown: &[Shown]) -> Vec<KnobFact> {
    let mut facts = Vec::new();
    for knob in all() {
        for name in kernel.names(knob) {
            facts.extend(of_name(layout, kernel, shown, knob, &name));
        }
    }
    facts
}

fn of_name(
    layout: &CgroupLayout,
    kernel: &Kernel,
    shown: &[Shown],
    knob: &'static Knob,
    name: &str,
) -> Vec<KnobFact> {
    let fact = |version, state| KnobFact {
        name: name.to_owned(),
        controller: knob.controller,
        version,
        role: knob.role,
        state,
    };
    let mut facts: Vec<KnobFact> = Vec::new();
    for version in [Version::V2, Version::V1] {
        let Some(file) = knob.file(version) else { continue };
        let home = shown.iter().find(|shown| {
            let serves = shown.controllers.contains(knob.controller);
            shown.version == version && (file.is_core || serves)
        });
        if let Some(home) = home {
            facts.push(fact(version, state(kernel, home, name, knob, file)));
        }
    }
    if facts.is_empty() {
        let version = if knob.v2.is_some() { Version::V2 } else { Version::V1 };
        facts.push(fact(version, Available::NotAvailable(no_home(layout, knob, version))));
    }
    facts
}

fn state(kernel: &Kernel, home: &Shown, name: &str, knob: &Knob, file: &File) -> Available<Known> {
    let in_group = home.in_group.as_ref();
    if home.in_root.contains(name) || in_group.is_some_and(|(files, _)| files.contains(name)) {
        return Available::Value(Known::Seen);
    }
    if let Some(why) = kernel.why_not(file) {
        return Available::NotAvailable(why);
    }
    let looked = match file.place {
        Place::RootOnly => true,
        Place::Everywhere | Place::Inside => in_group.is_some_and(|(_, controllers)| {
            file.is_core || home.version == Version::V1 || controllers.contains(knob.controller)
        }),
    };
    match (looked, file.needs) {
        (false, _) => Available::Value(Known::ByTheTable),
        (true, Some(needs)) => Available::NotAvailable(format!("shown only when {needs}")),
        (true, None) => Available::NotAvailable("this kernel does not show it".to_owned()),
    }
}

/// Why no hierarchy here has a file of that version.
fn no_home(layout: &CgroupLayout, knob: &Knob, version: Version) -> String {
    let hierarchy = layout.controllers.get(knob.controller).map(|found| &found.hierarchy);
    match (version, hierarchy) {
        (Version::V2, _) if knob.controller == CORE => "cgroup2 is not mounted".to_owned(),
        (Version::V1, _) if knob.controller == CORE => "no v1 hierarchy is mounted".to_owned(),
        (Version::V2, Some(Hierarchy::V1(_))) => format!("`{}` is on v1 here", knob.controller),
        (Version::V1, Some(Hierarchy::V2(_))) => format!("`{}` is on v2 here", knob.controller),
        (Version::V1, _) if matches!(knob.counterpart, Counterpart::Means(_)) => {
            match (knob.counterpart, layout.v2_mount.is_some()) {
                (Counterpart::Means(means), true) => format!("v2 has no file: {means}"),
                _ => "no hierarchy serves `devices`".to_owned(),
            }
        }
        (_, Some(Hierarchy::Absent(why))) => why.clone(),
        _ => "this kernel does not list the controller".to_owned(),
    }
}

#[cfg(test)]
mod tests;
