//! Which interface files a host has: compares the table with the mounted hierarchies.

use std::collections::BTreeSet;

use crate::facts::{Available, CORE, CgroupLayout, Hierarchy};
use serde::Serialize;

use crate::knob::entry::{Counterpart, Knob, Role};
use crate::knob::file::{File, GroupScope};
use crate::knob::kernel_version::KernelVersion;
use crate::knob::table::all;
use crate::knob::translate::Version;

/// Properties of the kernel that decide which files it has.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    /// Its version; `None` if its release cannot be parsed.
    pub version: Option<KernelVersion>,
    /// Its configuration as text (`CONFIG_X=y`), if readable.
    pub config: Option<String>,
    /// Its huge page sizes as spelt in file names, such as `2MB`.
    pub huge_page_sizes: Vec<String>,
}

/// A mounted hierarchy and the files in it.
#[derive(Debug, Clone)]
pub struct MountedHierarchy {
    /// Its version.
    pub version: Version,
    /// Its controllers by v2 name; on v2 the available ones.
    pub controllers: BTreeSet<String>,
    /// Files of its root group.
    pub in_root: BTreeSet<String>,
    /// Files of some other group, if there is one, and the controllers enabled in that group.
    pub in_group: Option<(BTreeSet<String>, BTreeSet<String>)>,
}

/// Evidence that a file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The file was seen.
    Seen,
    /// According to the table this kernel has it; there was no group in which to look.
    ByTheTable,
}

/// One interface file on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnobFact {
    /// Its name, with the huge page size of this host filled in.
    pub name: String,
    /// Its controller by v2 name; `cgroup` for the files of every group.
    pub controller: &'static str,
    /// The version of the hierarchy that has it, or would have it.
    pub version: Version,
    /// Its role.
    pub role: Role,
    /// Whether the host has it, or the reason why not.
    pub state: Available<Evidence>,
}

/// A file that a group should have according to the table.
#[derive(Debug, Clone)]
pub struct ExpectedFile {
    /// Its name, with the huge page size filled in.
    pub name: String,
    /// Its entry in the table.
    pub knob: &'static Knob,
    /// Its file on this version of the interface.
    pub file: &'static File,
}

impl Kernel {
    /// The reason why, according to the table, this kernel has no such file; `None` if it should
    /// have it.
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

    /// The names of an entry on this host: one per huge page size, otherwise its own name.
    fn names(&self, knob: &Knob) -> Vec<String> {
        if knob.is_pattern() {
            return self.huge_page_sizes.iter().map(|size| knob.name_for(size)).collect();
        }
        vec![knob.name.to_owned()]
    }
}

/// The files that the root group, or another group, of a hierarchy with these controllers should
/// have according to the table. The kernel version matters only for the groups that show a file.
#[must_use]
pub fn expected_files(
    version: Version,
    controllers: &BTreeSet<String>,
    is_root: bool,
    kernel: &Kernel,
) -> Vec<ExpectedFile> {
    let mut files = Vec::new();
    for knob in all() {
        let Some(file) = knob.file(version) else { continue };
        let is_here = file.is_shown(is_root, kernel.version);
        // The root of v2 shows root-only files, and counters, of every controller.
        if is_here && (file.is_core || controllers.contains(knob.controller)) {
            files.extend(kernel.names(knob).into_iter().map(|name| ExpectedFile {
                name,
                knob,
                file,
            }));
        }
    }
    files
}

/// Files of some kernels that the table omits on purpose: prefix and reason.
const OMITTED: &[(&str, &str)] = &[
    ("memory.shown_ram_in_bytes", "an addition of one cloud provider"),
    ("debug.", "the controller `debug` is for developers of control groups"),
    ("cgroup.__DEBUG__.", "shown only with cgroup_debug"),
    ("cpuset.__DEBUG__.", "shown only with cgroup_debug"),
    ("blkio.bfq.", "counters for developers of bfq (CONFIG_BFQ_CGROUP_DEBUG)"),
];

/// The reason why a file is omitted from the table on purpose, if it is.
#[must_use]
pub fn omission_reason(name: &str) -> Option<&'static str> {
    OMITTED.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, why)| *why)
}

/// Every entry of the table on this host, once for each version that has a file of that name here,
/// or with the reason why no version has.
#[must_use]
pub fn inventory(
    layout: &CgroupLayout,
    kernel: &Kernel,
    shown: &[MountedHierarchy],
) -> Vec<KnobFact> {
    let mut facts = Vec::new();
    for knob in all() {
        for name in kernel.names(knob) {
            facts.extend(facts_for(layout, kernel, shown, knob, &name));
        }
    }
    facts
}

fn facts_for(
    layout: &CgroupLayout,
    kernel: &Kernel,
    shown: &[MountedHierarchy],
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
        let hierarchy = shown.iter().find(|shown| {
            let serves = shown.controllers.contains(knob.controller);
            shown.version == version && (file.is_core || serves)
        });
        if let Some(hierarchy) = hierarchy {
            facts.push(fact(version, state(kernel, hierarchy, name, knob, file)));
        }
    }
    if facts.is_empty() {
        let version = if knob.v2.is_some() { Version::V2 } else { Version::V1 };
        facts.push(fact(
            version,
            Available::NotAvailable(reason_for_absence(layout, knob, version)),
        ));
    }
    facts
}

fn state(
    kernel: &Kernel,
    hierarchy: &MountedHierarchy,
    name: &str,
    knob: &Knob,
    file: &File,
) -> Available<Evidence> {
    let in_group = hierarchy.in_group.as_ref();
    if hierarchy.in_root.contains(name) || in_group.is_some_and(|(files, _)| files.contains(name)) {
        return Available::Value(Evidence::Seen);
    }
    if let Some(why) = kernel.why_not(file) {
        return Available::NotAvailable(why);
    }
    let was_examined = match file.scope {
        GroupScope::RootOnly => true,
        GroupScope::Everywhere | GroupScope::Inside => in_group.is_some_and(|(_, controllers)| {
            file.is_core
                || hierarchy.version == Version::V1
                || controllers.contains(knob.controller)
        }),
    };
    match (was_examined, file.needs) {
        (false, _) => Available::Value(Evidence::ByTheTable),
        (true, Some(needs)) => Available::NotAvailable(format!("shown only if {needs}")),
        (true, None) => Available::NotAvailable("this kernel does not show it".to_owned()),
    }
}

/// The reason why no hierarchy here has a file of that version.
fn reason_for_absence(layout: &CgroupLayout, knob: &Knob, version: Version) -> String {
    let hierarchy = layout.controllers.get(knob.controller).map(|controller| &controller.hierarchy);
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
